//! `corral run --https`: a certificate of the local authority, which is renewed while the site is served.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::bail;
use corral_config::address::ListenAddress;

use super::folder::RunFolder;
use crate::authority::{Leaf, LocalAuthority, host_names, is_private};
use crate::client::Daemon;

const LOCALHOST_V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LOCALHOST_V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// How often the clock is looked at. A machine that has slept for weeks renews soon after it wakes.
const INTERVAL: Duration = Duration::from_secs(20);

/// HTTPS for this machine.
#[derive(Debug)]
pub(super) struct LocalHttps {
    /// The names and addresses that the certificate is for.
    names: Vec<String>,
    /// The name that is announced.
    first: String,
    issued: Option<Box<Issued>>,
}

/// The next steps, once it is clear that the site is served.
struct Issued {
    authority: LocalAuthority,
    leaf: Leaf,
}

impl LocalHttps {
    /// The name of the bundle.
    pub(super) const CERTIFICATE: &str = "localhost";

    /// For the names of this machine, those that are given, and the address that is listened on.
    pub(super) fn of(listen: &ListenAddress, given: &[String]) -> anyhow::Result<Self> {
        let ListenAddress::Inet(address) = listen else {
            bail!("browsers open no \"{listen}\" by HTTPS: name a port with --listen")
        };
        let ip = address.ip();
        let own = (!ip.is_unspecified()).then(|| ip.to_string());
        if let Some(name) = given.iter().chain(&own).find(|name| !is_private(name)) {
            bail!(
                "the local authority does not sign for \"{name}\", only for names in localhost, test, internal, \
                 local and home.arpa, and for private addresses; without --https, a public authority is asked"
            );
        }
        let is_localhost = ip.is_unspecified() || [LOCALHOST_V4, LOCALHOST_V6].contains(&ip);
        let first = match (given.first(), ip) {
            (Some(name), _) => name.clone(),
            (None, _) if is_localhost => "localhost".to_owned(),
            (None, IpAddr::V6(ip)) => format!("[{ip}]"),
            (None, IpAddr::V4(ip)) => ip.to_string(),
        };
        let mut names = Vec::new();
        for name in host_names().into_iter().chain(own).chain(given.iter().cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(Self { names, first, issued: None })
    }

    /// Makes a state directory that has the certificate and nothing else.
    pub(super) fn prepare(&mut self, folder: &RunFolder) -> anyhow::Result<PathBuf> {
        let authority = LocalAuthority::open()?;
        let leaf = authority.issue(&self.names, SystemTime::now())?;
        let state = folder.add_certificate(Self::CERTIFICATE, &leaf.bundle)?;
        self.issued = Some(Box::new(Issued { authority, leaf }));
        Ok(state)
    }

    /// Explains an authority that is not trusted yet, or that may sign for more than one that is made now.
    pub(super) fn notice(&self) -> String {
        let Some(Issued { authority, .. }) = self.issued.as_deref() else { return String::new() };
        if !authority.is_new {
            return authority.warning().map_or_else(String::new, |warning| format!("{warning}\n"));
        }
        format!(
            "local authority: made for this user, in \"{}\"; browsers warn of what they do not trust\n\
             note: `corral trust` makes browsers and programs trust it, `corral trust --remove` takes that back\n",
            authority.folder().display(),
        )
    }

    pub(super) fn url(&self, listen: &ListenAddress) -> String {
        let port = match listen {
            ListenAddress::Inet(address) => address.port(),
            _ => 443,
        };
        match port {
            443 => format!("https://{}", self.first),
            port => format!("https://{}:{port}", self.first),
        }
    }

    /// Puts new certificates in force by the control API, in a thread of its own.
    pub(super) fn keep_renewed(self, control: PathBuf) -> Box<dyn FnOnce() + Send> {
        let Self { names, issued, .. } = self;
        Box::new(move || {
            if let Some(issued) = issued {
                thread::spawn(move || renew(&issued.authority, issued.leaf.renewal, &names, control));
            }
        })
    }
}

/// Returns never.
fn renew(authority: &LocalAuthority, mut due: SystemTime, names: &[String], control: PathBuf) {
    let daemon = Daemon::at(ListenAddress::Unix(control));
    loop {
        thread::sleep(INTERVAL);
        let now = SystemTime::now();
        if now < due {
            continue;
        }
        match replace(&daemon, authority, names, now) {
            Ok(renewal) => due = renewal,
            Err(error) => {
                tracing::warn!("renew the certificate of the local authority: {error:#}");
                due = now + RETRY;
            }
        }
    }
}

/// How long it waits before it tries again.
const RETRY: Duration = Duration::from_secs(3600);

fn replace(
    daemon: &Daemon,
    authority: &LocalAuthority,
    names: &[String],
    now: SystemTime,
) -> anyhow::Result<SystemTime> {
    let leaf = authority.issue(names, now)?;
    let path = format!("/certificates/{}?replace=true", LocalHttps::CERTIFICATE);
    let answer = daemon.put(&path, leaf.bundle.as_bytes())?;
    if answer.status != 200 {
        bail!("{}", String::from_utf8_lossy(&answer.body));
    }
    Ok(leaf.renewal)
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Issued")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, given: &[&str], expected: Result<&str, &str>) {
        let listen = ListenAddress::parse(listen.as_bytes()).unwrap();
        let given: Vec<_> = given.iter().map(|name| (*name).to_owned()).collect();
        match (LocalHttps::of(&listen, &given), expected) {
            (Ok(local), Ok(url)) => assert_eq!(local.url(&listen), url),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn urls_have_names_that_the_certificate_has() {
        check("127.0.0.1:8443", &[], Ok("https://localhost:8443"));
        check("[::1]:8443", &[], Ok("https://localhost:8443"));
        check("*:443", &[], Ok("https://localhost"));
        check("127.0.0.2:8443", &[], Ok("https://127.0.0.2:8443"));
        check("192.168.1.2:8443", &[], Ok("https://192.168.1.2:8443"));
        check("[fd00::2]:8443", &[], Ok("https://[fd00::2]:8443"));
        check("127.0.0.1:8443", &["shop.localhost", "b.test"], Ok("https://shop.localhost:8443"));
        check("127.0.0.1:8443", &["example.org"], Err("does not sign for \"example.org\""));
        check("192.0.2.1:8443", &[], Err("does not sign for \"192.0.2.1\""));
        check("unix:/a", &[], Err("name a port with --listen"));
    }
}
