//! The first message of a client that speaks TLS with a server behind this one: the host name that it asks for (SNI).
//! Nothing of it is consumed.

use std::io;

use rustls::server::Acceptor;

use crate::io::ClientStream;

/// The type of the record that every client that speaks TLS begins with.
const HANDSHAKE_RECORD: u8 = 0x16;

/// Bytes of the first message, with the heads of its records: those with keys for future computers have two thousand.
const MAX_HELLO: usize = 16 * 1024;

/// The beginning of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientHello {
    /// A message that asks for this host name, in lower case.
    Named(Box<str>),
    /// A message without a host name.
    Nameless,
    /// Something else than a message of TLS.
    Other,
}

/// Why it is not known what a connection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HelloError {
    #[error("the client has left")]
    Gone,
    #[error("the first message of TLS has more than {MAX_HELLO} bytes")]
    TooLong,
}

/// Reads the first message behind what is in `input`, where it stays. Cancel safe.
pub(crate) async fn read_hello(
    stream: &mut ClientStream,
    input: &mut Vec<u8>,
) -> Result<ClientHello, HelloError> {
    let mut reader = HelloReader::default();
    loop {
        if let Some(hello) = reader.look(input)? {
            return Ok(hello);
        }
        if !matches!(stream.read(input).await, Ok(n) if n > 0) {
            return Err(HelloError::Gone);
        }
    }
}

/// Looks at the beginning of a connection as it comes.
#[derive(Default)]
struct HelloReader {
    acceptor: Acceptor,
    n_seen: usize,
}

impl HelloReader {
    /// Looks at all that has come so far; none while that is not enough.
    fn look(&mut self, input: &[u8]) -> Result<Option<ClientHello>, HelloError> {
        if input.first().is_some_and(|kind| *kind != HANDSHAKE_RECORD) {
            return Ok(Some(ClientHello::Other));
        }
        while let Some(mut unseen) = input.get(self.n_seen..).filter(|unseen| !unseen.is_empty()) {
            let before = unseen.len();
            if self.acceptor.read_tls(&mut unseen as &mut dyn io::Read).is_err() {
                return Err(HelloError::TooLong);
            }
            self.n_seen += before - unseen.len();
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => return Ok(Some(hello_of(accepted.client_hello().server_name()))),
                Err(_) => return Ok(Some(ClientHello::Other)),
            }
        }
        if input.len() > MAX_HELLO { Err(HelloError::TooLong) } else { Ok(None) }
    }
}

fn hello_of(name: Option<&str>) -> ClientHello {
    name.map_or(ClientHello::Nameless, |name| ClientHello::Named(name.to_ascii_lowercase().into()))
}

/// Whatever a client begins with, it makes no difference in which pieces that comes.
pub(crate) fn fuzz_server_name(data: &[u8]) {
    let data = &data[..data.len().min(MAX_HELLO)];
    let whole = HelloReader::default().look(data);
    let mut reader = HelloReader::default();
    let pieces = (0..=data.len()).map(|len| reader.look(&data[..len])).find(|found| *found != Ok(None));
    let pieces = pieces.unwrap_or(Ok(None));
    // Of what comes behind the message, nothing is looked at when it comes later.
    assert!(whole == pieces || whole == Ok(Some(ClientHello::Other)), "{whole:?} and {pieces:?}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First messages as OpenSSL sends them.
    const HELLOS: [&[u8]; 3] = [
        include_bytes!("../../../../fuzz/seeds/router_hello/challenge"),
        include_bytes!("../../../../fuzz/seeds/router_hello/challenge_tls12"),
        include_bytes!("../../../../fuzz/seeds/router_hello/two_records"),
    ];

    fn look(input: &[u8]) -> Result<Option<ClientHello>, HelloError> {
        HelloReader::default().look(input)
    }

    #[test]
    fn names_are_found() {
        for hello in HELLOS {
            assert!(matches!(look(hello), Ok(Some(ClientHello::Named(_)))), "{:?}", look(hello));
            fuzz_server_name(hello);
        }
    }

    /// The same message in records of one byte each.
    #[test]
    fn a_message_may_come_in_small_records() {
        let hello = HELLOS[0];
        let pieces = hello[5..].iter().flat_map(|byte| [HANDSHAKE_RECORD, 3, 1, 0, 1, *byte]);
        let pieces: Vec<_> = pieces.collect();
        assert_eq!(look(&pieces), look(hello));
        fuzz_server_name(&pieces);
    }

    #[test]
    fn other_beginnings_are_not_waited_for() {
        for other in [&b"S"[..], b"GET / HTTP/1.1", b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"\x80\x2e\x01"] {
            assert_eq!(look(other), Ok(Some(ClientHello::Other)), "{other:?}");
        }
        assert_eq!(look(b""), Ok(None));
        assert_eq!(look(b"\x16\x03\x01"), Ok(None));
        assert_eq!(
            look(b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"),
            Ok(Some(ClientHello::Other)),
            "another message"
        );
    }

    #[test]
    fn a_message_without_end_is_given_up() {
        let mut input = vec![];
        let record = [&[HANDSHAKE_RECORD, 3, 1, 0x20, 0][..], &[1, 0, 0xff, 0xff], &[0; 0x1ffc]].concat();
        let mut reader = HelloReader::default();
        let found = (0..10).find_map(|_| {
            input.extend_from_slice(&record);
            reader.look(&input).err()
        });
        assert_eq!(found, Some(HelloError::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            fuzz_server_name(&bytes);
            fuzz_server_name(&[&b"\x16\x03\x01"[..], &bytes].concat());
        }

        #[test]
        fn damaged_messages_are_safe(
            idx in 0..HELLOS.len(),
            at in 0..400usize,
            byte in any::<u8>(),
            cut in 0..600usize,
        ) {
            let mut hello = HELLOS[idx].to_vec();
            hello.truncate(cut);
            if let Some(damaged) = hello.get_mut(at) {
                *damaged = byte;
            }
            fuzz_server_name(&hello);
        }
    }
}
