//! Asks the servers of a zone until all of them have a record.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::ask::ask;
use super::place::Server;
use super::{DnsError, text};

/// How long a server is left alone between two questions, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// The last answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Has,
    /// An answer without the record.
    Lacks(String),
    /// No answer.
    Silent(String),
}

/// Returns when all servers have the value, or at the end of `timeout` when those that answer at all have it: a
/// server that is dead tells an authority nothing, either.
///
/// # Cancel safety
/// Nobody is asked any more when the future is dropped.
pub(super) async fn until_all_have(
    servers: &[Server],
    name: &Name,
    value: &str,
    timeout: Duration,
) -> Result<(), DnsError> {
    let deadline = Instant::now() + timeout;
    let mut asked = JoinSet::new();
    for server in servers {
        let (server, name, value) = (server.clone(), name.clone(), value.to_owned());
        asked.spawn(async move {
            let state = until_it_has(&server.addresses, &name, &value, deadline).await;
            (server.name, state)
        });
    }
    let mut states = asked.join_all().await;
    let is_seen = states.iter().any(|(_, state)| *state == State::Has);
    if is_seen && !states.iter().any(|(_, state)| matches!(state, State::Lacks(_))) {
        return Ok(());
    }
    states.sort_by(|(one, _), (other, _)| one.cmp(other));
    let told = states.into_iter().filter_map(|(server, state)| match state {
        State::Has => None,
        State::Lacks(reason) | State::Silent(reason) => Some(format!("{server}: {reason}")),
    });
    Err(DnsError::NotSeen { name: text(name), timeout, servers: told.collect::<Vec<_>>().join(", ") })
}

async fn until_it_has(addresses: &[SocketAddr], name: &Name, value: &str, deadline: Instant) -> State {
    let mut last = State::Silent("no answer".to_owned());
    let mut pause = FIRST_PAUSE;
    while Instant::now() < deadline {
        match timeout_at(deadline, look(addresses, name, value)).await {
            Ok(State::Has) => return State::Has,
            Ok(state) => last = state,
            Err(_) => break,
        }
        sleep_until(deadline.min(Instant::now() + pause)).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
    last
}

/// Asks one address after the other until one answers.
async fn look(addresses: &[SocketAddr], name: &Name, value: &str) -> State {
    let mut last = State::Silent("no answer".to_owned());
    for address in addresses {
        last = match ask(*address, name, RecordType::TXT).await {
            Ok(answer) if has(&answer, value) => return State::Has,
            Ok(answer) => return State::Lacks(reason(&answer)),
            Err(error) => State::Silent(error.to_string()),
        };
    }
    last
}

/// Whether an answer has the text, in however many pieces (RFC 1035 section 3.3.14).
pub(super) fn has(answer: &Message, value: &str) -> bool {
    answer.answers.iter().any(|record| match &record.data {
        RData::TXT(text) => text.txt_data.concat() == value.as_bytes(),
        _ => false,
    })
}

fn reason(answer: &Message) -> String {
    match answer.metadata.response_code {
        ResponseCode::NoError | ResponseCode::NXDomain => "not there yet".to_owned(),
        code => format!("it answers \"{code}\""),
    }
}
