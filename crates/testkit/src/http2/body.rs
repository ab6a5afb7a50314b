//! Bodies as DATA frames, as fast as the other side has room.

use std::future::poll_fn;

use bytes::Bytes;
use h2::{Error, Reason, RecvStream, SendStream};
use http::HeaderMap;

/// Sends all of `bytes`, and waits for room where there is none.
pub(super) async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), Error> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = poll_fn(|context| stream.poll_capacity(context)).await;
        let Some(room) = room.transpose()? else { return Err(Reason::STREAM_CLOSED.into()) };
        stream.send_data(bytes.split_to(room.min(bytes.len())), false)?;
    }
    Ok(())
}

/// The next piece, whose room the other side gets back; none at the end.
pub(super) async fn receive(stream: &mut RecvStream) -> Result<Option<Bytes>, Error> {
    let piece = unless_done(stream.data().await.transpose())?;
    if let Some(piece) = &piece {
        stream.flow_control().release_capacity(piece.len())?;
    }
    Ok(piece)
}

/// The fields behind the last piece.
pub(super) async fn trailers(stream: &mut RecvStream) -> Result<HeaderMap, Error> {
    Ok(unless_done(stream.trailers().await)?.unwrap_or_default())
}

/// A server that has answered may say that it wants no more of the request (RFC 9113 section 8.1).
fn unless_done<T>(received: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    received.or_else(|error| match error.reason() {
        Some(Reason::NO_ERROR) if error.is_reset() => Ok(None),
        _ => Err(error),
    })
}
