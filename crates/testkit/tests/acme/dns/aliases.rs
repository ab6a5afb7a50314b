//! Names that are aliases: the record goes to another zone, which takes updates for many.

use corral_config::tls::DnsUpdate;
use corral_testkit::Named;

use super::{by_server, challenge, present, remove, words};

const NAME: &str = "_acme-challenge.www.example.org";
const ALIAS: &str = "_acme-challenge.www CNAME proof.example.net.";

#[test]
fn an_update_goes_where_the_alias_leads() {
    let server = Named::start(&["example.org", "example.net"], ALIAS);
    let how = challenge(DnsUpdate::Server(by_server(&server)), &server);
    present(&how, NAME, "one").unwrap();
    assert_eq!(server.texts("proof.example.net"), ["one"]);
    remove(&how, NAME, "one").unwrap();
    assert!(server.texts("proof.example.net").is_empty());
}

#[test]
fn a_zone_that_the_alias_leaves_is_told() {
    let server = Named::start(&["example.org", "example.net"], ALIAS);
    let mut how = by_server(&server);
    how.zone = Some("example.org".to_owned());
    let found = words(present(&challenge(DnsUpdate::Server(how), &server), NAME, "one"));
    assert!(found.starts_with("proof.example.net does not lie in the zone example.org"), "{found}");
}
