//! Limits on what a connection may ask of the server.

use std::time::Duration;

use corral_ipc::message::Http2Fault;
use h2::Reason;
use h2::server::Builder;

use crate::generation::request_settings::RequestSettings;

/// Bytes of a reply that a stream holds for its client.
const MAX_UNSENT: usize = 32 * 1024;

/// Memory for small frames of bodies that were not read yet, in bytes: some thousand frames.
const MAX_OVERHEAD: usize = 512 * 1024;

/// Streams that the client has reset before they were looked at.
const MAX_UNSEEN_RESETS: usize = 32;

/// Streams that were reset because of what the client did, over the life of a connection.
const MAX_FAULTS: usize = 256;

/// Streams that were reset here and may still be spoken of, and for how long.
const REMEMBERED: (usize, Duration) = (32, Duration::from_secs(10));

/// Names and values that the client may refer to instead of repeating them, in bytes.
const HEADER_TABLE: u32 = 4096;

/// A server's side of connections.
pub(super) fn builder(rules: &RequestSettings) -> Builder {
    let limits = &rules.http2;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.max_concurrent_streams)
        .initial_window_size(limits.stream_window)
        .initial_connection_window_size(limits.connection_window)
        .max_header_list_size(head_bytes(rules))
        .header_table_size(HEADER_TABLE)
        .max_send_buffer_size(MAX_UNSENT)
        .data_frame_budget(MAX_OVERHEAD)
        .max_pending_accept_reset_streams(MAX_UNSEEN_RESETS)
        .max_local_error_reset_streams(Some(MAX_FAULTS))
        .max_concurrent_reset_streams(REMEMBERED.0)
        .reset_stream_duration(REMEMBERED.1)
        .enable_connect_protocol();
    builder
}

/// Bytes of a decoded head, where each field counts 32 more than it has (RFC 9113 section 6.5.2). What is too large for
/// the rules but not for this is answered and logged as in HTTP/1.
fn head_bytes(rules: &RequestSettings) -> u32 {
    u32::try_from(rules.head.max_head.saturating_mul(2)).unwrap_or(u32::MAX)
}

/// The fault of the client for which a connection ends, if that was it. `h2` has one code for all floods.
pub(super) fn fault_of(error: &h2::Error) -> Option<Http2Fault> {
    fault(error.reason().filter(|_| error.is_library()))
}

/// The same for the code that the client was told.
fn fault(told: Option<Reason>) -> Option<Http2Fault> {
    match told? {
        Reason::NO_ERROR => None,
        Reason::ENHANCE_YOUR_CALM => Some(Http2Fault::Flood),
        _ => Some(Http2Fault::Protocol),
    }
}

/// How many of its own requests a client may take back: about as many as it waits for, and some more. Each costs work
/// that is thrown away.
pub(super) struct ResetAllowance {
    left: u32,
}

/// Requests that a client may take back at once, as browsers do when a user leaves a page.
const MOST_RESETS: u32 = 200;

impl ResetAllowance {
    /// The client has waited for a reply.
    pub(super) fn regain(&mut self) {
        self.left = (self.left + 1).min(MOST_RESETS);
    }

    /// The client has taken a request back.
    pub(super) fn lose(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether there is none left; once.
    pub(super) fn is_at_end(&mut self) -> bool {
        let is_at_end = self.left == 0;
        if is_at_end {
            self.left = MOST_RESETS;
        }
        is_at_end
    }
}

impl Default for ResetAllowance {
    fn default() -> Self {
        Self { left: MOST_RESETS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_at_fault_where_it_was_told_so() {
        assert_eq!(fault(None), None);
        assert_eq!(fault(Some(Reason::NO_ERROR)), None);
        assert_eq!(fault(Some(Reason::ENHANCE_YOUR_CALM)), Some(Http2Fault::Flood));
        assert_eq!(fault(Some(Reason::PROTOCOL_ERROR)), Some(Http2Fault::Protocol));
        // That of a client that gives up itself.
        assert_eq!(fault_of(&Reason::PROTOCOL_ERROR.into()), None);
    }

    #[test]
    fn requests_that_are_waited_for_give_resets_back() {
        let mut allowance = ResetAllowance::default();
        (1..MOST_RESETS).for_each(|_| allowance.lose());
        assert!(!allowance.is_at_end());
        allowance.regain();
        allowance.lose();
        assert!(!allowance.is_at_end());
        allowance.lose();
        assert!(allowance.is_at_end() && !allowance.is_at_end(), "once");
    }
}
