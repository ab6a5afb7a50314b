//! The treatment of the document that main has at the start.

use corral_ipc::message::ChangeOrigin;

use super::fake_main::Event;
use super::{Server, Setup};

const DEFAULT: &str = r#"{"listeners":{},"routes":[],"applications":{}}"#;

/// `applied` are the documents that main is asked to put in force, and `running` is the one that
/// the API shows then.
#[track_caller]
fn check(document: Option<&'static str>, origin: ChangeOrigin, applied: &[&str], running: &str) {
    let server = Server::start_unheard(Setup { document, origin, ..Setup::default() });
    for (idx, expect) in applied.iter().enumerate() {
        let Event::Apply { generation, document, store, .. } = server.event() else {
            panic!("an Apply is missing")
        };
        assert_eq!((generation, document.as_str(), store), (8 + idx as u64, *expect, false));
    }
    assert_eq!(server.event(), Event::Listening);
    server.check("GET", "/config", "", "200 OK", running);
}

#[test]
fn the_stored_document_is_put_in_force() {
    let stored = r#"{"routes":[{"action":{"return":200}}]}"#;
    check(Some(stored), ChangeOrigin::Stored, &[stored], stored);
}

#[test]
fn nothing_stored_means_empty() {
    check(None, ChangeOrigin::Stored, &[DEFAULT], DEFAULT);
}

#[test]
fn what_cannot_be_used_is_replaced_by_an_empty_configuration_and_kept() {
    let check = |document: &'static str, tried: bool| {
        let server = Server::start_unheard(Setup { document: Some(document), ..Setup::default() });
        if tried {
            assert!(matches!(server.event(), Event::Apply { store: false, .. }));
        }
        assert_eq!(server.event(), Event::KeepAside);
        let Event::Apply { document, store, .. } = server.event() else { panic!("an Apply is missing") };
        assert_eq!((document.as_str(), store), (DEFAULT, false));
        assert_eq!(server.event(), Event::Listening);
        server.check("GET", "/config", "", "200 OK", DEFAULT);
    };
    check("{\"routes\":", false);
    check(r#"{"nonsense":1}"#, false);
    check(r#"{"access_log":"/refuse"}"#, true);
}

#[test]
fn a_listener_that_is_wrong_is_left_out() {
    let stored = r#"{"listeners":{"*:80":{"pass":"routes"},"x~1/":{"pass":"routes"}},"routes":[]}"#;
    let server = Server::start_unheard(Setup { document: Some(stored), ..Setup::default() });
    assert_eq!(server.event(), Event::KeepAside);
    let running = r#"{"listeners":{"*:80":{"pass":"routes"}},"routes":[]}"#;
    assert!(matches!(server.event(), Event::Apply { document, store: false, .. } if document == running));
    assert_eq!(server.event(), Event::Listening);
    server.check("GET", "/config", "", "200 OK", running);
}

#[test]
fn an_application_without_its_module_is_left_to_main() {
    let stored = r#"{"applications":{"a":{"type":"php 5","root":"/"}}}"#;
    check(Some(stored), ChangeOrigin::Stored, &[stored], stored);
}

#[test]
fn what_is_in_force_is_taken_over() {
    check(Some(r#"{"access_log":"/x"}"#), ChangeOrigin::InForce, &[], r#"{"access_log":"/x"}"#);
    check(None, ChangeOrigin::InForce, &[], DEFAULT);
}
