//! One question to one DNS server, by UDP and then by TCP (RFC 1035 section 4.2).
//!
//! The resolver's library is not asked to do that: it hides what TSIG says of a refusal, and asks other servers as it
//! likes.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::error::DnsError;

/// How long one datagram is waited for, and how many are sent.
const UDP_PATIENCE: Duration = Duration::from_secs(2);
const N_DATAGRAMS: usize = 2;

/// How long an exchange may take by TCP.
const TCP_PATIENCE: Duration = Duration::from_secs(5);

/// The length of a header (RFC 1035 section 4.1.1).
const HEADER: usize = 12;

/// Asks for records of a name, without recursion.
pub(super) async fn ask(server: SocketAddr, name: &Name, kind: RecordType) -> Result<Message, DnsError> {
    let mut message = Message::query();
    message.metadata.recursion_desired = false;
    message.add_query(Query::query(name.clone(), kind));
    let request = message.to_vec().map_err(|error| invalid(server, &error))?;
    let answer = exchange(server, &request).await?;
    Message::from_vec(&answer).map_err(|error| invalid(server, &error))
}

/// The error about an answer that cannot be read.
pub(super) fn invalid(server: SocketAddr, error: &dyn Display) -> DnsError {
    DnsError::Invalid { server, reason: error.to_string() }
}

/// Sends a request, and returns the bytes of the answer to it.
pub(super) async fn exchange(server: SocketAddr, request: &[u8]) -> Result<Vec<u8>, DnsError> {
    match by_udp(server, request).await {
        Ok(answer) if !is_truncated(&answer) => return Ok(answer),
        Ok(_) => {}
        Err(error) => tracing::debug!("ask {server} by UDP: {error}"),
    }
    let answer = timeout(TCP_PATIENCE, by_tcp(server, request)).await;
    let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    answer.map_err(|source| DnsError::Silent { server, source })
}

/// From a port that the system chooses, so that it cannot be guessed; the kernel lets through datagrams of the server
/// alone.
async fn by_udp(server: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    for _ in 0..N_DATAGRAMS {
        socket.send(request).await?;
        if let Ok(answer) = timeout(UDP_PATIENCE, receive(&socket, request)).await {
            return answer;
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

async fn receive(socket: &UdpSocket, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if is_answer(request, &buffer[..length]) {
            buffer.truncate(length);
            return Ok(buffer);
        }
    }
}

async fn by_tcp(server: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(request.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), request].concat()).await?;
    loop {
        let length = stream.read_u16().await?;
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await?;
        if is_answer(request, &answer) {
            return Ok(answer);
        }
    }
}

/// Whether bytes are an answer to a request: they have its identifier and operation.
fn is_answer(request: &[u8], answer: &[u8]) -> bool {
    let operation = |bytes: &[u8]| bytes[2] & 0b0111_1000;
    answer.len() >= HEADER
        && request.len() >= HEADER
        && answer[..2] == request[..2]
        && answer[2] & 0b1000_0000 != 0
        && operation(answer) == operation(request)
}

/// Whether the rest did not fit into a datagram.
fn is_truncated(answer: &[u8]) -> bool {
    answer.get(2).is_some_and(|flags| flags & 0b0000_0010 != 0)
}

/// Bytes of a server: only a message with a header is an answer.
pub(super) fn fuzz(bytes: &[u8]) {
    let request = [0; HEADER];
    if is_answer(&request, bytes) {
        assert!(bytes.len() >= HEADER && bytes[..2] == [0, 0]);
        let _ = is_truncated(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_identifier_and_the_operation_of_its_request() {
        let mut request = [0; HEADER];
        request[..3].copy_from_slice(&[1, 2, 0b0010_1000]);
        let mut answer = request;
        assert!(!is_answer(&request, &answer), "that is a request");
        answer[2] |= 0b1000_0000;
        assert!(is_answer(&request, &answer));
        assert!(!is_answer(&request, &answer[..HEADER - 1]));
        answer[1] = 3;
        assert!(!is_answer(&request, &answer), "another identifier");
        answer[1..3].copy_from_slice(&[2, 0b1000_0000]);
        assert!(!is_answer(&request, &answer), "another operation");
    }
}
