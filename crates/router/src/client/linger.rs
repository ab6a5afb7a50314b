//! The end of a connection whose client may still be sending.

use std::pin::pin;
use std::time::Duration;

use crate::clock::deadline::Deadline;
use crate::io::ClientStream;

/// How long a connection lingers after the last reply.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// Bytes that its client may send before it is closed all the same.
const MAX_LINGER_BYTES: usize = 1024 * 1024;

/// Lets the client read what it was sent last before the connection is reset by what it still sends.
pub(crate) async fn run(stream: &mut ClientStream, deadline: &Deadline, scratch: &mut Vec<u8>) {
    if stream.shut_down().await.is_err() {
        return;
    }
    let discarding = async {
        let mut n_discarded = 0;
        while n_discarded < MAX_LINGER_BYTES {
            match stream.discard(scratch).await {
                Ok(0) | Err(_) => return,
                Ok(n) => n_discarded += n,
            }
        }
    };
    // Whether it ended by itself makes no difference: the connection is dropped next.
    let _ = deadline.limit(LINGER_TIME, pin!(discarding)).await;
}
