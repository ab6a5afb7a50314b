//! Certificates that the controller has ordered and answers for the authorities that issue them, as the router has
//! them: kept for the next router, which has to answer before a controller can tell it anything.

use std::collections::BTreeMap;

use corral_ipc::link::MAX_MESSAGE;
use corral_ipc::message::{IssuedSecret, IssuedSecretKind, Ticket, ToRouter};

/// All that is in force, by kind and name.
#[derive(Default)]
pub(crate) struct IssuedSecrets {
    contents: BTreeMap<(IssuedSecretKind, String), Vec<u8>>,
    /// Bytes of all names and contents.
    size: usize,
}

/// Bytes of all of them: more than the records that certificates come from may have, and less than what a router can be
/// told.
const MOST: usize = MAX_MESSAGE / 2;

/// More than a router could be told.
#[derive(Debug)]
pub(crate) struct TooManySecrets;

impl IssuedSecrets {
    /// Notes what counts from now on, up to the first that is too much.
    pub(crate) fn take(&mut self, secrets: &[IssuedSecret]) -> Result<(), TooManySecrets> {
        for IssuedSecret { kind, name, bytes } in secrets {
            let key = (*kind, name.clone());
            let size_with = |bytes: &Vec<u8>| name.len() + bytes.len();
            self.size -= self.contents.remove(&key).as_ref().map_or(0, size_with);
            let Some(bytes) = bytes else { continue };
            if self.size + size_with(bytes) > MOST {
                return Err(TooManySecrets);
            }
            self.size += size_with(bytes);
            self.contents.insert(key, bytes.clone());
        }
        Ok(())
    }

    /// All of them, for a router that has none; nothing where there are none.
    pub(crate) fn message(&self) -> Option<ToRouter> {
        let secret = |((kind, name), bytes): (&(IssuedSecretKind, String), &Vec<u8>)| IssuedSecret {
            kind: *kind,
            name: name.clone(),
            bytes: Some(bytes.clone()),
        };
        let secrets: Vec<_> = self.contents.iter().map(secret).collect();
        (!secrets.is_empty()).then_some(ToRouter::Provide { ticket: NOBODY, secrets })
    }
}

/// The ticket of a message whose answer is not used.
pub(crate) const NOBODY: Ticket = Ticket(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(kind: IssuedSecretKind, name: &str, bytes: Option<&str>) -> IssuedSecret {
        IssuedSecret { kind, name: name.to_owned(), bytes: bytes.map(|bytes| bytes.as_bytes().to_vec()) }
    }

    #[test]
    fn the_next_router_gets_what_is_in_force() {
        let mut secrets = IssuedSecrets::default();
        assert!(secrets.message().is_none());
        let first = secrets.take(&[
            secret(IssuedSecretKind::HttpToken, "t", Some("1")),
            secret(IssuedSecretKind::Certificate, "a.example", Some("older")),
            secret(IssuedSecretKind::Certificate, "a.example", Some("new")),
            secret(IssuedSecretKind::TlsAlpn, "a.example", Some("2")),
        ]);
        first.unwrap();
        secrets.take(&[secret(IssuedSecretKind::HttpToken, "t", None)]).unwrap();
        assert_eq!(secrets.size, 2 * "a.example".len() + 4);
        let Some(ToRouter::Provide { ticket, secrets: all }) = secrets.message() else {
            panic!("there are some");
        };
        assert_eq!(ticket, NOBODY);
        let expect = [
            secret(IssuedSecretKind::Certificate, "a.example", Some("new")),
            secret(IssuedSecretKind::TlsAlpn, "a.example", Some("2")),
        ];
        assert_eq!(all, expect);
    }

    #[test]
    fn there_are_no_more_than_a_router_can_be_told() {
        let large = "x".repeat(MOST / 2);
        let mut secrets = IssuedSecrets::default();
        for name in ["a", "a", "a"] {
            secrets.take(&[secret(IssuedSecretKind::HttpToken, name, Some(&large))]).unwrap();
        }
        secrets.take(&[secret(IssuedSecretKind::HttpToken, "b", Some(&large))]).unwrap_err();
        secrets.take(&[secret(IssuedSecretKind::HttpToken, "b", Some("small"))]).unwrap();
    }
}
