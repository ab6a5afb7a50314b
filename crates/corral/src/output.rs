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

/// Writes an answer of the control API, which ends lines as HTTP does; a terminal does not.
pub(crate) fn print(body: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    write(format!("{}\n", text.trim_end()))
}
