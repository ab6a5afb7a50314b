//! The sockets that clients connect to: bound here, used by the router.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use corral_config::address::ListenAddress;
use corral_config::plan::ListenerPlan;
use corral_sys::datagram;
use corral_sys::listen::{self, Inet};
use corral_sys::listening;

use crate::decide::changes;
use crate::socket_file::SocketFile;

/// The listening sockets of one address; closed when dropped, and a socket file goes with them.
#[derive(Debug)]
pub(crate) struct BoundListener {
    address: ListenAddress,
    sockets: Vec<OwnedFd>,
    /// The number of sockets that take connections; those after them take none yet.
    n_open: Cell<usize>,
    backlog: Cell<Option<u32>>,
    file: SocketFile,
    /// Made by a service manager: stays as it is.
    is_given: bool,
}

impl BoundListener {
    /// Listens already, for the process that this one takes over from.
    pub(crate) fn handed_over(address: ListenAddress, sockets: Vec<OwnedFd>) -> Self {
        let file = SocketFile::of(&address);
        file.set_ours(false);
        let n_open = Cell::new(sockets.len());
        Self { address, sockets, n_open, backlog: Cell::new(None), file, is_given: false }
    }

    /// Listens already, for a service manager, whose its file is too.
    pub(crate) fn given(address: ListenAddress, sockets: Vec<OwnedFd>) -> Self {
        let file = SocketFile::of_another();
        Self { file, is_given: true, ..Self::handed_over(address, sockets) }
    }

    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    pub(crate) fn into_sockets(self) -> Vec<OwnedFd> {
        self.sockets
    }

    pub(crate) fn file(&self) -> &SocketFile {
        &self.file
    }

    pub(crate) fn address(&self) -> &ListenAddress {
        &self.address
    }

    pub(crate) fn sockets(&self) -> &[OwnedFd] {
        &self.sockets
    }

    /// The same listener with at least this many sockets, for more event loops. Fewer are never needed: closing one
    /// would reset the connections that wait in its queue. Those of a service manager are shared by the event loops: a
    /// further one would have a queue that ends with this process.
    fn with_sockets(self: Rc<Self>, n_sockets: u16) -> Result<Rc<Self>, BindError> {
        let n_missing = usize::from(n_sockets).saturating_sub(self.sockets.len());
        let ListenAddress::Inet(_) = self.address else { return Ok(self) };
        if n_missing == 0 || self.is_given {
            return Ok(self);
        }
        let sockets = self.sockets.iter().map(OwnedFd::try_clone).collect::<io::Result<Vec<_>>>();
        let sockets = sockets.and_then(|mut sockets| {
            sockets.extend(listen::join(&self.sockets[0], n_missing)?);
            Ok(sockets)
        });
        let address = self.address.clone();
        match sockets {
            Ok(sockets) => {
                let (n_open, backlog) = (self.n_open.clone(), self.backlog.clone());
                let file = SocketFile::of(&address);
                Ok(Rc::new(Self { address, sockets, n_open, backlog, file, is_given: false }))
            }
            Err(source) => Err(BindError::System { address, source }),
        }
    }

    /// Lets all sockets take connections.
    pub(crate) fn open(&self) {
        for socket in &self.sockets[self.n_open.get()..] {
            if let Err(error) = listen::set_backlog(socket, self.backlog.get()) {
                tracing::warn!("listener \"{}\": open a further accept queue: {error}", self.address);
            }
        }
        self.n_open.set(self.sockets.len());
    }

    /// Gives the accept queues another length.
    fn set_backlog(&self, backlog: Option<u32>) {
        if self.backlog.replace(backlog) == backlog {
            return;
        }
        for socket in &self.sockets {
            if let Err(error) = listen::set_backlog(socket, backlog) {
                tracing::warn!("listener \"{}\": change the backlog: {error}", self.address);
            }
        }
    }
}

/// Gives kept sockets the accept queues of the configuration that is in force now.
pub(crate) fn adjust(wanted: &[ListenerPlan], bound: &[Rc<BoundListener>]) {
    for bound in bound {
        if let Some(listener) = wanted.iter().find(|listener| listener.address == bound.address) {
            bound.set_backlog(listener.backlog);
        }
    }
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    #[error("listener \"{address}\": bind failed ({}){}", reason(source), advice(address, source))]
    System { address: ListenAddress, source: io::Error },
    #[error(
        "listener \"{address}\": bind failed (Address already in use); listener \"{other}\" of the same \
         configuration stands for it as well: keep one of the two"
    )]
    Overlap { address: ListenAddress, other: ListenAddress },
}

impl BindError {
    pub(crate) fn address(&self) -> &ListenAddress {
        match self {
            Self::System { address, .. } | Self::Overlap { address, .. } => address,
        }
    }

    /// Logs what the system has refused in Unit's words, which people look for (contract 6.1). The line is not an
    /// alert, as the change is refused and all goes on as before.
    pub(crate) fn report(&self) {
        if let Self::System { address, source } = self {
            let number = source.raw_os_error().unwrap_or_default();
            tracing::error!("bind(\"{address}\") failed ({number}: {})", reason(source));
        }
    }
}

/// The system's words without the number that the standard library adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn advice(address: &ListenAddress, error: &io::Error) -> Cow<'static, str> {
    let text = match (address, error.kind()) {
        (ListenAddress::Inet(socket), io::ErrorKind::AddrInUse) => {
            let holder = listening::holder(*socket);
            let holder = holder.map_or_else(|| "another program".to_owned(), |holder| holder.to_string());
            return format!("; {holder} listens there: stop it or choose another port").into();
        }
        (ListenAddress::Unix(_), io::ErrorKind::AddrInUse) => {
            "; another program listens on this path, or it is a file that is not a socket: remove it or \
             choose another path"
        }
        (_, io::ErrorKind::AddrInUse) => "; another program listens there: stop it or choose another port",
        (ListenAddress::Inet(_) | ListenAddress::Udp(_), io::ErrorKind::PermissionDenied) => {
            "; only root may use ports below 1024: start the daemon as root, give it the capability \
             CAP_NET_BIND_SERVICE, or choose a port from 1024"
        }
        (_, io::ErrorKind::PermissionDenied) => "; the daemon's user may not write to this folder",
        (_, io::ErrorKind::AddrNotAvailable) => "; no network interface of this machine has this address",
        (_, io::ErrorKind::NotFound) => "; the folder does not exist: create it first",
        _ => "",
    };
    text.into()
}

/// The sockets of a new configuration in its order: those of `ours` where the address is the same,
/// new ones otherwise, and the failures that are tolerated. Inet addresses get `n_sockets` each, those
/// that are added to known ones take connections when it is opened. When another one fails, none is left behind.
pub(crate) fn bind_all(
    wanted: &[ListenerPlan],
    ours: &[Rc<BoundListener>],
    n_sockets: u16,
    tolerate: impl Fn(&BindError) -> bool,
) -> Result<(Vec<Rc<BoundListener>>, Vec<BindError>), BindError> {
    let our_addresses: Vec<_> = ours.iter().map(|bound| bound.address.clone()).collect();
    let mut all: Vec<Rc<BoundListener>> = Vec::with_capacity(wanted.len());
    let mut failed = Vec::new();
    for (position, listener) in wanted.iter().enumerate() {
        let same = |bound: &&Rc<BoundListener>| bound.address == listener.address;
        let known = all.iter().find(same).or_else(|| ours.iter().find(same)).cloned();
        let bound = check_overlap(&wanted[..position], listener).and_then(|()| match known {
            Some(bound) => bound.with_sockets(n_sockets),
            None => bind(listener, &our_addresses, n_sockets).map(Rc::new),
        });
        match bound {
            Ok(bound) => all.push(bound),
            Err(error) if tolerate(&error) => failed.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok((all, failed))
}

/// Two listeners of a configuration must not stand for the same address.
fn check_overlap(before: &[ListenerPlan], listener: &ListenerPlan) -> Result<(), BindError> {
    let address = &listener.address;
    let overlaps = |other: &&ListenAddress| {
        *other != address && changes::overlaps_ours(std::slice::from_ref(*other), address)
    };
    match before.iter().map(|other| &other.address).find(overlaps) {
        Some(other) => Err(BindError::Overlap { address: address.clone(), other: other.clone() }),
        None => Ok(()),
    }
}

fn bind(listener: &ListenerPlan, ours: &[ListenAddress], n_sockets: u16) -> Result<BoundListener, BindError> {
    let backlog = listener.backlog;
    let sockets = match &listener.address {
        ListenAddress::Inet(address) => {
            let exclusive = !changes::overlaps_ours(ours, &listener.address);
            listen::inet(&Inet { address: *address, backlog, n_sockets, exclusive })
        }
        ListenAddress::Udp(address) => {
            let exclusive = !changes::overlaps_ours(ours, &listener.address);
            datagram::bind(*address, exclusive).map(|socket| vec![socket])
        }
        ListenAddress::Unix(path) => listen::unix(path, SOCKET_FILE_MODE, backlog).map(|socket| vec![socket]),
        ListenAddress::Abstract(name) => listen::abstract_name(name, backlog).map(|socket| vec![socket]),
    };
    let address = listener.address.clone();
    match sockets {
        Ok(sockets) => {
            let n_open = Cell::new(sockets.len());
            let file = SocketFile::of(&address);
            let backlog = Cell::new(backlog);
            Ok(BoundListener { address, sockets, n_open, backlog, file, is_given: false })
        }
        Err(source) => Err(BindError::System { address, source }),
    }
}

/// All users may connect to a socket file; its folder says which of them can reach it (contract 6.1).
const SOCKET_FILE_MODE: u32 = 0o666;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::PathBuf;

    use super::*;

    fn plan(address: &str) -> ListenerPlan {
        ListenerPlan { address: ListenAddress::parse_listener(address.as_bytes()).unwrap(), backlog: None }
    }

    fn bind_strictly(
        wanted: &[ListenerPlan],
        ours: &[Rc<BoundListener>],
        n_sockets: u16,
    ) -> Result<Vec<Rc<BoundListener>>, BindError> {
        bind_all(wanted, ours, n_sockets, |_| false).map(|(bound, _)| bound)
    }

    #[test]
    fn kept_addresses_keep_their_sockets_and_removed_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| format!("unix:{}", folder.path().join(name).display()));
        let first = bind_strictly(&[plan(&a), plan(&b)], &[], 1).unwrap();
        let second = bind_strictly(&[plan(&b), plan(&b)], &first, 1).unwrap();
        assert!(Rc::ptr_eq(&first[1], &second[0]) && Rc::ptr_eq(&first[1], &second[1]));
        drop(first);
        assert!(!folder.path().join("a").exists());
        assert!(folder.path().join("b").exists());
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let good = format!("unix:{}", folder.path().join("good").display());
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = stranger.local_addr().unwrap().to_string();
        let error = bind_strictly(&[plan(&good), plan(&taken)], &[], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "listener \"{taken}\": bind failed (Address already in use); \
                 {} listens there: stop it or choose another port",
                listening::holder(stranger.local_addr().unwrap()).unwrap()
            )
        );
        assert!(!folder.path().join("good").exists());
    }

    #[test]
    fn tolerated_failures_leave_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let good = format!("unix:{}", folder.path().join("good").display());
        let (bound, failed) =
            bind_all(&[plan("unix:/no/such/folder/socket"), plan(&good)], &[], 1, |_| true).unwrap();
        assert_eq!((bound.len(), failed.len()), (1, 1));
        assert_eq!(failed[0].address().to_string(), "unix:/no/such/folder/socket");
    }

    #[test]
    fn an_address_is_not_bound_twice() {
        let (any, one) = (plan("*:80"), plan("127.0.0.1:80"));
        let error = bind_all(&[any, one], &[], 1, |_| false).unwrap_err().to_string();
        assert!(
            error.starts_with("listener \"127.0.0.1:80\"") && error.contains("\"*:80\" of the same"),
            "{error}"
        );
    }

    #[test]
    fn further_sockets_share_the_port_and_none_is_taken_away() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let wanted = &[plan(&socket.local_addr().unwrap().to_string())];
        drop(socket);
        let one = bind_strictly(wanted, &[], 1).unwrap();
        let three = bind_strictly(wanted, &one, 3).unwrap();
        assert_eq!((three[0].sockets.len(), three[0].n_open.get()), (3, 1));
        three[0].open();
        assert_eq!(three[0].n_open.get(), 3);
        let two = bind_strictly(wanted, &three, 2).unwrap();
        assert!(Rc::ptr_eq(&three[0], &two[0]), "what waits in the third queue is accepted as well");
    }

    #[test]
    fn datagrams_have_one_socket_which_stays() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = format!("{}/udp", socket.local_addr().unwrap());
        let error = bind_strictly(&[plan(&address)], &[], 3).unwrap_err();
        assert!(error.to_string().contains("another program listens there"), "{error}");
        drop(socket);
        let first = bind_strictly(&[plan(&address)], &[], 3).unwrap();
        assert_eq!(first[0].sockets.len(), 1);
        let second = bind_strictly(&[plan(&address)], &first, 4).unwrap();
        adjust(&[plan(&address)], &second);
        assert!(Rc::ptr_eq(&first[0], &second[0]));
    }

    #[test]
    fn the_queue_of_a_kept_socket_changes() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan(&format!("unix:{}", folder.path().join("a").display()));
        let (bound, _) = bind_all(std::slice::from_ref(&plan), &[], 1, |_| false).unwrap();
        plan.backlog = Some(3);
        adjust(&[plan], &bound);
        assert_eq!(bound[0].backlog.get(), Some(3));
    }

    #[track_caller]
    fn check_advice(address: &str, kind: io::ErrorKind, expected: &str) {
        let advice = advice(&ListenAddress::parse(address.as_bytes()).unwrap(), &kind.into());
        assert!(advice.contains(expected), "{advice}");
    }

    #[test]
    fn every_usual_failure_says_what_to_do() {
        check_advice("*:80", io::ErrorKind::PermissionDenied, "CAP_NET_BIND_SERVICE");
        check_advice("unix:/a", io::ErrorKind::PermissionDenied, "may not write");
        check_advice("unix:/a", io::ErrorKind::AddrInUse, "remove it");
        check_advice("unix:/a/b", io::ErrorKind::NotFound, "create it");
        check_advice("192.0.2.1:80", io::ErrorKind::AddrNotAvailable, "no network interface");
        check_advice("*:80", io::ErrorKind::Other, "");
        let missing = PathBuf::from("/no/such/folder/socket");
        let error = bind_strictly(&[plan(&format!("unix:{}", missing.display()))], &[], 1).unwrap_err();
        assert!(error.to_string().ends_with("create it first"), "{error}");
    }
}
