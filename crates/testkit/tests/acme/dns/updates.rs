//! Dynamic updates, which BIND takes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use corral_config::tls::{DnsAlgorithm, DnsChallenge, DnsServer, DnsUpdate};
use corral_testkit::{Address, Named};

use super::{by_server, challenge, key, present, remove, words};

const ZONE: &str = "example.org";
const NAME: &str = "_acme-challenge.example.org";

fn started() -> Named {
    Named::start(&[ZONE], "")
}

/// An update of a server that is changed before.
fn changed(server: &Named, change: impl FnOnce(&mut DnsServer)) -> DnsChallenge {
    let mut how = by_server(server);
    change(&mut how);
    challenge(DnsUpdate::Server(how), server)
}

#[test]
fn a_record_is_added_and_removed() {
    let server = started();
    let how = changed(&server, |_| ());
    present(&how, NAME, "one").unwrap();
    assert_eq!(server.texts(NAME), ["one"]);
    remove(&how, NAME, "one").unwrap();
    assert!(server.texts(NAME).is_empty());
    remove(&how, NAME, "one").unwrap();
}

/// A name and the wildcard below it are proved by the same name, at the same time.
#[test]
fn values_of_one_name_leave_each_other_alone() {
    let server = started();
    let how = changed(&server, |_| ());
    present(&how, NAME, "one").unwrap();
    present(&how, NAME, "two").unwrap();
    assert_eq!(server.texts(NAME), ["one", "two"]);
    present(&how, NAME, "two").unwrap();
    remove(&how, NAME, "one").unwrap();
    assert_eq!(server.texts(NAME), ["two"]);
}

#[test]
fn the_zone_is_found_or_named() {
    let deep = "_acme-challenge.a.b.sub.example.org";
    let server = Named::start(&[ZONE, "sub.example.org"], "");
    let found = changed(&server, |_| ());
    present(&found, deep, "one").unwrap();
    assert_eq!(server.texts(deep), ["one"]);
    let named = changed(&server, |how| how.zone = Some("sub.example.org".to_owned()));
    present(&named, deep, "two").unwrap();
    assert_eq!(server.texts(deep), ["one", "two"]);
}

/// The same key by its other algorithms would be another key for BIND.
#[test]
fn a_key_that_the_server_does_not_know_is_named() {
    let server = started();
    let unknown = changed(&server, |how| how.key = Some(key(("stranger", Named::KEY.1))));
    let found = words(present(&unknown, NAME, "one"));
    assert!(found.contains("does not know the key \"stranger\" with this algorithm (BADKEY)"), "{found}");
    let algorithm = changed(&server, |how| {
        how.key.as_mut().unwrap().algorithm = DnsAlgorithm::HmacSha512;
    });
    let found = words(present(&algorithm, NAME, "one"));
    assert!(found.contains("does not know the key \"corral\" with this algorithm (BADKEY)"), "{found}");
}

#[test]
fn another_secret_is_told() {
    let server = started();
    let how = changed(&server, |how| how.key = Some(key((Named::KEY.0, Named::KEY_WITHOUT_RIGHTS.1))));
    let found = words(present(&how, NAME, "one"));
    assert!(found.contains("has another secret for the key \"corral\" (BADSIG); copy \"secret\""), "{found}");
    assert!(server.texts(NAME).is_empty());
}

#[test]
fn a_refusal_says_who_lacks_permission() {
    let server = started();
    let guest = changed(&server, |how| how.key = Some(key(Named::KEY_WITHOUT_RIGHTS)));
    let found = words(present(&guest, NAME, "one"));
    assert!(
        found.contains("refuses to change the zone example.org; permit it there for the key \"guest\""),
        "{found}"
    );
    let nobody = changed(&server, |how| how.key = None);
    let found = words(present(&nobody, NAME, "one"));
    assert!(found.contains("permit it there for this machine, or set \"key\""), "{found}");
}

#[test]
fn a_zone_that_the_server_does_not_have_is_told() {
    let server = started();
    let found = words(present(&changed(&server, |_| ()), "_acme-challenge.example.net", "one"));
    assert!(found.contains("has no zone for _acme-challenge.example.net"), "{found}");
    let elsewhere = changed(&server, |how| how.zone = Some("example.net".to_owned()));
    let found = words(present(&elsewhere, "_acme-challenge.example.net", "one"));
    assert!(found.contains("is not the primary server of a zone example.net (NOTAUTH)"), "{found}");
    let found = words(present(&elsewhere, NAME, "one"));
    assert!(found.starts_with("_acme-challenge.example.org does not lie in the zone example.net"), "{found}");
}

#[test]
fn a_server_that_is_away_is_told_at_once() {
    let server = started();
    let address = Address::fresh().to_string();
    let how = changed(&server, |how| how.address.clone_from(&address));
    let begin = Instant::now();
    let found = words(present(&how, NAME, "one"));
    assert!(
        found.starts_with(&format!("the DNS server {address} does not answer; check its address")),
        "{found}"
    );
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    let unknown = changed(&server, |how| how.address = "nowhere.invalid:53".to_owned());
    let found = words(present(&unknown, NAME, "one"));
    assert!(found.starts_with("look up the DNS server nowhere.invalid:53: "), "{found}");
}

#[test]
fn a_server_that_takes_no_datagrams_is_asked_by_tcp() {
    let server = started();
    let front = by_tcp_alone(server.address());
    let how = changed(&server, |how| how.address = front.to_string());
    present(&how, NAME, "one").unwrap();
    assert_eq!(server.texts(NAME), ["one"]);
}

/// Answers with many values do not fit into a datagram.
#[test]
fn a_record_is_seen_among_many() {
    let server = started();
    let how = changed(&server, |_| ());
    let values: Vec<_> = (10..30).map(|n| format!("{n}{}", "x".repeat(41))).collect();
    for value in &values {
        present(&how, NAME, value).unwrap();
    }
    assert_eq!(server.texts(NAME), values);
}

/// The zone has a server more, which is dead: orders wait no longer than the time that is set, and none fails.
#[test]
fn a_dead_server_of_the_zone_only_costs_time() {
    // An address for documentation (RFC 5737).
    let server = Named::start(&[ZONE], "@ NS dead\ndead A 192.0.2.1");
    let mut how = changed(&server, |_| ());
    how.timeout = Duration::from_secs(1);
    present(&how, NAME, "one").unwrap();
    assert_eq!(server.texts(NAME), ["one"]);
}

#[test]
fn the_delay_comes_after_the_record() {
    let server = started();
    let mut how = changed(&server, |_| ());
    (how.timeout, how.delay) = (Duration::ZERO, Duration::from_secs(1));
    let begin = Instant::now();
    present(&how, NAME, "one").unwrap();
    assert!(begin.elapsed() >= how.delay);
}

/// Passes connections on to a server, and has no port for datagrams.
fn by_tcp_alone(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(Address::fresh().socket()).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let _ = relay(client, server);
        }
    });
    address
}

/// One message there and one back.
fn relay(mut client: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    server.write_all(&message(&mut client)?)?;
    client.write_all(&message(&mut server)?)
}

fn message(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    from.read_exact(&mut message)?;
    Ok([&length[..], &message].concat())
}
