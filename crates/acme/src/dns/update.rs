//! A dynamic update (RFC 2136), signed by a key that both sides know (TSIG, RFC 8945).

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use corral_config::tls::{DnsAlgorithm, DnsKey};
use hickory_proto::op::update_message::{append, delete_by_rdata};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::rdata::tsig::{TSIG, TsigAlgorithm, TsigError};
use hickory_proto::rr::{Name, RData, Record, RecordSet, TSigVerifier, TSigner};

use super::ask::{exchange, invalid};
use super::error::DnsError;
use super::name::{parse, text};

/// Seconds that resolvers may keep the record.
const TTL: u32 = 60;

/// Seconds by which the clocks may differ (RFC 8945 section 10).
const FUDGE: u16 = 300;

/// The change of one value; others of the name stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordChange {
    Add,
    Remove,
}

/// The update as it is sent.
struct UpdateRequest {
    bytes: Vec<u8>,
    /// Checks the answer's signature.
    verifier: Option<TSigVerifier>,
}

/// Changes a zone at its server. The name must lie in the zone.
pub(super) async fn send(
    server: SocketAddr,
    key: Option<&DnsKey>,
    zone: &Name,
    name: &Name,
    value: &str,
    change: RecordChange,
) -> Result<(), DnsError> {
    let signer = key.map(signer).transpose()?;
    let request = request(zone, name, value, change, signer.as_ref(), now())
        .map_err(|reason| DnsError::Name { name: text(name), reason })?;
    let answer = exchange(server, &request.bytes).await?;
    let key = key.map(|key| key.name.as_str());
    UpdateQuestion { server, zone, key }.judge(&answer, request.verifier)
}

fn signer(key: &DnsKey) -> Result<TSigner, DnsError> {
    let algorithm = match key.algorithm {
        DnsAlgorithm::HmacSha256 => TsigAlgorithm::HmacSha256,
        DnsAlgorithm::HmacSha384 => TsigAlgorithm::HmacSha384,
        DnsAlgorithm::HmacSha512 => TsigAlgorithm::HmacSha512,
    };
    TSigner::new(key.secret.clone(), algorithm, parse(&key.name)?, FUDGE)
        .map_err(|error| DnsError::Name { name: key.name.clone(), reason: error.to_string() })
}

fn request(
    zone: &Name,
    name: &Name,
    value: &str,
    change: RecordChange,
    signer: Option<&TSigner>,
    now: u64,
) -> Result<UpdateRequest, String> {
    let text = RData::TXT(TXT::new(vec![value.to_owned()]));
    let record = RecordSet::from(Record::from_rdata(name.clone(), TTL, text));
    let mut message = match change {
        RecordChange::Add => append(record, zone.clone(), false, false),
        RecordChange::Remove => delete_by_rdata(record, zone.clone(), false),
    };
    let verifier = match signer {
        Some(signer) => message.finalize(signer, now).map_err(|error| error.to_string())?,
        None => None,
    };
    Ok(UpdateRequest { bytes: message.to_vec().map_err(|error| error.to_string())?, verifier })
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The server that was asked to change a zone.
struct UpdateQuestion<'a> {
    server: SocketAddr,
    zone: &'a Name,
    /// The name of the key that has signed.
    key: Option<&'a str>,
}

impl UpdateQuestion<'_> {
    /// Reads an answer. A success counts only with a signature by the key.
    fn judge(&self, answer: &[u8], verifier: Option<TSigVerifier>) -> Result<(), DnsError> {
        let message = Message::from_vec(answer).map_err(|error| invalid(self.server, &error))?;
        match message.metadata.response_code {
            ResponseCode::NoError => self.verify(answer, verifier),
            code => Err(self.refusal(code, message.signature().map(|record| &record.data))),
        }
    }

    fn verify(&self, answer: &[u8], verifier: Option<TSigVerifier>) -> Result<(), DnsError> {
        let Some(mut verifier) = verifier else { return Ok(()) };
        let verified = verifier.verify(answer);
        verified.map(drop).map_err(|error| DnsError::Unsigned {
            server: self.server,
            key: self.key.unwrap_or_default().to_owned(),
            reason: error.to_string(),
        })
    }

    /// The error of a response code; signatures do not matter, as nothing has changed anyway.
    fn refusal(&self, code: ResponseCode, tsig: Option<&TSIG>) -> DnsError {
        let server = self.server;
        let (zone, key) = (text(self.zone), self.key.unwrap_or_default().to_owned());
        match (code, tsig.and_then(|tsig| tsig.error.map(|error| (tsig, error)))) {
            (ResponseCode::NotAuth, Some((_, TsigError::BadKey))) => DnsError::UnknownKey { server, key },
            (ResponseCode::NotAuth, Some((_, TsigError::BadSig))) => DnsError::WrongSecret { server, key },
            (ResponseCode::NotAuth, Some((tsig, TsigError::BadTime))) => {
                DnsError::Clocks { server, difference: difference(tsig) }
            }
            (ResponseCode::NotAuth, _) => DnsError::NotAuthoritative { server, zone },
            (ResponseCode::Refused, _) => {
                let who = match self.key {
                    Some(key) => format!("the key \"{key}\""),
                    None => "this machine, or set \"key\"".to_owned(),
                };
                DnsError::Refused { server, zone, who }
            }
            (code, _) => DnsError::Code { server, zone, code: code.to_string() },
        }
    }
}

/// How far the clocks are apart; the server's stands in 48 bits (RFC 8945 section 5.2.3).
fn difference(tsig: &TSIG) -> String {
    let Ok(bytes) = <[u8; 6]>::try_from(tsig.other.as_slice()) else { return String::new() };
    let theirs = bytes.iter().fold(0_u64, |time, byte| time << 8 | u64::from(*byte));
    let side = if theirs < tsig.time { "behind" } else { "ahead" };
    format!(": the server's is {} s {side}", theirs.abs_diff(tsig.time))
}

/// Bytes of a server that does not know the key: they are never a success.
pub(super) fn fuzz(bytes: &[u8]) {
    let zone = Name::root();
    let key = DnsKey { name: "key".to_owned(), algorithm: DnsAlgorithm::HmacSha256, secret: vec![7; 32] };
    let signer = signer(&key).expect("a valid key");
    let request = request(&zone, &zone, "value", RecordChange::Add, Some(&signer), 1_700_000_000);
    let verifier = request.expect("a valid request").verifier;
    let asked =
        UpdateQuestion { server: SocketAddr::from(([192, 0, 2, 1], 53)), zone: &zone, key: Some("key") };
    assert!(asked.judge(bytes, verifier).is_err());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_difference_of_clocks_is_told() {
        let told = |time, other: &[u8]| {
            difference(&TSIG::new(TsigAlgorithm::HmacSha256, time, 300, vec![], 1, None, other.to_vec()))
        };
        assert_eq!(told(1000, &[0, 0, 0, 0, 0, 100]), ": the server's is 900 s behind");
        assert_eq!(told(1, &[0, 0, 0, 0, 1, 1]), ": the server's is 256 s ahead");
        assert_eq!(told(1, &[1]), "");
    }

    /// A success as anybody may send it, without a signature.
    #[test]
    fn a_success_without_signature_counts_only_without_key() {
        let zone = Name::root();
        let success = Message::response(1, hickory_proto::op::OpCode::Update).to_vec().unwrap();
        fuzz(&success);
        let asked = UpdateQuestion { server: SocketAddr::from(([192, 0, 2, 1], 53)), zone: &zone, key: None };
        assert!(asked.judge(&success, None).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            crate::dns::fuzz_answer(&bytes);
        }

        #[test]
        fn broken_messages_are_judged(at in 0_usize..40, byte: u8, code in 0_u16..24) {
            let mut message = Message::response(0, hickory_proto::op::OpCode::Update);
            message.metadata.response_code = ResponseCode::from(0, (code % 16) as u8);
            let tsig = TSIG::new(
                TsigAlgorithm::HmacSha256, 1, 300, vec![1; 32], 0, Some(TsigError::from(code)), vec![0; 6],
            );
            let record = hickory_proto::rr::rdata::tsig::make_tsig_record(parse("key").unwrap(), tsig);
            message.set_signature(Box::new(record));
            let mut bytes = message.to_vec().unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            crate::dns::fuzz_answer(&bytes);
        }
    }
}
