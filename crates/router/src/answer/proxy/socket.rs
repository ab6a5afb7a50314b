//! The socket of a connection to a server that is given one request at a time: written without waiting, and waited for.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::task::Poll;

use crate::exchange::carrier::Carrier;
use crate::io::SocketInterest;
use crate::storage::buffers;
use crate::upstream::ServerConnection;

/// Room for a read from a server that follows others into the same buffer.
const LEAST_ROOM: usize = 16 * 1024;

/// Writes without waiting; none when there is no room.
pub(super) fn write_now(
    connection: &mut ServerConnection,
    pieces: &[IoSlice<'_>],
) -> io::Result<Option<usize>> {
    match connection.try_write(pieces) {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for the event that nearly always comes first, and is cheap to wait for; none when the client has done
/// something before, or there is more to look at.
pub(super) async fn receive_undisturbed(
    connection: &ServerConnection,
    carrier: &dyn Carrier,
    input: &mut Vec<u8>,
) -> Option<io::Result<usize>> {
    let socket = connection.plain()?;
    poll_fn(|context| {
        while let Poll::Ready(ready) = socket.poll_readable(context) {
            match ready.and_then(|()| socket.receive(make_room(input))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => give_back(input),
                received => return Poll::Ready(Some(received)),
            }
        }
        carrier.poll_stir(context).map(|()| None)
    })
    .await
}

/// Waits for bytes, 0 of them at the end; none when there is room, where that is wanted. Cancel safe.
pub(super) async fn receive(
    connection: &mut ServerConnection,
    input: &mut Vec<u8>,
    wants_room: bool,
) -> Option<io::Result<usize>> {
    // In a box of its own, because few requests need it.
    Box::pin(async {
        if wants_room {
            let wanted = SocketInterest { bytes: true, room: true };
            if connection.ready(wanted).await.is_ok_and(|ready| !ready.bytes) {
                return None;
            }
        } else if let Err(error) = connection.readable().await {
            return Some(Err(error));
        }
        Some(connection.read(make_room(input)).await)
    })
    .await
}

/// A buffer is taken when there is something to put into it: many requests wait at a time.
pub(super) fn make_room(input: &mut Vec<u8>) -> &mut Vec<u8> {
    if input.capacity() == 0 {
        *input = buffers::take_large();
    }
    input.reserve(LEAST_ROOM);
    input
}

/// Gives the buffer back if there was nothing to put into it after all.
fn give_back(input: &mut Vec<u8>) {
    if input.is_empty() {
        buffers::give(std::mem::take(input));
    }
}
