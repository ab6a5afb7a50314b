//! The body of a request on its way to a worker, in pieces that the worker asks for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The body of a request, as far as it did not travel with the head.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// All of it went with the head.
    Complete,
    /// The rest of it, in memory.
    Memory { bytes: Vec<u8>, position: usize },
    /// No body, but messages of a WebSocket connection, which the connection's own task sends.
    Messages,
    /// All of it, which the connection's own task sends as it comes.
    Live,
    /// In a file: the next byte to send, and the length of the whole.
    File { file: File, position: u64, len: u64 },
}

impl RequestBody {
    /// Puts the next piece into `out`, which is cleared first. True when nothing follows it.
    pub(crate) fn read(&mut self, out: &mut Vec<u8>, max: usize) -> io::Result<bool> {
        out.clear();
        match self {
            Self::Complete | Self::Messages | Self::Live => Ok(true),
            Self::Memory { bytes, position } => {
                let end = bytes.len().min(*position + max);
                out.extend_from_slice(&bytes[*position..end]);
                *position = end;
                Ok(end == bytes.len())
            }
            Self::File { file, position, len } => {
                let wanted = (*len - *position).min(max as u64) as usize;
                out.resize(wanted, 0);
                file.read_exact_at(out, *position)?;
                *position += wanted as u64;
                Ok(position == len)
            }
        }
    }
}
