//! The control API's socket: bound here, served by the controller.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::Path;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_sys::listen::{self, Inet};
use corral_sys::user;

use crate::options::ControlOptions;
use crate::socket_file::SocketFile;

/// The listening socket; a socket file is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnControlSocket {
    address: ListenAddress,
    socket: OwnedFd,
    file: SocketFile,
    is_given: bool,
}

impl OwnControlSocket {
    /// Binds all but a socket file, for which it only checks that this can be done.
    pub(crate) fn reserve(options: &ControlOptions) -> anyhow::Result<Option<Self>> {
        let ListenAddress::Unix(path) = &options.address else { return Self::bind(options).map(Some) };
        match listen::is_free(path) {
            Ok(true) => Ok(None),
            Ok(false) => bail!("bind the control socket \"{}\": {IN_USE}", options.address),
            Err(error) => {
                Err(error).with_context(|| format!("bind the control socket \"{}\"", options.address))
            }
        }
    }

    /// Binds it; creates the folder of a socket file.
    pub(crate) fn bind(options: &ControlOptions) -> anyhow::Result<Self> {
        let address = options.address.clone();
        check_reach(&address, options)?;
        let socket = match &address {
            ListenAddress::Unix(path) => bind_file(path, options),
            ListenAddress::Abstract(name) => Ok(listen::abstract_name(name, None)?),
            ListenAddress::Inet(address) => bind_inet(*address),
            // No text that names a control socket means this.
            ListenAddress::Udp(_) => bail!("UDP carries no requests"),
        };
        let socket = socket.with_context(|| format!("bind the control socket \"{address}\""))?;
        let file = SocketFile::of(&address);
        Ok(Self { address, socket, file, is_given: false })
    }

    /// Listens already, for a service manager, whose its file is too.
    pub(crate) fn given(
        address: ListenAddress,
        socket: OwnedFd,
        options: &ControlOptions,
    ) -> anyhow::Result<Self> {
        check_reach(&address, options)?;
        Ok(Self { address, socket, file: SocketFile::of_another(), is_given: true })
    }

    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    /// Listens already, for the process that this one takes over from.
    pub(crate) fn handed_over(address: ListenAddress, socket: OwnedFd) -> Self {
        let file = SocketFile::of(&address);
        file.set_ours(false);
        Self { address, socket, file, is_given: false }
    }

    pub(crate) fn address(&self) -> &ListenAddress {
        &self.address
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(crate) fn file(&self) -> &SocketFile {
        &self.file
    }
}

/// A client that can reach the control API can run anything.
fn check_reach(address: &ListenAddress, options: &ControlOptions) -> anyhow::Result<()> {
    match address {
        ListenAddress::Inet(address) if options.token.is_none() && !address.ip().is_loopback() => bail!(
            "the control address \"{address}\" can be reached from other machines: require a token with \
             \"--control-token-file\", or use a loopback address or a Unix socket"
        ),
        _ => Ok(()),
    }
}

fn bind_inet(address: std::net::SocketAddr) -> anyhow::Result<OwnedFd> {
    let mut sockets = listen::inet(&Inet { address, backlog: None, n_sockets: 1, exclusive: true })?;
    Ok(sockets.remove(0))
}

fn bind_file(path: &Path, options: &ControlOptions) -> anyhow::Result<OwnedFd> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    let socket = match listen::unix(path, options.mode, None) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bail!(IN_USE)
        }
        socket => socket?,
    };
    give_away(path, options).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(socket)
}

const IN_USE: &str = "another daemon serves it, or the path is a file that is not a socket";

fn give_away(path: &Path, options: &ControlOptions) -> anyhow::Result<()> {
    let uid = options.user.as_deref().map(user::user_by_name).transpose()?.map(|user| user.uid);
    let gid = options.group.as_deref().map(user::group_by_name).transpose()?;
    if uid.is_some() || gid.is_some() {
        lchown(path, uid, gid)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use corral_ipc::message::ControlToken;

    use super::*;

    fn options(path: &Path) -> ControlOptions {
        ControlOptions {
            address: ListenAddress::Unix(path.to_owned()),
            mode: 0o600,
            user: None,
            group: None,
            token: None,
            read_token: None,
        }
    }

    #[test]
    fn the_folder_is_made_and_the_file_goes_with_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/corral/control.sock");
        let socket = OwnControlSocket::bind(&options(&path)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = OwnControlSocket::bind(&options(&path)).unwrap_err();
        assert!(format!("{error:#}").contains("another daemon serves it"), "{error:#}");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn an_open_address_needs_a_token() {
        let with = |address: &str, token: Option<&str>| ControlOptions {
            address: ListenAddress::parse(address.as_bytes()).unwrap(),
            token: token.map(|token| ControlToken(token.to_owned())),
            ..options(Path::new(""))
        };
        for open in ["*:1", "192.0.2.1:1", "[::]:1"] {
            let error = OwnControlSocket::bind(&with(open, None)).unwrap_err();
            assert!(error.to_string().contains("--control-token-file"), "{error:#}");
        }
        let error = OwnControlSocket::bind(&with("192.0.2.1:1", Some("x"))).unwrap_err();
        assert!(error.to_string().starts_with("bind the control socket"), "{error:#}");
    }

    #[test]
    fn a_missing_owner_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let wrong = ControlOptions { user: Some("no-such-user".into()), ..options(&path) };
        let error = OwnControlSocket::bind(&wrong).unwrap_err();
        assert!(format!("{error:#}").ends_with("there is no user \"no-such-user\""), "{error:#}");
        assert!(!path.exists());
    }
}
