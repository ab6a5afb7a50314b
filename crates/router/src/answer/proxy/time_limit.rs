//! For how long a server or a client is waited for while a request is on its way.

use std::time::{Duration, Instant};

use corral_config::upstream::Timeouts;

use crate::upstream::ServerFailure;

/// The event without which nothing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AwaitedEvent {
    /// The server takes more of the request.
    Room,
    /// The client sends more of the body.
    Body,
    /// The server sends more of the response.
    Response,
}

/// The limit of a wait.
#[derive(Debug)]
pub(super) struct WaitLimit<'t> {
    timeouts: &'t Timeouts,
    part: ResponsePart,
    /// When the server's time for the part is over, whatever else it says meanwhile. Begins with the first wait for
    /// that.
    due: Option<Instant>,
}

/// The part of the response that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponsePart {
    Head,
    /// Anything of the body, while the request goes on as well.
    Body,
    /// Output that may come in any number of pieces of framing.
    Output,
}

impl<'t> WaitLimit<'t> {
    pub(super) fn new(part: ResponsePart, timeouts: &'t Timeouts) -> Self {
        Self { timeouts, part, due: None }
    }

    /// How much is left for the event. `body` is the client's time for a piece of the body.
    pub(super) fn left(&mut self, awaited: AwaitedEvent, body: Duration, now: Instant) -> Duration {
        let total = match (self.part, awaited) {
            (ResponsePart::Body, _) => return self.timeouts.read,
            (_, AwaitedEvent::Room) => return self.timeouts.send,
            (_, AwaitedEvent::Body) => return body,
            (ResponsePart::Head, AwaitedEvent::Response) => self.timeouts.response,
            (ResponsePart::Output, AwaitedEvent::Response) => self.timeouts.read,
        };
        self.due.get_or_insert(now + total).saturating_duration_since(now)
    }

    /// The failure of a server that has exceeded it; none if the client has.
    pub(super) fn failure(&self, awaited: AwaitedEvent) -> Option<ServerFailure> {
        let Timeouts { send, response, read, .. } = *self.timeouts;
        match (self.part, awaited) {
            (ResponsePart::Body | ResponsePart::Output, _) => Some(ServerFailure::ReadTimedOut(read)),
            (ResponsePart::Head, AwaitedEvent::Room) => Some(ServerFailure::SendTimedOut(send)),
            (ResponsePart::Head, AwaitedEvent::Body) => None,
            (ResponsePart::Head, AwaitedEvent::Response) => Some(ServerFailure::ResponseTimedOut(response)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The limit of a wait that begins after a second of other waits, and of one a second later.
    #[track_caller]
    fn check(part: ResponsePart, awaited: AwaitedEvent, expect: (u32, u32), failure: Option<&str>) {
        let timeouts =
            Timeouts { send: 20 * SECOND, response: 30 * SECOND, read: 40 * SECOND, ..Timeouts::default() };
        let mut limit = WaitLimit::new(part, &timeouts);
        let start = Instant::now();
        let mut left = |after| limit.left(awaited, 50 * SECOND, start + after * SECOND);
        assert_eq!((left(1), left(2)), (expect.0 * SECOND, expect.1 * SECOND), "{awaited:?}");
        assert_eq!(limit.failure(awaited).map(|failure| failure.to_string()).as_deref(), failure);
    }

    #[test]
    fn a_server_has_one_time_for_its_head() {
        let head = ResponsePart::Head;
        check(head, AwaitedEvent::Response, (30, 29), Some("no response within 30s"));
        check(head, AwaitedEvent::Room, (20, 20), Some("it took nothing of the request for 20s"));
        check(head, AwaitedEvent::Body, (50, 50), None);
    }

    #[test]
    fn a_body_has_to_go_on_whatever_is_waited_for() {
        for awaited in [AwaitedEvent::Response, AwaitedEvent::Room, AwaitedEvent::Body] {
            check(ResponsePart::Body, awaited, (40, 40), Some("nothing of the response's body for 40s"));
        }
    }

    #[test]
    fn framing_does_not_count_as_output() {
        let output = ResponsePart::Output;
        check(output, AwaitedEvent::Response, (40, 39), Some("nothing of the response's body for 40s"));
        check(output, AwaitedEvent::Room, (20, 20), Some("nothing of the response's body for 40s"));
    }
}
