//! The certificate of `corral run --https` is renewed while the site is served: the clock of the daemon is moved.

use std::fs;
use std::process::Command;

use corral_testkit::{Address, Run, eventually};

use crate::home::Home;

/// The library that shows a program another time. It reads how far that is away from a file, again and again.
const LIBRARY: &str = "libfaketime.so.1";

/// When the served certificate ends, as openssl says it.
#[track_caller]
fn end_of_certificate(home: &Home, address: Address) -> String {
    let command = format!(
        "openssl s_client -connect {address} -servername localhost </dev/null 2>/dev/null | openssl x509 -noout -enddate"
    );
    let output = home.command("sh").args(["-c", &command]).output().expect("sh is there");
    String::from_utf8(output.stdout).expect("a date")
}

fn library() -> String {
    let output = Command::new("sh").args(["-c", &format!("ls /usr/lib/*/faketime/{LIBRARY}")]).output();
    let found = String::from_utf8(output.expect("sh is there").stdout).expect("a path");
    assert!(!found.is_empty(), "faketime is installed: scripts/setup test");
    found.trim().to_owned()
}

#[test]
fn a_certificate_that_nears_its_end_is_replaced_without_a_restart() {
    let (home, address) = (Home::new(), Address::fresh());
    let clock = home.path("clock");
    fs::write(&clock, "+0\n").expect("write the time");
    let listen = address.to_string();
    let mut command = home.corral(&["run", &home.site(), "--https", "--listen", &listen]);
    command
        .env("LD_PRELOAD", library())
        .env("FAKETIME_TIMESTAMP_FILE", &clock)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let mut run = Run::spawn(&mut command);
    run.expect_output(&format!("https://{address}"));
    let first = eventually("it shows a certificate", || {
        Some(end_of_certificate(&home, address)).filter(|end| end.contains("notAfter"))
    });
    fs::write(&clock, "+59d\n").expect("write the time");
    assert_eq!(end_of_certificate(&home, address), first);
    fs::write(&clock, "+61d\n").expect("write the time");
    eventually("it shows another certificate", || {
        Some(end_of_certificate(&home, address)).filter(|end| end.contains("notAfter") && *end != first)
    });
    assert!(run.interrupt().status.success());
}
