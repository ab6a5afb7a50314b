//! A connection that an application has taken over (Rack's full hijack): what it writes to its socket is what the
//! client gets, and what the client sends behind the request is what it reads.
//!
//! The worker sends one end of a socket pair beside the channel, as it sends files. The request ends with the
//! application's call, so the connection holds no slot of its worker, but it holds the generation and the process: a
//! worker is told to leave only when the last such connection has ended.

use std::io;
use std::os::unix::net::UnixStream;

use corral_config::upstream::Timeouts;
use corral_sys::deferred_close::ForeignFd;

use crate::answer::proxy::join;
use crate::exchange::response::ResponseWriter;
use crate::instance::{AppCall, Hijacked};
use crate::io::AnySocket;
use crate::request::client::Gone;
use crate::upstream::ServerConnection;

/// Passes everything on until the application closes its socket, or the client is gone.
pub(crate) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    call: &AppCall,
    hijacked: Hijacked,
) -> Result<(), Gone> {
    let Hijacked { socket, hold } = hijacked;
    // The application may serve it within the request.
    call.upgraded();
    response.reply.close = true;
    match open(socket) {
        Ok(mut connection) => {
            let limit = Timeouts::default().tunnel;
            let beginning = Box::pin(join(response, &mut connection, b"", limit)).await;
            response.reply.status = status_of(&beginning);
        }
        Err(error) => tracing::error!("a connection that was taken over cannot be used: {error}"),
    }
    drop(hold);
    Ok(())
}

fn open(socket: ForeignFd) -> io::Result<ServerConnection> {
    let socket = UnixStream::from(socket.into_inner());
    socket.set_nonblocking(true)?;
    Ok(ServerConnection::new(AnySocket::of_application(tokio::net::UnixStream::from_std(socket)?), None))
}

/// The status for the log, if what begins like this is a response.
fn status_of(beginning: &[u8]) -> Option<u16> {
    let status = beginning.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    let status = std::str::from_utf8(status).ok()?.parse().ok()?;
    (100..=999).contains(&status).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_that_of_the_first_line() {
        assert_eq!(status_of(b"HTTP/1.1 101"), Some(101));
        assert_eq!(status_of(b"HTTP/1.0 404"), Some(404));
        for nonsense in
            [&b""[..], b"HTTP/1.1 10", b"HTTP/1.1 099", b"HTTP/1.1 +10", b"SSH-2.0-Open", b"HTTP/1.1 \xff00"]
        {
            assert_eq!(status_of(nonsense), None, "{nonsense:?}");
        }
    }
}
