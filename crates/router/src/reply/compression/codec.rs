//! The four encoders behind one face: bytes in, compressed bytes out whenever they are wanted.

use std::io::{self, Write};

use brotli::CompressorWriter;
use corral_http::encoding::ContentCoding;
use flate2::Compression as ZlibLevel;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::tally::CountedOutput;

/// How much time and memory may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A whole body of this many bytes, compressed once and kept.
    Kept { size: u64 },
    /// A body on its way out, on an event loop that has others to serve.
    Streamed,
}

/// Compresses one body.
pub(crate) enum Encoder {
    Gzip(GzEncoder<CountedOutput>),
    Deflate(ZlibEncoder<CountedOutput>),
    Zstd(zstd::stream::write::Encoder<'static, CountedOutput>),
    Brotli(Box<CompressorWriter<CountedOutput>>),
}

impl Encoder {
    /// An encoder of the configured level, or of the one that suits the effort.
    ///
    /// # Errors
    ///
    /// When there is no memory for it, or for the coding `identity`, which has no encoder.
    pub(crate) fn new(coding: ContentCoding, level: Option<i32>, effort: Effort) -> io::Result<Self> {
        let level = level_for(coding, level, effort);
        let is_streamed = effort == Effort::Streamed;
        let output = CountedOutput::new(coding);
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(GzEncoder::new(output, zlib_level(level))),
            ContentCoding::Deflate => Self::Deflate(ZlibEncoder::new(output, zlib_level(level))),
            ContentCoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(output, level)?;
                let window = if is_streamed { ZSTD_STREAM_WINDOW } else { ZSTD_WINDOW };
                if level > ZSTD_NARROW_LEVELS || is_streamed {
                    encoder.window_log(window)?;
                }
                Self::Zstd(encoder)
            }
            ContentCoding::Br => {
                let window = if is_streamed { BROTLI_STREAM_WINDOW } else { BROTLI_WINDOW };
                let writer = CompressorWriter::new(output, BROTLI_BUFFER, level.unsigned_abs(), window);
                Self::Brotli(Box::new(writer))
            }
            ContentCoding::Identity => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        })
    }

    /// Takes a piece of the body.
    pub(crate) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.counted().n_input += piece.len() as u64;
        self.inner().write_all(piece)
    }

    /// Makes all that was taken so far readable for the client.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }

    /// Compressed bytes that were not taken yet.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.counted().bytes
    }

    fn counted(&mut self) -> &mut CountedOutput {
        match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Deflate(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
            Self::Brotli(encoder) => encoder.get_mut(),
        }
    }

    /// Ends the body; returns what is left of its compressed bytes.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        let mut counted = match self {
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Deflate(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
            Self::Brotli(encoder) => encoder.into_inner(),
        };
        Ok(std::mem::take(&mut counted.bytes))
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(encoder) => encoder,
            Self::Deflate(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
            Self::Brotli(encoder) => encoder,
        }
    }
}

/// The level that is used. Streams stop where a piece would keep an event loop busy for milliseconds.
fn level_for(coding: ContentCoding, configured: Option<i32>, effort: Effort) -> i32 {
    let (default, greatest_streamed) = match (coding, effort) {
        (ContentCoding::Br, Effort::Kept { size }) if size <= BROTLI_BEST_SIZE => (11, 5),
        (ContentCoding::Br, Effort::Kept { .. }) => (6, 5),
        (ContentCoding::Br, Effort::Streamed) => (4, 5),
        (ContentCoding::Zstd, _) => (3, 9),
        _ => (6, 9),
    };
    // -1 is the default in the zlib library's own words.
    let is_zlib = matches!(coding, ContentCoding::Gzip | ContentCoding::Deflate);
    let level = configured.filter(|&level| !is_zlib || level >= 0).unwrap_or(default);
    if effort == Effort::Streamed { level.min(greatest_streamed) } else { level }
}

/// Whether a whole file can be compressed in one go in about a second, that is, at the cost of a stream.
pub(crate) fn is_cheap(coding: ContentCoding, configured: Option<i32>) -> bool {
    let kept = level_for(coding, configured, Effort::Kept { size: u64::MAX });
    kept <= level_for(coding, Some(i32::MAX), Effort::Streamed) + 1
}

fn zlib_level(level: i32) -> ZlibLevel {
    ZlibLevel::new(level.unsigned_abs())
}

/// Up to this size the best level takes a fraction of a second.
const BROTLI_BEST_SIZE: u64 = 128 * 1024;

/// Base-two logarithm of the window: 4 MiB for files, 256 KiB for each stream.
const BROTLI_WINDOW: u32 = 22;
const BROTLI_STREAM_WINDOW: u32 = 18;
const BROTLI_BUFFER: usize = 4096;

/// Clients need not support more than 8 MiB (RFC 9659 section 3).
const ZSTD_WINDOW: u32 = 23;
const ZSTD_STREAM_WINDOW: u32 = 19;

/// Levels whose own windows are smaller than that.
const ZSTD_NARROW_LEVELS: i32 = 16;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use corral_ipc::message::CODINGS;

    use super::super::tally;
    use super::*;

    const ALL: [ContentCoding; 4] =
        [ContentCoding::Gzip, ContentCoding::Deflate, ContentCoding::Zstd, ContentCoding::Br];

    fn text(n: usize) -> Vec<u8> {
        (0..n).map(|i| b'a' + (i * i % 23) as u8).collect()
    }

    /// As much as can be read of a body that may not have ended.
    fn decode(coding: ContentCoding, bytes: &[u8]) -> Vec<u8> {
        let mut decoder: Box<dyn Read + '_> = match coding {
            ContentCoding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
            ContentCoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(bytes)),
            ContentCoding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).unwrap()),
            _ => Box::new(brotli::Decompressor::new(bytes, 4096)),
        };
        let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = decoder.read(&mut buffer) {
            out.extend_from_slice(&buffer[..n]);
        }
        out
    }

    #[test]
    fn bodies_come_back_whole() {
        for coding in ALL {
            for effort in [Effort::Streamed, Effort::Kept { size: 300_000 }] {
                for (level, n) in [(None, 0), (None, 300_000), (Some(1), 70_000), (Some(0), 1000)] {
                    let body = text(n);
                    let mut encoder = Encoder::new(coding, level, effort).unwrap();
                    for piece in body.chunks(10_007) {
                        encoder.write(piece).unwrap();
                    }
                    let compressed = encoder.finish().unwrap();
                    assert!(decode(coding, &compressed) == body, "{coding:?} {effort:?} {level:?} {n}");
                }
            }
        }
    }

    /// Other tests of this process compress as well.
    #[test]
    fn bytes_before_and_behind_are_counted() {
        for (place, name) in CODINGS.iter().enumerate() {
            let coding = ALL.into_iter().find(|coding| coding.name() == *name).unwrap();
            let before = tally::figures()[place].clone();
            let mut encoder = Encoder::new(coding, Some(1), Effort::Streamed).unwrap();
            encoder.write(&text(1_000_000)).unwrap();
            encoder.flush().unwrap();
            let n_made = encoder.output().len() as u64;
            assert!(n_made > 0);
            drop(encoder);
            let after = tally::figures()[place].clone();
            assert!(after.input >= before.input + 1_000_000, "{name}: {before:?} {after:?}");
            assert!(after.output >= before.output + n_made, "{name}: {before:?} {after:?}");
        }
    }

    #[test]
    fn what_was_flushed_can_be_read_before_the_end() {
        for coding in ALL {
            let mut encoder = Encoder::new(coding, None, Effort::Streamed).unwrap();
            let mut sent = Vec::new();
            for event in ["data: 1\n\n", "data: 2\n\n"] {
                encoder.write(event.as_bytes()).unwrap();
                encoder.flush().unwrap();
                sent.append(encoder.output());
                assert!(decode(coding, &sent).ends_with(event.as_bytes()), "{coding:?}");
            }
        }
    }

    #[track_caller]
    fn check_level(coding: ContentCoding, configured: Option<i32>, effort: Effort, expect: i32) {
        assert_eq!(level_for(coding, configured, effort), expect, "{coding:?} {configured:?} {effort:?}");
    }

    #[test]
    fn levels_suit_what_is_compressed() {
        let (small, large) = (Effort::Kept { size: 1000 }, Effort::Kept { size: 1 << 20 });
        check_level(ContentCoding::Br, None, small, 11);
        check_level(ContentCoding::Br, None, large, 6);
        check_level(ContentCoding::Br, None, Effort::Streamed, 4);
        check_level(ContentCoding::Br, Some(11), large, 11);
        check_level(ContentCoding::Br, Some(11), Effort::Streamed, 5);
        check_level(ContentCoding::Gzip, Some(-1), small, 6);
        check_level(ContentCoding::Gzip, Some(0), small, 0);
        check_level(ContentCoding::Deflate, Some(9), Effort::Streamed, 9);
        check_level(ContentCoding::Zstd, Some(-7), Effort::Streamed, -7);
        check_level(ContentCoding::Zstd, Some(22), Effort::Streamed, 9);
        check_level(ContentCoding::Zstd, Some(22), small, 22);
        assert!(is_cheap(ContentCoding::Br, None) && is_cheap(ContentCoding::Gzip, Some(9)));
        assert!(!is_cheap(ContentCoding::Br, Some(11)) && !is_cheap(ContentCoding::Zstd, Some(22)));
    }
}
