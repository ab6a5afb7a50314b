//! Certificates that the controller has ordered and answers for those who issue them, as the router has them: kept for
//! the next router, which has to answer before a controller can tell it anything.

use std::collections::BTreeMap;

use corral_ipc::message::{Provision, ProvisionKind, Ticket, ToRouter};

/// All that is in force, by kind and name.
#[derive(Default)]
pub(crate) struct Provisions {
    contents: BTreeMap<(ProvisionKind, String), Vec<u8>>,
}

impl Provisions {
    /// Notes what counts from now on.
    pub(crate) fn take(&mut self, provisions: &[Provision]) {
        for Provision { kind, name, bytes } in provisions {
            let key = (*kind, name.clone());
            match bytes {
                Some(bytes) => drop(self.contents.insert(key, bytes.clone())),
                None => drop(self.contents.remove(&key)),
            }
        }
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

/// The ticket of a message whose answer is of no use to anybody.
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
        provisions.take(&[
            provision(ProvisionKind::HttpToken, "t", Some("1")),
            provision(ProvisionKind::Certificate, "a.example", Some("old")),
            provision(ProvisionKind::Certificate, "a.example", Some("new")),
            provision(ProvisionKind::TlsAlpn, "a.example", Some("2")),
        ]);
        provisions.take(&[provision(ProvisionKind::HttpToken, "t", None)]);
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
}
