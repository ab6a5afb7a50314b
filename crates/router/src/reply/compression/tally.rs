//! Bytes that went through compressors, by coding, in the whole process: files are compressed by threads of their own.
//! A body adds its own when its compressor is done with it, which has taken a thousand times as long.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use corral_http::encoding::ContentCoding;
use corral_ipc::message::{CODINGS, CodingFigures};

static ALL: [CodingTally; CODINGS.len()] = [const { CodingTally::new() }; CODINGS.len()];

struct CodingTally {
    input: AtomicU64,
    output: AtomicU64,
}

impl CodingTally {
    const fn new() -> Self {
        Self { input: AtomicU64::new(0), output: AtomicU64::new(0) }
    }
}

/// The sums, in the order of [`CODINGS`].
pub(crate) fn figures() -> [CodingFigures; CODINGS.len()] {
    ALL.each_ref().map(|tally| CodingFigures {
        input: tally.input.load(Ordering::Relaxed),
        output: tally.output.load(Ordering::Relaxed),
    })
}

/// The compressed bytes of one body that were not taken yet. Counts them, and those that they are made of.
#[derive(Debug)]
pub(crate) struct CountedOutput {
    pub(super) bytes: Vec<u8>,
    pub(super) n_input: u64,
    n_output: u64,
    coding: ContentCoding,
}

impl CountedOutput {
    pub(super) fn new(coding: ContentCoding) -> Self {
        Self { bytes: Vec::new(), n_input: 0, n_output: 0, coding }
    }
}

impl Write for CountedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        self.n_output += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CountedOutput {
    fn drop(&mut self) {
        let position = CODINGS.iter().position(|name| *name == self.coding.name());
        if let Some(tally) = position.and_then(|position| ALL.get(position)) {
            tally.input.fetch_add(self.n_input, Ordering::Relaxed);
            tally.output.fetch_add(self.n_output, Ordering::Relaxed);
        }
    }
}
