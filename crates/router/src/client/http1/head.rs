//! Reading the head of a request from a connection.

use std::mem;
use std::pin::pin;

use corral_config::listener::Http2;
use corral_http::request::{HeadProgress, RequestHeadError, parse_head};
use corral_ipc::message::Refusal;

use crate::client::connection::ClientConnection;
use crate::client::http2;
use crate::client::request_state::RequestState;
use crate::clock::deadline::Elapsed;
use crate::generation::listener_settings::ListenerSettings;
use crate::io::now;
use crate::services::LoopServices;
use crate::storage::buffers;

/// How reading a head ended.
pub(in crate::client) enum HeadResult {
    Complete,
    /// The client begins to speak HTTP/2, which it may.
    Http2,
    /// The client has closed the connection between two requests.
    Closed,
    /// No byte has come after all.
    NothingYet,
    Refused(HeadRefusal),
}

/// Why there is no request to answer.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum HeadRefusal {
    #[error(transparent)]
    Malformed(#[from] RequestHeadError),
    #[error("the head did not arrive in time")]
    TimedOut,
    #[error("the client closed the connection within the head")]
    Cut,
    #[error("the client does not speak TLS")]
    PlainOnTls,
    #[error("the client's address has too many connections")]
    Crowded,
}

impl HeadRefusal {
    /// The reason to count; none of a client that has left.
    pub(in crate::client) fn reason(self) -> Option<Refusal> {
        match self {
            Self::Malformed(error) => Some(Refusal::of_status(error.status())),
            Self::TimedOut => Some(Refusal::Timeout),
            Self::Cut => None,
            Self::PlainOnTls => Some(Refusal::Malformed),
            Self::Crowded => Some(Refusal::Connections),
        }
    }
}

impl ClientConnection {
    /// Reads until the head is complete; what of it is in the input already is looked at first.
    pub(in crate::client) async fn read_head(
        &mut self,
        work: &mut RequestState,
        settings: &ListenerSettings,
    ) -> HeadResult {
        let rules = &settings.generation.shared.request_settings;
        work.head.clear();
        work.started = None;
        let Self { services, stream, deadline, sends_much, .. } = self;
        if !work.input.is_empty()
            && let Some(result) = parse(services, work, settings)
        {
            return result;
        }
        if work.input.is_empty() {
            if *sends_much && stream.tls().is_none() {
                buffers::give(mem::replace(&mut work.input, buffers::take_large()));
            }
            // Being readable may be a false alarm, above all of a fresh connection: it goes on waiting.
            match now(stream.read(&mut work.input)).await {
                None => return HeadResult::NothingYet,
                Some(Ok(0) | Err(_)) => return HeadResult::Closed,
                Some(Ok(_)) => {}
            }
            if let Some(result) = parse(services, work, settings) {
                return result;
            }
            buffers::make_small(&mut work.input);
        }
        // A client that gathers its writes sends the rest no sooner.
        stream.acknowledge();
        let reading = async {
            loop {
                match stream.read(&mut work.input).await {
                    Ok(0) | Err(_) => return cut(work),
                    Ok(_) => {}
                }
                if let Some(result) = parse(services, work, settings) {
                    return result;
                }
            }
        };
        match deadline.limit(rules.header_read_timeout, pin!(reading)).await {
            Ok(result) => result,
            Err(Elapsed) => HeadResult::Refused(HeadRefusal::TimedOut),
        }
    }
}

/// Looks at what has come of a head; with its first byte the request has begun, and counts.
fn parse(
    services: &LoopServices,
    work: &mut RequestState,
    settings: &ListenerSettings,
) -> Option<HeadResult> {
    if http2::is_preface(&work.input) && settings.listener().http2 == Http2::PriorKnowledge {
        return Some(HeadResult::Http2);
    }
    let parsed = parse_head(&mut work.head, &work.input, &settings.generation.shared.request_settings.head);
    if work.started.is_none() && work.head.has_begun(&work.input) {
        work.started = Some(services.deadlines.now());
        services.counters.requests.add(1);
    }
    match parsed {
        Ok(HeadProgress::Complete { .. }) => Some(HeadResult::Complete),
        Ok(HeadProgress::Partial) => None,
        Err(error) => Some(HeadResult::Refused(error.into())),
    }
}

fn cut(work: &RequestState) -> HeadResult {
    if work.head.has_begun(&work.input) { HeadResult::Refused(HeadRefusal::Cut) } else { HeadResult::Closed }
}
