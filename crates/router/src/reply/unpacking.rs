//! `gunzip`: a body is unpacked on its way to a client that does not take gzip.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// Unpacks one body. What is made of a step is bounded, so that a body of zeros waits for the client as any other.
pub(crate) struct Unpacker {
    decoder: MultiGzDecoder<Vec<u8>>,
    has_begun: bool,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self { decoder: MultiGzDecoder::new(Vec::new()), has_begun: false }
    }

    /// Takes some of a piece, and gives what was made of it.
    ///
    /// # Errors
    ///
    /// When it is not gzip.
    pub(crate) fn step(&mut self, piece: &mut &[u8]) -> io::Result<Vec<u8>> {
        self.has_begun |= !piece.is_empty();
        let n = self.decoder.write(piece)?;
        *piece = piece.get(n..).unwrap_or_default();
        Ok(std::mem::take(self.decoder.get_mut()))
    }

    /// Bytes that were taken and can be read by now.
    ///
    /// # Errors
    ///
    /// When it is not gzip.
    pub(crate) fn flush(&mut self) -> io::Result<Vec<u8>> {
        self.decoder.flush()?;
        Ok(std::mem::take(self.decoder.get_mut()))
    }

    /// Everything that is left at the end of the body; of an empty one nothing.
    ///
    /// # Errors
    ///
    /// When the body is not complete.
    pub(crate) fn finish(&mut self) -> io::Result<Vec<u8>> {
        if self.has_begun {
            self.decoder.try_finish()?;
        }
        Ok(std::mem::take(self.decoder.get_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The body, from pieces of this size, and the most that was made of one step.
    fn unpack(bytes: &[u8], size: usize) -> io::Result<(Vec<u8>, usize)> {
        let (mut unpacker, mut body, mut most) = (Unpacker::new(), Vec::new(), 0);
        for mut piece in bytes.chunks(size) {
            while !piece.is_empty() {
                let made = unpacker.step(&mut piece)?;
                most = most.max(made.len());
                body.extend(made);
            }
        }
        let made = unpacker.finish()?;
        most = most.max(made.len());
        body.extend(made);
        Ok((body, most))
    }

    #[test]
    fn bodies_come_back_whole_whatever_their_pieces() {
        let text: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(n) % 251) as u8).collect();
        for body in [&b""[..], b"x", &text] {
            for size in [1, 7, 4096, 1 << 20] {
                assert!(unpack(&packed(body), size).unwrap().0 == body, "{} in {size}", body.len());
            }
        }
        let two = [packed(b"one "), packed(b"two")].concat();
        assert_eq!(unpack(&two, 3).unwrap().0, b"one two");
        assert_eq!(unpack(b"", 1).unwrap().0, b"");
    }

    /// A thousand bytes of zeros in one: they do not come all at once.
    #[test]
    fn a_step_makes_no_more_than_some_pages() {
        let bomb = packed(&vec![0; 50 << 20]);
        let (body, most) = unpack(&bomb, 1 << 20).unwrap();
        assert_eq!(body.len(), 50 << 20);
        assert!(most <= 256 << 10, "{most} bytes at once of {}", bomb.len());
    }

    #[test]
    fn what_was_flushed_can_be_read_before_the_end() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let mut unpacker = Unpacker::new();
        assert_eq!(unpacker.flush().unwrap(), b"");
        for event in [&b"data: 1\n\n"[..], b"data: 2\n\n"] {
            encoder.write_all(event).unwrap();
            encoder.flush().unwrap();
            let sent = std::mem::take(encoder.get_mut());
            let (mut piece, mut made) = (&sent[..], Vec::new());
            while !piece.is_empty() {
                made.extend(unpacker.step(&mut piece).unwrap());
            }
            made.extend(unpacker.flush().unwrap());
            assert_eq!(made, event);
        }
    }

    #[test]
    fn what_is_broken_is_refused() {
        let good = packed(b"hello hello hello");
        for cut in 1..good.len() {
            assert!(unpack(&good[..cut], 5).is_err(), "{cut}");
        }
        for at in [0, 2, 12, good.len() - 6, good.len() - 1] {
            let mut broken = good.clone();
            broken[at] ^= 0x55;
            assert!(unpack(&broken, 5).is_err(), "{at}");
        }
        assert!(unpack(b"plain text", 3).is_err());
    }
}
