//! The slowest requests of recent time, and where their time went.

use std::cmp::Reverse;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bounded;

/// Most of them that are told of.
pub const MOST_SLOW: usize = 32;

/// A request that took long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// When it was over, since 1970.
    pub ended: Duration,
    /// The request's method.
    #[serde(deserialize_with = "bounded::words")]
    pub method: String,
    /// The pattern of the path, without what names one thing of many, and without the query.
    #[serde(deserialize_with = "bounded::words")]
    pub path: String,
    /// As configured.
    #[serde(deserialize_with = "bounded::words")]
    pub listener: String,
    /// The application that was asked last.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub application: Option<String>,
    /// JSON pointer of the last step of a route on the way.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub step: Option<String>,
    /// `None` if the client got none.
    pub status: Option<u16>,
    /// How long it took.
    pub took: Duration,
    /// How long it waited for a process, or for room at a server.
    pub queue: Duration,
    /// How long processes of applications had it.
    pub worker: Duration,
    /// How long servers had it that it was passed on to.
    pub upstream: Duration,
}

impl SlowRequest {
    /// The rest of the time: of the client, which sends the request and takes the reply, and of the router itself.
    #[must_use]
    pub fn rest(&self) -> Duration {
        self.took.saturating_sub(self.queue).saturating_sub(self.worker).saturating_sub(self.upstream)
    }
}

/// Puts the slowest ones first, and leaves out those for which there is no room.
pub fn keep_slowest(requests: &mut Vec<SlowRequest>) {
    requests.sort_by_key(|request| Reverse(request.took));
    requests.truncate(MOST_SLOW);
}

/// A list of so many.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SlowRequest>, D::Error> {
    bounded::list(from).map(|mut requests| {
        requests.truncate(MOST_SLOW);
        requests
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::message::{FromRouter, Status, Ticket};

    fn request(millis: u64) -> SlowRequest {
        SlowRequest { took: Duration::from_millis(millis), ..SlowRequest::default() }
    }

    #[test]
    fn the_slowest_are_kept_and_come_first() {
        let mut requests: Vec<_> = (0..50).map(request).collect();
        keep_slowest(&mut requests);
        assert_eq!(requests.len(), MOST_SLOW);
        assert_eq!((&requests[0], &requests[31]), (&request(49), &request(18)));
    }

    #[test]
    fn no_more_are_taken_from_a_router() {
        let (main, router) = Link::pair().unwrap();
        let slow = (0..50).map(request).collect();
        let status = Status { slow, ..Status::default() };
        router.send(&FromRouter::Status { ticket: Ticket(1), status }, &[]).unwrap();
        let Ok(Some((FromRouter::Status { status, .. }, _))) = main.take() else { panic!("it is a message") };
        assert_eq!(status.slow.len(), MOST_SLOW);
    }

    #[test]
    fn parts_that_are_longer_than_the_whole_leave_nothing() {
        let second = Duration::from_secs(1);
        let request = SlowRequest { queue: second, worker: second / 4, ..request(1500) };
        assert_eq!(request.rest(), second / 4);
        assert_eq!(SlowRequest { upstream: second, ..request }.rest(), Duration::ZERO);
    }
}
