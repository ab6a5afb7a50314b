//! Gathers entries for fewer writes: a buffer for each event loop, so that none waits for another.

use std::io;
use std::time::{Duration, Instant};

use corral_channel::Lane;
use corral_config::access_log::Buffer;
use parking_lot::Mutex;

pub(crate) struct EntryBuffer {
    size: usize,
    flush: Duration,
    /// Only locked by others than their loop when everything is written out.
    lanes: Vec<Mutex<Vec<u8>>>,
    last_flush: Mutex<Instant>,
}

impl EntryBuffer {
    pub(crate) fn new(buffer: Buffer, n_lanes: usize) -> Self {
        Self {
            size: buffer.size.get(),
            flush: buffer.flush,
            lanes: (0..n_lanes).map(|_| Mutex::default()).collect(),
            last_flush: Mutex::new(Instant::now()),
        }
    }

    /// Keeps an entry; writes what was there before when there is no room for both.
    pub(crate) fn add(
        &self,
        lane: Lane,
        entry: &[u8],
        write: impl Fn(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(lane) = self.lanes.get(lane.index()) else { return write(entry) };
        let mut kept = lane.lock();
        let mut written = Ok(());
        if kept.len() + entry.len() > self.size {
            written = write(&kept);
            kept.clear();
        }
        if entry.len() > self.size {
            return written.and(write(entry));
        }
        kept.extend_from_slice(entry);
        written
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.lock().is_empty())
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let mut last = self.last_flush.lock();
        let is_due = now.saturating_duration_since(*last) >= self.flush;
        if is_due {
            *last = now;
        }
        is_due
    }

    /// Writes what all loops have gathered.
    pub(crate) fn drain(&self, write: impl Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut result = Ok(());
        for lane in &self.lanes {
            let mut kept = lane.lock();
            if !kept.is_empty() {
                result = result.and(write(&kept));
                kept.clear();
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::num::NonZeroUsize;

    use super::*;

    /// `entries` are a lane's number and text each; `expect` is what was written, then what is drained.
    #[track_caller]
    fn check(entries: &[(u16, &str)], expect: (&[&str], &str)) {
        let size = NonZeroUsize::new(8).expect("8 is not 0");
        let gatherer = EntryBuffer::new(Buffer { size, flush: Duration::from_secs(1) }, 2);
        let writes = RefCell::new(Vec::new());
        let write = |entries: &[u8]| {
            writes.borrow_mut().push(String::from_utf8(entries.to_vec()).unwrap());
            Ok(())
        };
        for (lane, entry) in entries {
            gatherer.add(Lane(*lane), entry.as_bytes(), write).unwrap();
        }
        let written = writes.take();
        assert_eq!((written.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), expect.1), expect);
        gatherer.drain(write).unwrap();
        assert_eq!(writes.take().concat(), expect.1);
        gatherer.drain(write).unwrap();
        assert!(writes.take().is_empty(), "nothing is written twice");
    }

    #[test]
    fn entries_are_kept_while_there_is_room() {
        check(&[(0, "a\n"), (0, "b\n"), (1, "c\n")], (&[], "a\nb\nc\n"));
        check(&[(0, "aaaa\n"), (0, "bbbb\n")], (&["aaaa\n"], "bbbb\n"));
        check(&[(0, "a\n"), (0, "longer than all\n")], (&["a\n", "longer than all\n"], ""));
        check(&[(7, "of no lane\n")], (&["of no lane\n"], ""));
    }

    #[test]
    fn entries_are_due_after_a_while() {
        let size = NonZeroUsize::new(8).expect("8 is not 0");
        let gatherer = EntryBuffer::new(Buffer { size, flush: Duration::from_secs(5) }, 1);
        let start = Instant::now();
        assert!(!gatherer.is_due(start + Duration::from_secs(4)));
        assert!(gatherer.is_due(start + Duration::from_secs(6)));
        assert!(!gatherer.is_due(start + Duration::from_secs(7)));
    }
}
