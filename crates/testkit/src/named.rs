//! BIND with zones that take dynamic updates, in a temporary folder and on a free port.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use tempfile::TempDir;

use crate::address::{Address, port_of_all_addresses};
use crate::logged::Logged;
use crate::site::readable_temp_dir;

const SERVER: &str = "/usr/sbin/named";

/// A DNS server; ended when dropped.
///
/// Each zone has one server, [`Named::NAME`]. Every other name in it has the address of this test process
/// ([`Address::fresh`]), where its daemons listen.
#[derive(Debug)]
pub struct Named {
    process: Logged,
    address: SocketAddr,
    _folder: TempDir,
}

impl Named {
    /// The key that may change texts of the zones: its name, and its secret in Base64. The algorithm is HMAC-SHA-256.
    pub const KEY: (&str, &str) = ("corral", "Y29ycmFsIGNvcnJhbCBjb3JyYWwgY29ycmFsIGNvcnI=");

    /// A key that the server knows, but that may not change anything.
    pub const KEY_WITHOUT_RIGHTS: (&str, &str) = ("guest", "Z3Vlc3QgZ3Vlc3QgZ3Vlc3QgZ3Vlc3QgZ3Vlc3QgZ3U=");

    /// The server of a zone, below it.
    pub const NAME: &str = "ns";

    /// Starts it with these zones; `records` are lines for each of their files.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    #[track_caller]
    pub fn start(zones: &[&str], records: &str) -> Self {
        let folder = readable_temp_dir();
        let path = |name: &str| folder.path().join(name);
        // BIND listens only at addresses that an interface has; of this process's own, the loopback one has none.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port_of_all_addresses()));
        let (ip, port) = (address.ip(), address.port());
        let mut configuration = format!(
            "options {{ directory \"{folder}\"; pid-file none; lock-file none; session-keyfile \"{folder}/session\";\n\
             listen-on port {port} {{ {ip}; }}; listen-on-v6 {{ none; }}; recursion no; notify no;\n\
             dnssec-validation no; }};\ncontrols {{ }};\n",
            folder = folder.path().display()
        );
        for (name, secret) in [Self::KEY, Self::KEY_WITHOUT_RIGHTS] {
            let key = format!("key \"{name}\" {{ algorithm hmac-sha256; secret \"{secret}\"; }};\n");
            configuration += &key;
        }
        for zone in zones {
            let _ = writeln!(
                configuration,
                "zone \"{zone}\" {{ type primary; file \"{zone}.zone\"; update-policy {{ grant {} zonesub TXT; }}; }};",
                Self::KEY.0
            );
            let text = format!(
                "$TTL 1\n@ SOA {ns} hostmaster 1 3600 600 86400 1\n@ NS {ns}\n{ns} A {ip}\n* A {all}\n{records}\n",
                ns = Self::NAME,
                all = Address::fresh().socket().ip()
            );
            fs::write(path(&format!("{zone}.zone")), text).expect("write a zone");
        }
        fs::write(path("named.conf"), configuration).expect("write the configuration");
        // A copy: where AppArmor is in use, the system's profile is for the path, and permits the system's folders.
        fs::copy(SERVER, path("named")).expect("BIND is installed: scripts/setup test");
        let mut command = Command::new(path("named"));
        command.args(["-g", "-n", "1", "-c"]).arg(path("named.conf"));
        let mut process = Logged::start(&mut command, &path("log"));
        process.await_line(" running");
        process.await_port(address);
        Self { process, address, _folder: folder }
    }

    /// Where it answers, by UDP and TCP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All texts of a name, in order.
    #[must_use]
    #[track_caller]
    pub fn texts(&self, name: &str) -> Vec<String> {
        texts_at(self.address, name)
    }

    /// The program's log.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }
}

/// All texts of a name at a DNS server, in order, as `dig` sees them.
///
/// # Panics
/// When the server does not answer.
#[must_use]
#[track_caller]
pub fn texts_at(server: SocketAddr, name: &str) -> Vec<String> {
    let output = Command::new("dig")
        .args([&format!("@{}", server.ip()), "-p", &server.port().to_string(), name, "TXT", "+short", "+tcp"])
        .output()
        .expect("dig is installed: scripts/setup test");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "dig {name}: {text}");
    let quoted = text.lines().filter(|line| line.starts_with('"'));
    let mut found: Vec<_> = quoted.map(|line| line.trim_matches('"').to_owned()).collect();
    found.sort();
    found
}
