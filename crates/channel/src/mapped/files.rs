//! Open files on their way from a worker to the router, beside the rings: one datagram each, in the order of their
//! numbers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_sys::deferred_close::{self, ForeignFd};
use corral_sys::descriptor_kind::DescriptorKind;
use corral_sys::sendable::{self, Sent};
use corral_sys::socket::{self, Wait};

use crate::MAX_FILES;
use crate::mapped::layout::WorkerHeader;
use crate::mapped::region::SharedView;

/// The worker's end.
#[derive(Debug)]
pub struct FileSender {
    pub(crate) socket: Arc<OwnedFd>,
    /// Number of the next one.
    next: u32,
}

/// Both ends; the second one is for the router ([`crate::WorkerDescriptors`]).
///
/// # Errors
/// No descriptor is left.
pub fn file_sockets() -> io::Result<(FileSender, OwnedFd)> {
    let (sends, receives) = socket::seqpacket_pair()?;
    Ok((FileSender { socket: Arc::new(sends), next: 0 }, receives))
}

impl FileSender {
    /// Number of the next file.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Sends it, without waiting. Fails when too many are on their way, or the system lets no more be.
    pub(crate) fn send(&mut self, file: BorrowedFd<'_>, header: &WorkerHeader) -> io::Result<()> {
        let n_taken = header.first.0.files_taken.load(Ordering::Relaxed);
        if self.next.wrapping_sub(n_taken) >= MAX_FILES {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        socket::send(self.socket.as_fd(), &[0], &[file], Wait::Never)?;
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

/// The router's end, as it has come. Closing it leaves files in it unread.
#[derive(Debug)]
pub(crate) struct FileSocket(ForeignFd);

impl TryFrom<OwnedFd> for FileSocket {
    type Error = io::Error;

    fn try_from(socket: OwnedFd) -> io::Result<Self> {
        let socket = ForeignFd::from(socket);
        if DescriptorKind::of_socket(&socket) != Some(DescriptorKind::Packets) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "what files should come through is not a socket for them",
            ));
        }
        Ok(Self(socket))
    }
}

/// A file as the router gets it.
#[derive(Debug)]
pub struct Arrived {
    /// Regular, and open for reading, which never blocks.
    pub file: Sent,
    /// The file's length when it arrived.
    pub size: u64,
}

/// Kind of a descriptor that has come.
#[derive(Debug)]
enum ReceivedDescriptor {
    File(Arrived),
    Socket(ForeignFd),
}

/// A worker sends what no worker of ours does.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A frame names a file that was not sent, or was taken already.
    #[error("the worker names file {number}, which it has not sent")]
    Missing {
        /// As named.
        number: u32,
    },
    /// The worker has sent more than it may.
    #[error("the worker sends more files than it names")]
    TooMany,
    /// A datagram came with no descriptor, or with several, or with that of something else than a frame says.
    #[error(
        "the worker sends what is neither a file that the router may send on nor a socket of this machine"
    )]
    Unfit,
    /// The socket is not what it should be.
    #[error("receive a file of the worker")]
    Receive(#[source] io::Error),
}

/// The router's end, which all event loops share: a loop that looks for its file may find those of others.
#[derive(Debug)]
pub(crate) struct FileReceiver {
    state: Mutex<FileQueue>,
    header: SharedView<WorkerHeader>,
}

#[derive(Debug)]
struct FileQueue {
    socket: FileSocket,
    /// Number of the next datagram.
    next: u32,
    /// Descriptors that were not asked for yet; without a file where a datagram had none.
    waiting: Vec<(u32, Option<ReceivedDescriptor>)>,
}

impl FileReceiver {
    pub(crate) fn new(socket: FileSocket, header: SharedView<WorkerHeader>) -> Self {
        let state = FileQueue { socket, next: 0, waiting: Vec::new() };
        Self { state: Mutex::new(state), header }
    }

    /// Takes a file; none if this process had no descriptor for it.
    pub(crate) fn take_file(&self, number: u32) -> Result<Option<Arrived>, FileError> {
        match self.take(number)? {
            Some(ReceivedDescriptor::File(file)) => Ok(Some(file)),
            Some(ReceivedDescriptor::Socket(_)) => Err(FileError::Unfit),
            None => Ok(None),
        }
    }

    /// The same of a socket.
    pub(crate) fn take_socket(&self, number: u32) -> Result<Option<ForeignFd>, FileError> {
        match self.take(number)? {
            Some(ReceivedDescriptor::Socket(socket)) => Ok(Some(socket)),
            Some(ReceivedDescriptor::File(_)) => Err(FileError::Unfit),
            None => Ok(None),
        }
    }

    fn take(&self, number: u32) -> Result<Option<ReceivedDescriptor>, FileError> {
        let mut state = self.lock();
        let arrived = loop {
            if let Some(place) = state.waiting.iter().position(|(known, _)| *known == number) {
                break state.waiting.swap_remove(place).1;
            }
            state.receive(number)?;
        };
        drop(state);
        self.header.first.0.files_taken.fetch_add(1, Ordering::Relaxed);
        Ok(arrived)
    }

    fn lock(&self) -> MutexGuard<'_, FileQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileQueue {
    /// Takes the next datagram.
    fn receive(&mut self, wanted: u32) -> Result<(), FileError> {
        if self.waiting.len() >= MAX_FILES as usize {
            return Err(FileError::TooMany);
        }
        let received = match socket::recv(self.socket.0.as_fd(), &mut [0; 8], Wait::Never) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(FileError::Missing { number: wanted });
            }
            received => received.map_err(FileError::Receive)?,
        };
        let is_end = received.len == 0 && received.fds.is_empty();
        if is_end && !received.lacks_descriptors {
            return Err(FileError::Missing { number: wanted });
        }
        let arrived = match received.lacks_descriptors {
            true if received.fds.is_empty() => None,
            _ => Some(check(received.fds)?),
        };
        self.waiting.push((self.next, arrived));
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

fn check(descriptors: Vec<OwnedFd>) -> Result<ReceivedDescriptor, FileError> {
    let refused = match <[OwnedFd; 1]>::try_from(descriptors) {
        Ok([socket]) if DescriptorKind::of_socket(&socket) == Some(DescriptorKind::Stream) => {
            socket::refuse_descriptors(&socket);
            return Ok(ReceivedDescriptor::Socket(socket.into()));
        }
        Ok([file]) => match sendable::size(&file) {
            Ok(Some(size)) => return Ok(ReceivedDescriptor::File(Arrived { file: file.into(), size })),
            _ => vec![file],
        },
        Err(several) => several,
    };
    deferred_close::close(refused);
    Err(FileError::Unfit)
}

#[cfg(test)]
mod tests;
