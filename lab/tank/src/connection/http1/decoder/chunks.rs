//! Chunked bodies.

use super::Malformed;

/// The longest line of a size, with its extensions; and of all trailers.
const MOST_LINE: usize = 16 * 1024;

/// A body in chunks, and how far it came.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    place: Place,
    /// The bytes of the line or of the trailers.
    n_line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The digits of a size; no value before the first.
    Size(Option<u64>),
    /// The rest of the line of a size.
    Extension(u64),
    Data(u64),
    /// The end of the line after data.
    DataEnd,
    /// Lines after the last chunk, and whether the line that came last has anything in it.
    Trailers {
        is_empty: bool,
    },
    Done,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { place: Place::Size(None), n_line: 0 }
    }
}

impl Chunks {
    pub(super) fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    /// Takes bytes until the end of the body and returns how many; hands the data on.
    pub(super) fn take(&mut self, input: &[u8], mut on_data: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        let mut rest = input;
        while let Some((first, behind)) = rest.split_first().filter(|_| !self.is_done()) {
            if let Place::Data(left) = self.place {
                let n_data = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let (data, behind) = rest.split_at(n_data);
                on_data(data);
                let left = left - n_data as u64;
                self.place = if left == 0 { Place::DataEnd } else { Place::Data(left) };
                rest = behind;
            } else {
                self.n_line += 1;
                self.place = self.next(*first)?;
                rest = behind;
            }
        }
        Ok(input.len() - rest.len())
    }

    /// The part that follows a byte outside of data.
    fn next(&mut self, byte: u8) -> Result<Place, Malformed> {
        if self.n_line > MOST_LINE {
            return Err(Malformed);
        }
        match (self.place, byte) {
            (Place::Size(Some(size)) | Place::Extension(size), b'\n') => Ok(self.begin(size)),
            (Place::Size(Some(size)), b';' | b' ' | b'\t' | b'\r') => Ok(Place::Extension(size)),
            (Place::Size(size), _) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed)?;
                let size = size.unwrap_or(0).checked_mul(16).ok_or(Malformed)?;
                Ok(Place::Size(Some(size + u64::from(digit))))
            }
            (Place::Extension(size), _) => Ok(Place::Extension(size)),
            (Place::DataEnd, b'\r') => Ok(Place::DataEnd),
            (Place::DataEnd, b'\n') => {
                self.n_line = 0;
                Ok(Place::Size(None))
            }
            (Place::Trailers { is_empty: true }, b'\n') => Ok(Place::Done),
            (Place::Trailers { .. }, b'\n') => Ok(Place::Trailers { is_empty: true }),
            (Place::Trailers { is_empty }, b'\r') => Ok(Place::Trailers { is_empty }),
            (Place::Trailers { .. }, _) => Ok(Place::Trailers { is_empty: false }),
            (Place::DataEnd | Place::Data(_) | Place::Done, _) => Err(Malformed),
        }
    }

    fn begin(&mut self, size: u64) -> Place {
        self.n_line = 0;
        if size == 0 { Place::Trailers { is_empty: true } } else { Place::Data(size) }
    }
}
