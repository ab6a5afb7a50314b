//! A response of empty pieces, whose client sends nothing more. Such a client may wait for its response, or be gone:
//! while nothing is sent to it, the two look the same. One that is given nothing for long is taken for gone.
//!
//! A client that has closed its whole connection has its request cancelled, which a worker sees at its next write.

use std::time::{Duration, Instant};

/// For how long a client gets nothing but empty pieces.
const LONGEST: Duration = Duration::from_secs(2);

/// Since when there were only empty pieces for a client that sends nothing more.
#[derive(Debug, Default)]
pub(crate) struct QuietClient(Option<Instant>);

impl QuietClient {
    /// Another empty piece; whether it has been too many.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.0.get_or_insert_with(Instant::now).elapsed() >= LONGEST
    }

    /// The response has something for the client.
    pub(crate) fn ends(&mut self) {
        self.0 = None;
    }

    #[cfg(test)]
    pub(crate) fn begin_earlier(&mut self) {
        self.0 = Instant::now().checked_sub(LONGEST);
    }
}
