//! Asks the servers of a zone until all of them have a record.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::ask::ask;
use super::error::DnsError;
use super::name::text;
use super::place::NameServer;

/// How long a server is left alone between two questions, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// The last answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ServerAnswer {
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
/// No server is asked any more when the future is dropped.
pub(super) async fn until_all_have(
    servers: &[NameServer],
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
    let is_seen = states.iter().any(|(_, state)| *state == ServerAnswer::Has);
    if is_seen && !states.iter().any(|(_, state)| matches!(state, ServerAnswer::Lacks(_))) {
        return Ok(());
    }
    states.sort_by(|(one, _), (other, _)| one.cmp(other));
    let told = states.into_iter().filter_map(|(server, state)| match state {
        ServerAnswer::Has => None,
        ServerAnswer::Lacks(reason) | ServerAnswer::Silent(reason) => Some(format!("{server}: {reason}")),
    });
    Err(DnsError::NotSeen { name: text(name), timeout, servers: told.collect::<Vec<_>>().join(", ") })
}

async fn until_it_has(addresses: &[SocketAddr], name: &Name, value: &str, deadline: Instant) -> ServerAnswer {
    let mut last = ServerAnswer::Silent("no answer".to_owned());
    let mut pause = FIRST_PAUSE;
    while Instant::now() < deadline {
        match timeout_at(deadline, look(addresses, name, value)).await {
            Ok(ServerAnswer::Has) => return ServerAnswer::Has,
            Ok(state) => last = state,
            Err(_) => break,
        }
        sleep_until(deadline.min(Instant::now() + pause)).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
    last
}

/// Asks one address after the other until one answers.
async fn look(addresses: &[SocketAddr], name: &Name, value: &str) -> ServerAnswer {
    let mut last = ServerAnswer::Silent("no answer".to_owned());
    for address in addresses {
        last = match ask(*address, name, RecordType::TXT).await {
            Ok(answer) if has(&answer, value) => return ServerAnswer::Has,
            Ok(answer) => return ServerAnswer::Lacks(reason(&answer)),
            Err(error) => ServerAnswer::Silent(error.to_string()),
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::TXT;
    use tokio::net::UdpSocket;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn name() -> Name {
        crate::dns::name::parse("_acme-challenge.example.org").unwrap()
    }

    /// A server that has the value "one" from the question of this number on.
    async fn server(called: &str, from: usize) -> NameServer {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addresses = vec![socket.local_addr().unwrap()];
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            for n in 1.. {
                let (length, client) = socket.recv_from(&mut buffer).await.unwrap();
                let mut answer = Message::from_vec(&buffer[..length]).unwrap().into_response();
                for value in ["other", "one"].iter().take(if n < from { 1 } else { 2 }) {
                    let text = RData::TXT(TXT::new(vec![(*value).to_owned()]));
                    answer.add_answer(Record::from_rdata(name(), 1, text));
                }
                socket.send_to(&answer.to_vec().unwrap(), client).await.unwrap();
            }
        });
        NameServer { name: called.to_owned(), addresses }
    }

    #[tokio::test]
    async fn all_servers_must_have_the_value() {
        let servers = [server("a", 1).await, server("b", 3).await];
        let begin = Instant::now();
        until_all_have(&servers, &name(), "one", LIMIT).await.unwrap();
        assert!(begin.elapsed() >= FIRST_PAUSE * 3, "two pauses");
    }

    #[tokio::test]
    async fn the_servers_that_lack_it_are_named() {
        let servers = [server("b", usize::MAX).await, server("a", 1).await];
        let limit = Duration::from_secs(1);
        let error = until_all_have(&servers, &name(), "one", limit).await.unwrap_err().to_string();
        let expected = "after 1 s not all servers of the zone have the record of _acme-challenge.example.org: \
                        b: not there yet; if they need longer, raise \"timeout\" of the challenge \"dns\"";
        assert_eq!(error, expected);
    }

    /// A server has an address more than this machine can reach, as those of IPv6 often are.
    #[tokio::test]
    async fn one_of_the_addresses_is_enough() {
        let mut server = server("a", 1).await;
        let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
        server.addresses.insert(0, nobody);
        until_all_have(&[server], &name(), "one", LIMIT).await.unwrap();
    }
}
