//! Programs that change the DNS.

use std::path::Path;
use std::time::{Duration, Instant};

use corral_acme::dns;
use corral_config::tls::{DnsChallenge, DnsUpdate};
use corral_testkit::pebble::{Options, Pebble};
use corral_testkit::{Named, PATIENCE, Site, eventually, is_alive, site, texts_at};

use super::{TIMEOUT, challenge, present, record, remove, run, words};

const NAME: &str = "_acme-challenge.example.org";

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acme").join(name);
    path.to_str().expect("a path of text").to_owned()
}

/// A program without regard to what the zone's servers have.
fn program(words: &[&str]) -> DnsChallenge {
    DnsChallenge {
        by: DnsUpdate::Program(words.iter().map(|word| (*word).to_owned()).collect()),
        resolver: None,
        timeout: Duration::ZERO,
        delay: Duration::ZERO,
    }
}

/// A shell script, with the path of a file that it may write as its first argument.
fn script(text: &str) -> (Site, DnsChallenge) {
    let site = site().file("out", "").file("hook.sh", text);
    let how = program(&["/bin/sh", &path(&site, "hook.sh"), &path(&site, "out")]);
    (site, how)
}

fn path(site: &Site, name: &str) -> String {
    site.path(name).to_str().expect("a path of text").to_owned()
}

fn written(site: &Site) -> String {
    std::fs::read_to_string(site.path("out")).expect("the file is there")
}

#[test]
fn a_program_tells_the_challenge_server() {
    let pebble = Pebble::start(Options::default());
    let dns = pebble.dns();
    let how = program(&[&fixture("hook.py"), &dns.management_url()]);
    present(&how, NAME, "one").unwrap();
    assert_eq!(texts_at(dns.address(), NAME), ["one"]);
    remove(&how, NAME, "one").unwrap();
    assert!(texts_at(dns.address(), NAME).is_empty());
}

#[test]
fn the_servers_of_the_zone_are_asked_for_what_a_program_has_added() {
    let server = Named::start(&["example.org"], "");
    let (ip, port) = (server.address().ip().to_string(), server.address().port().to_string());
    let words = [&fixture("nsupdate.sh"), &*ip, &port, Named::KEY.0, Named::KEY.1];
    let how = challenge(program(&words).by, &server);
    present(&how, NAME, "one").unwrap();
    assert_eq!(server.texts(NAME), ["one"]);
    remove(&how, NAME, "one").unwrap();
    assert!(server.texts(NAME).is_empty());
}

#[test]
fn a_record_that_no_server_has_is_told() {
    let server = Named::start(&["example.org"], "");
    let mut how = challenge(program(&["/bin/true"]).by, &server);
    how.timeout = Duration::from_secs(1);
    let found = words(present(&how, NAME, "one"));
    assert!(found.starts_with("after 1 s not all servers of the zone have the record of"), "{found}");
    assert!(found.contains("ns.example.org: not there yet"), "{found}");
    let found = words(present(&how, "_acme-challenge.example.net", "one"));
    assert!(
        found.starts_with("the servers of the zone of _acme-challenge.example.net are not known"),
        "{found}"
    );
}

#[test]
fn a_program_has_arguments_and_variables() {
    let (site, how) = script(
        "echo \"$@\" >\"$1\"; env | sort | grep -v -e ^PWD= -e ^_= >>\"$1\"; read x || echo no input >>\"$1\"",
    );
    present(&how, NAME, "one").unwrap();
    let path = std::env::var("PATH").expect("tests have a path");
    let expected = format!(
        "{} present {NAME} one\nCORRAL_ACME_ACTION=present\nCORRAL_ACME_RECORD={NAME}\nCORRAL_ACME_VALUE=one\n\
        PATH={path}\nno input\n",
        self::path(&site, "out")
    );
    // Shells add their own level.
    let found: String = written(&site)
        .lines()
        .filter(|line| !line.starts_with("SHLVL="))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_failure_has_the_words_of_the_program() {
    let (_site, how) = script("echo 'no such account' >&2; echo 'see the manual' >&2; exit 3");
    let found = words(present(&how, NAME, "one"));
    assert_eq!(found, "\"/bin/sh present\" has failed (exit status: 3): no such account; see the manual");
    let (_site, how) = script("kill -9 $$");
    let found = words(remove(&how, NAME, "one"));
    assert_eq!(
        found,
        "\"/bin/sh remove\" has failed (signal: 9 (SIGKILL)): its standard error does not say why"
    );
}

#[test]
fn a_program_that_cannot_start_is_named() {
    let found = words(present(&program(&["/no/such/hook"]), NAME, "one"));
    assert!(found.starts_with("the program /no/such/hook does not exist, or the interpreter"), "{found}");
    let site = site().file("hook", "#!/bin/sh\n");
    let hook = path(&site, "hook");
    let found = words(present(&program(&[&hook]), NAME, "one"));
    assert!(
        found.starts_with(&format!("the program {hook} may not be executed by the daemon's user (uid ")),
        "{found}"
    );
}

#[test]
fn a_program_that_hangs_is_killed_with_all_that_it_has_started() {
    let (site, mut how) = script("echo 'waiting for the API' >&2; sleep 1000 & echo $! >\"$1\"; sleep 1000");
    how.timeout = Duration::from_secs(1);
    let begin = Instant::now();
    let found = words(present(&how, NAME, "one"));
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    let expected =
        "\"/bin/sh present\" has not ended within 1 s and was killed: waiting for the API; if it needs";
    assert!(found.starts_with(expected), "{found}");
    expect_end_of_sleep(&site);
}

#[test]
fn a_program_is_killed_when_nobody_waits_any_more() {
    let (site, how) = script("sleep 1000 & echo $! >\"$1\"; sleep 1000");
    run(async {
        let record = record(NAME, "one");
        let waiting = dns::present(&how, &record);
        let started = async {
            while written(&site).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            outcome = waiting => panic!("{outcome:?}"),
            () = started => {}
        }
    });
    expect_end_of_sleep(&site);
}

/// The second process of the script.
#[track_caller]
fn expect_end_of_sleep(site: &Site) {
    let pid = written(site).trim().parse().expect("the script has written it");
    eventually("the whole group has ended", || (!is_alive(pid)).then_some(()));
}

/// A process that the program leaves behind holds its standard error open: its end is not waited for.
#[test]
fn a_program_may_leave_a_process_behind() {
    let (site, mut how) = script("sleep 1000 & echo $! >\"$1\"");
    how.timeout = TIMEOUT;
    let begin = Instant::now();
    remove(&how, NAME, "one").unwrap();
    assert!(begin.elapsed() < TIMEOUT / 2, "{:?}", begin.elapsed());
    let pid = written(&site).trim().parse().expect("the script has written it");
    assert!(is_alive(pid));
    corral_testkit::signal(pid, corral_testkit::Signal::KILL);
}
