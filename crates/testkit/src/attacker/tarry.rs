//! Descriptors that take their time to be closed.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use socket2::{SockRef, Socket};

/// How long closing one takes.
pub const TARRYING: Duration = Duration::from_secs(8);

/// A TCP socket with bytes that are never read: a process that closes its last descriptor waits.
#[derive(Debug)]
pub struct Tarrying {
    socket: Option<Socket>,
    _peer: TcpStream,
}

/// Makes one. Its last descriptor should not be the test's, as the test would wait, too: see [`Tarrying::leave`].
///
/// # Panics
/// When this machine has no TCP.
#[must_use]
pub fn tarry() -> Tarrying {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let mut stream = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("connect");
    let (peer, _) = listener.accept().expect("accept");
    stream.set_nonblocking(true).expect("a socket can be told not to wait");
    while stream.write(&[0; 65536]).is_ok() {}
    SockRef::from(&stream).set_linger(Some(TARRYING)).expect("set the time");
    stream.set_nonblocking(false).expect("a socket can be told to wait");
    Tarrying { socket: Some(stream.into()), _peer: peer }
}

impl AsFd for Tarrying {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("it is there until it is dropped").as_fd()
    }
}

impl Tarrying {
    /// Closes the test's own descriptor, at once if it is not the last one.
    pub fn leave(&mut self) {
        // Should it be the last after all, another thread waits.
        let socket = self.socket.take();
        std::thread::spawn(move || drop(socket));
    }
}

impl Drop for Tarrying {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            // The time belongs to the socket, whichever process closes it: none from now on.
            let _ = socket.set_linger(Some(Duration::ZERO));
        }
    }
}
