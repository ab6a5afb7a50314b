//! A bridge: one end speaks HTTP/1 with a test, the other one HTTP/2 with the server. So the tests of what HTTP means
//! are asked of both.
//!
//! Each request is a stream, and the next one begins when that has ended. HTTP/2 begins with the first head: a client
//! that says nothing says nothing. What HTTP/2 has no words for is answered with status 599.

mod near;
mod streams;

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use http::uri::Scheme;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::near::Near;
use super::connection::{Link, encrypted, plain, runtime};
use crate::tls::TlsClient;
use crate::wait::PATIENCE;

/// The carrier of the far end.
#[derive(Debug)]
pub(crate) enum Far {
    Plain,
    /// With the host of this name.
    Tls(Box<TlsClient>, String),
}

/// Returns the end of HTTP/1 of a bridge over this connection.
pub(crate) fn carry(stream: TcpStream, far: Far) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let (begun, beginning) = channel::<io::Result<()>>();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let scheme = match far {
                Far::Plain => Scheme::HTTP,
                Far::Tls(..) => Scheme::HTTPS,
            };
            let begins = async {
                let link = match far {
                    Far::Plain => plain(stream)?,
                    Far::Tls(tls, host) => encrypted(stream, &tls, &host).await?,
                };
                io::Result::Ok((link, Near::new(theirs)?))
            };
            match begins.await {
                Ok((link, near)) => {
                    let _ = begun.send(Ok(()));
                    run(near, link, scheme).await;
                }
                Err(error) => drop(begun.send(Err(error))),
            }
        });
    });
    beginning.recv_timeout(PATIENCE).map_err(io::Error::other)??;
    ours.set_read_timeout(Some(PATIENCE))?;
    ours.set_write_timeout(Some(PATIENCE))?;
    Ok(ours)
}

async fn run(mut near: Near, mut link: Link, scheme: Scheme) {
    if let Some(head) = first_head(&mut near, &mut link).await {
        streams::run(near, head, link, scheme).await;
    }
}

/// Waits for the head of the first request. What a proxy says goes as it is, and so does what the server says
/// before it has heard of HTTP/2.
async fn first_head(near: &mut Near, link: &mut Link) -> Option<Vec<u8>> {
    let mut early = [0; 4096];
    loop {
        tokio::select! {
            read = link.read(&mut early) => match read {
                Ok(n) if n > 0 => near.write(&early[..n]).await.ok()?,
                _ => return None,
            },
            filled = near.fill() => {
                filled.ok()?;
                if let Some(header) = near.take_proxy_header() {
                    link.write_all(&header).await.ok()?;
                    link.flush().await.ok()?;
                }
                if let Some(head) = near.take_head() {
                    return Some(head);
                }
            }
        }
    }
}
