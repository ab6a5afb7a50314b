//! Certificates that the controller has ordered and answers for the authorities that issue them, as the router has
//! them: kept for the next router, which has to answer before a controller can tell it anything.

use std::collections::BTreeMap;

use corral_ipc::link::MAX_MESSAGE;
use corral_ipc::message::{Provision, ProvisionKind, Ticket, ToRouter};

/// All that is in force, by kind and name.
#[derive(Default)]
pub(crate) struct Provisions {
    contents: BTreeMap<(ProvisionKind, String), Vec<u8>>,
    /// Bytes of all names and contents.
    size: usize,
}

/// Bytes of all of them: more than the records that certificates come from may have, and less than what a router can be
/// told.
const MOST: usize = MAX_MESSAGE / 2;

/// More than a router could be told.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Provisions {
    /// Notes what counts from now on, up to the first that is too much.
    pub(crate) fn take(&mut self, provisions: &[Provision]) -> Result<(), TooMany> {
        for Provision { kind, name, bytes } in provisions {
            let key = (*kind, name.clone());
            let size_with = |bytes: &Vec<u8>| name.len() + bytes.len();
            self.size -= self.contents.remove(&key).as_ref().map_or(0, size_with);
            let Some(bytes) = bytes else { continue };
            if self.size + size_with(bytes) > MOST {
                return Err(TooMany);
            }
            self.size += size_with(bytes);
            self.contents.insert(key, bytes.clone());
        }
        Ok(())
    }

    /// All of them, for a router that has none; nothing where there are none.
    pub(crate) fn message(&self) -> Option<ToRouter> {
        let provision = |((kind, name), bytes): (&(ProvisionKind, String), &Vec<u8>)| Provision {
            kind: *kind,
            name: name.clone(),
            bytes: Some(bytes.clone()),
        };
        let provisions: Vec<_> = self.contents.iter().map(provision).collect();
        (!provisions.is_empty()).then_some(ToRouter::Provide { ticket: NOBODY, provisions })
    }
}

/// The ticket of a message whose answer is not used.
pub(crate) const NOBODY: Ticket = Ticket(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn provision(kind: ProvisionKind, name: &str, bytes: Option<&str>) -> Provision {
        Provision { kind, name: name.to_owned(), bytes: bytes.map(|bytes| bytes.as_bytes().to_vec()) }
    }

    #[test]
    fn the_next_router_gets_what_is_in_force() {
        let mut provisions = Provisions::default();
        assert!(provisions.message().is_none());
        let first = provisions.take(&[
            provision(ProvisionKind::HttpToken, "t", Some("1")),
            provision(ProvisionKind::Certificate, "a.example", Some("older")),
            provision(ProvisionKind::Certificate, "a.example", Some("new")),
            provision(ProvisionKind::TlsAlpn, "a.example", Some("2")),
        ]);
        first.unwrap();
        provisions.take(&[provision(ProvisionKind::HttpToken, "t", None)]).unwrap();
        assert_eq!(provisions.size, 2 * "a.example".len() + 4);
        let Some(ToRouter::Provide { ticket, provisions: all }) = provisions.message() else {
            panic!("there are some");
        };
        assert_eq!(ticket, NOBODY);
        let expect = [
            provision(ProvisionKind::Certificate, "a.example", Some("new")),
            provision(ProvisionKind::TlsAlpn, "a.example", Some("2")),
        ];
        assert_eq!(all, expect);
    }

    #[test]
    fn there_are_no_more_than_a_router_can_be_told() {
        let large = "x".repeat(MOST / 2);
        let mut provisions = Provisions::default();
        for name in ["a", "a", "a"] {
            provisions.take(&[provision(ProvisionKind::HttpToken, name, Some(&large))]).unwrap();
        }
        provisions.take(&[provision(ProvisionKind::HttpToken, "b", Some(&large))]).unwrap_err();
        provisions.take(&[provision(ProvisionKind::HttpToken, "b", Some("small"))]).unwrap();
    }
}
