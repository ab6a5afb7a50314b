//! A request's head on its way in. No byte behind it is read: those are the script's.

use std::os::fd::OwnedFd;

use corral_cgi::scgi;
use corral_worker::complain;
use rustix::io::Errno;
use rustix::net::RecvFlags;

/// A connection whose request has not come yet.
pub(super) struct Arrival {
    pub(super) connection: OwnedFd,
    /// As much as there is.
    pub(super) head: Vec<u8>,
    /// Bytes of all of it, once that is known.
    len: Option<usize>,
}

/// The state of the connection.
pub(super) enum BodyProgress {
    Waiting,
    Complete,
    /// No request will come: the connection is closed or broken, or the head is not valid.
    Gone,
}

impl Arrival {
    pub(super) fn new(connection: OwnedFd) -> Self {
        Self { connection, head: Vec::new(), len: None }
    }

    /// Reads what there is.
    pub(super) fn progress(&mut self) -> BodyProgress {
        loop {
            let read = match self.len {
                None => self.look_for_length(),
                Some(len) => self.read(len),
            };
            match read {
                Ok(0) => return BodyProgress::Gone,
                Ok(_) if self.len == Some(self.head.len()) => return BodyProgress::Complete,
                // The length is known.
                Ok(_) if self.len.is_some() => {}
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => return BodyProgress::Waiting,
                Err(_) => return BodyProgress::Gone,
            }
        }
    }

    /// Looks at the first bytes, and leaves them where they are.
    fn look_for_length(&mut self) -> Result<usize, Errno> {
        let mut start = [0; scgi::MAX_PREFIX];
        let (n, _) = rustix::net::recv(&self.connection, &mut start, RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
        match scgi::head_len(&start[..n]) {
            Ok(len) => self.len = len,
            Err(error) => {
                complain(error);
                return Ok(0);
            }
        }
        Ok(n)
    }

    fn read(&mut self, len: usize) -> Result<usize, Errno> {
        let n_before = self.head.len();
        self.head.resize(len, 0);
        let received = rustix::net::recv(&self.connection, &mut self.head[n_before..], RecvFlags::DONTWAIT);
        let n = received.map_or(0, |(n, _)| n);
        self.head.truncate(n_before + n);
        received.map(|(n, _)| n)
    }
}
