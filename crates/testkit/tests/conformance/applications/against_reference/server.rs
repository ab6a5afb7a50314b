//! A reference server: started on a free port, ended with its workers when dropped.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use corral_testkit::{Address, PATIENCE, Signal, Site, descendants, is_alive, signal, within};

use super::habit::Reference;

/// Serves until it is dropped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    output: std::path::PathBuf,
}

impl Server {
    /// Waits until it takes connections.
    pub(crate) fn start(site: &Site, reference: &Reference) -> Self {
        let address = Address::fresh().socket();
        let path = site.path("reference.log");
        let output = File::create(&path).expect("the site is writable");
        let mut command = (reference.command)(site, address);
        command.current_dir(site.path("")).stdin(Stdio::null());
        command.stdout(output.try_clone().expect("duplicate the output")).stderr(output);
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("{}: {error}; scripts/setup test installs it", reference.name);
        });
        let mut server = Self { child, address, output: path };
        let up = within(PATIENCE, || {
            let ended = server.child.try_wait().expect("it is our child").map(|_| false);
            ended.or_else(|| TcpStream::connect(address).is_ok().then_some(true))
        });
        assert_eq!(up, Some(true), "{} does not serve\n{}", reference.name, server.output());
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's output so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let workers = descendants(self.child.id());
        signal(self.child.id(), Signal::TERM);
        if within(Duration::from_secs(5), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        for process in workers.iter().filter(|process| is_alive(process.pid)) {
            signal(process.pid, Signal::KILL);
        }
    }
}
