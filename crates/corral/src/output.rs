//! Standard output of commands.

use std::io::{self, ErrorKind, Write};

/// Writes everything. A reader that has seen enough, such as `head`, is not a failure.
pub(crate) fn write(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
