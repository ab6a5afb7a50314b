//! Frames that a worker sends beside head and body of a response: what comes before it, what is behind it, and what
//! comes in its place.

use corral_channel::message;
use corral_http::response;

use super::failure::AppFailure;
use super::hijacked::Hijacked;
use super::state::CallState;
use crate::reply::interim;

impl CallState {
    /// A head that comes too late is dropped, and a worker that sends more than it may is given up.
    pub(super) fn take_informational(&mut self, payload: &[u8]) -> Result<(), String> {
        self.take(payload.len())?;
        self.uncredited = self.uncredited.saturating_add(payload.len() as u32);
        if self.has_begun {
            return Ok(());
        }
        match message::decode_informational(payload) {
            Ok(_) if self.abandoned => {}
            Ok(view) => interim::append(&mut self.interim, view.status, view.fields),
            Err(error) => self.failure = Some(AppFailure::Malformed(error)),
        }
        Ok(())
    }

    /// The same for what comes before the response, or behind its end.
    pub(super) fn take_trailers(&mut self, payload: &[u8]) -> Result<(), String> {
        self.take(payload.len())?;
        self.uncredited = self.uncredited.saturating_add(payload.len() as u32);
        if !self.has_begun || self.ended {
            return Ok(());
        }
        self.trailers.clear();
        match message::decode_trailers(payload) {
            Ok(_) if self.abandoned => {}
            Ok(fields) => {
                fields.for_each(|(name, value)| response::append_field(&mut self.trailers, name, value));
            }
            Err(error) => self.failure = Some(AppFailure::Malformed(error)),
        }
        Ok(())
    }

    /// The worker has taken the connection over. It is not there if this process had no descriptor for it.
    pub(super) fn take_hijacked(&mut self, hijacked: Option<Hijacked>) -> Result<(), String> {
        if self.has_begun || self.ended || self.hijacked.is_some() {
            return Err("the worker takes a connection over behind a response".into());
        }
        match hijacked {
            _ if self.abandoned => {}
            Some(hijacked) => self.hijacked = Some(hijacked),
            None => self.failure = Some(AppFailure::NoSocket),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::state::AnswerPiece;
    use crate::request::body::rest::RequestBody;

    fn informational(state: &mut CallState, status: u16) {
        let mut payload = Vec::new();
        message::encode_response(&mut payload, status, [(&b"Link"[..], &b"</a>"[..]), (b"Keep-Alive", b"")]);
        state.take_informational(&payload).unwrap();
    }

    #[test]
    fn informational_responses_wait_as_they_are_sent_without_fields_of_the_connection() {
        let mut state = CallState::new(RequestBody::Complete);
        assert!(!state.has_piece());
        informational(&mut state, 103);
        informational(&mut state, 102);
        assert!(state.has_piece());
        let Ok(Some(AnswerPiece::Interim(heads))) = state.next_piece() else { panic!("{state:?}") };
        let heads = String::from_utf8(heads).unwrap();
        assert_eq!(
            heads,
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\nLink: </a>\r\n\r\n"
        );
        assert!(!state.has_piece());
    }

    #[test]
    fn what_is_no_informational_response_fails_the_request() {
        for status in [100, 101, 200] {
            let mut state = CallState::new(RequestBody::Complete);
            informational(&mut state, status);
            assert!(matches!(state.next_piece(), Err(AppFailure::Malformed(_))), "{status}");
        }
    }

    fn trailers(state: &mut CallState, name: &[u8], value: &[u8]) {
        let mut payload = Vec::new();
        message::encode_trailers(&mut payload, [(name, value)]);
        state.take_trailers(&payload).unwrap();
    }

    #[test]
    fn trailers_are_kept_as_lines_and_the_last_count() {
        let mut state = CallState::new(RequestBody::Complete);
        trailers(&mut state, b"X-A", b"too early");
        assert_eq!(state.trailers, b"");
        state.has_begun = true;
        trailers(&mut state, b"X-A", b"1");
        trailers(&mut state, b"X-A", b"2");
        assert_eq!(state.trailers, b"X-A: 2\r\n");
        state.ended = true;
        trailers(&mut state, b"X-A", b"too late");
        assert_eq!(state.trailers, b"X-A: 2\r\n");
    }

    #[test]
    fn trailers_that_no_client_may_see_fail_the_response() {
        let mut state = CallState::new(RequestBody::Complete);
        state.has_begun = true;
        trailers(&mut state, b"Content-Length", b"1");
        assert!(state.trailers.is_empty() && matches!(state.next_piece(), Err(AppFailure::Malformed(_))));
    }

    #[test]
    fn what_comes_behind_the_head_is_dropped() {
        let mut state = CallState::new(RequestBody::Complete);
        state.has_begun = true;
        informational(&mut state, 103);
        informational(&mut state, 500);
        assert!(!state.has_piece());
    }

    #[test]
    fn more_than_is_allowed_is_a_violation() {
        let mut state = CallState::new(RequestBody::Complete);
        assert!(state.take_informational(&vec![0; state.allowed as usize + 1]).is_err());
        state.has_begun = true;
        assert!(state.take_trailers(&vec![0; state.allowed as usize + 1]).is_err());
        assert!(!state.has_piece());
    }

    #[test]
    fn nothing_is_kept_for_nobody() {
        let mut state = CallState::new(RequestBody::Complete);
        state.abandoned = true;
        informational(&mut state, 103);
        assert!(!state.has_piece());
    }
}
