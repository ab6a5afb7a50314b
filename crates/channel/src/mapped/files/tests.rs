//! Files through a socket, both ends of it in this process. Miri has no sockets.
#![cfg(not(miri))]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_sys::memory::SharedMemory;
use proptest::prelude::*;

use super::*;
use crate::mapped::layout::ChannelShape;
use crate::mapped::region::Region;

struct FileEnds {
    sender: FileSender,
    receiver: FileReceiver,
    header: SharedView<WorkerHeader>,
}

fn ends() -> FileEnds {
    let region: Arc<Region> = Region::heap(ChannelShape { n_lanes: 1 }.worker_size());
    let header = SharedView::<WorkerHeader>::new(&region, 0);
    let (sender, socket) = file_sockets().unwrap();
    FileEnds { sender, receiver: FileReceiver::new(socket.try_into().unwrap(), header.clone()), header }
}

/// In memory, so that it is on no file system that is not accepted; it begins with its number.
fn file(n: u32) -> OwnedFd {
    let (_, memory) = SharedMemory::create("file", 4096).unwrap();
    let file = File::from(memory);
    file.write_all_at(&n.to_ne_bytes(), 0).unwrap();
    file.into()
}

impl FileEnds {
    fn send(&mut self, n: u32) -> io::Result<()> {
        self.sender.send(file(n).as_fd(), &self.header)
    }

    fn send_raw(&self, files: &[BorrowedFd<'_>]) {
        socket::send(self.sender.socket.as_fd(), &[0], files, Wait::Never).unwrap();
    }

    #[track_caller]
    fn check_taken(&self, n: u32) {
        let arrived = self.receiver.take_file(n).unwrap().unwrap();
        let mut begin = [0; 4];
        arrived.file.read_exact_at(&mut begin, 0).unwrap();
        assert_eq!((u32::from_ne_bytes(begin), arrived.size), (n, 4096));
    }

    #[track_caller]
    fn check_missing(&self, n: u32) {
        let error = self.receiver.take_file(n).unwrap_err();
        assert!(matches!(error, FileError::Missing { number } if number == n), "{error}");
    }
}

#[test]
fn files_are_taken_once_and_in_any_order() {
    let mut ends = ends();
    ends.check_missing(0);
    (0..3).for_each(|n| ends.send(n).unwrap());
    ends.check_taken(2);
    ends.check_missing(2);
    ends.check_taken(0);
    ends.check_missing(3);
    ends.check_taken(1);
    ends.check_missing(u32::MAX);
}

#[test]
fn a_worker_sends_no_more_than_it_may() {
    let mut ends = ends();
    (0..MAX_FILES).for_each(|n| ends.send(n).unwrap());
    assert_eq!(ends.send(MAX_FILES).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    ends.check_taken(MAX_FILES / 2);
    ends.send(MAX_FILES).unwrap();
    ends.send(MAX_FILES + 1).unwrap_err();
}

#[test]
fn numbers_begin_again_some_time() {
    let mut ends = ends();
    (ends.sender.next, ends.receiver.lock().next) = (u32::MAX, u32::MAX);
    ends.header.first.0.files_taken.store(u32::MAX, Ordering::Relaxed);
    ends.send(u32::MAX).unwrap();
    ends.send(0).unwrap();
    ends.check_taken(0);
    ends.check_taken(u32::MAX);
}

#[test]
fn who_sends_more_than_he_may_is_noticed() {
    let ends = ends();
    let one = file(0);
    (0..=MAX_FILES).for_each(|_| ends.send_raw(&[one.as_fd()]));
    assert!(matches!(ends.receiver.take_file(MAX_FILES).unwrap_err(), FileError::TooMany));
    assert_eq!(ends.receiver.lock().waiting.len(), MAX_FILES as usize);
}

#[test]
fn what_is_no_file_is_refused() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let directory: OwnedFd = File::open("/").unwrap().into();
    let good = file(0);
    let unfit: [&[BorrowedFd<'_>]; 5] =
        [&[], &[good.as_fd(); 2], &[reader.as_fd()], &[writer.as_fd()], &[directory.as_fd()]];
    for (n, files) in unfit.iter().enumerate() {
        let ends = ends();
        ends.send_raw(files);
        let error = ends.receiver.take_file(0).unwrap_err();
        assert!(matches!(error, FileError::Unfit), "number {n}: {error}");
    }
}

#[test]
fn a_file_is_no_socket_and_a_socket_no_file() {
    let mut ends = ends();
    let (stream, other) = socket::stream_pair().unwrap();
    ends.sender.send(stream.as_fd(), &ends.header).unwrap();
    ends.sender.send(stream.as_fd(), &ends.header).unwrap();
    ends.send(2).unwrap();
    drop(stream);
    drop(ends.receiver.take_socket(0).unwrap().unwrap());
    assert!(matches!(ends.receiver.take_file(1).unwrap_err(), FileError::Unfit));
    assert!(matches!(ends.receiver.take_socket(2).unwrap_err(), FileError::Unfit));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !corral_sys::poll::has_hung_up(other.as_fd()) {
        assert!(Instant::now() < deadline, "what is refused is closed");
        std::thread::yield_now();
    }
}

#[test]
fn a_worker_that_is_gone_sends_nothing() {
    let FileEnds { mut sender, receiver, header } = ends();
    sender.send(file(0).as_fd(), &header).unwrap();
    drop(sender);
    assert!(receiver.take_file(0).unwrap().is_some());
    assert!(matches!(receiver.take_file(1).unwrap_err(), FileError::Missing { number: 1 }));
}

proptest! {
    #![proptest_config(crate::few_cases())]

    /// Files come and are taken as it likes; each is the one that was sent under its number.
    #[test]
    fn no_order_of_calls_mistakes_one_for_another(steps in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut ends = ends();
        let mut waiting = Vec::new();
        for step in steps {
            if step & 1 == 0 {
                let n = ends.sender.next();
                let sent = ends.send(n);
                assert_eq!(sent.is_ok(), waiting.len() < MAX_FILES as usize);
                if sent.is_ok() {
                    waiting.push(n);
                }
            } else if waiting.is_empty() || step > 250 {
                ends.check_missing(ends.sender.next() + u32::from(step));
            } else {
                let n = waiting.swap_remove(usize::from(step) % waiting.len());
                ends.check_taken(n);
            }
        }
    }
}
