//! Lines of an ammo file, and the bytes after a line that says how many they are.

use anyhow::{Context, Result, bail};

/// A file, and how far it was read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// The number of the line that was read last.
    line: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, line: 0 }
    }

    /// The next line that is not empty, and its number.
    pub(super) fn line(&mut self) -> Result<Option<(usize, &'a str)>> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest);
            let line = &self.rest[..end.unwrap_or(self.rest.len())];
            self.rest = &self.rest[end.map_or(self.rest.len(), |end| end + 1)..];
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                let text = str::from_utf8(line.trim_ascii()).ok();
                let text = text.with_context(|| format!("line {}: expected UTF-8", self.line))?;
                return Ok(Some((self.line, text)));
            }
        }
        Ok(None)
    }

    /// So many bytes, after which a line ends.
    pub(super) fn bytes(&mut self, size: usize) -> Result<&'a [u8]> {
        let line = self.line;
        let Some((bytes, rest)) = self.rest.split_at_checked(size) else {
            bail!("line {line}: expected {size} bytes after the line, found {}", self.rest.len());
        };
        self.rest = match rest {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            [] => rest,
            [other, ..] => {
                let found = char::from(*other).to_string();
                bail!("line {line}: expected the end of a line after {size} bytes, found {found:?}");
            }
        };
        self.line += memchr::memchr_iter(b'\n', bytes).count() + 1;
        Ok(bytes)
    }
}
