//! A browser that warns of `corral run --https` before `corral trust`, and does not afterwards.

use corral_testkit::Run;
use std::net::{Ipv4Addr, SocketAddr};

use crate::home::{Home, PAGE};

/// The page as Chromium shows it, in a profile and with a store of certificates of its own.
#[track_caller]
fn open(home: &Home, url: &str, profile: &str) -> String {
    let output = home
        .command("timeout")
        .args(["90", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", home.path(profile).display()))
        .args(["--dump-dom", url])
        .output()
        .expect("timeout(1) is there");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "chromium: scripts/setup test\n{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn chromium_warns_until_the_authority_is_trusted() {
    let home = Home::new();
    let port = corral_testkit::port_of_all_addresses();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let url = format!("https://localhost:{port}/");
    let _run: Run = home.serve(listen, &[]);
    let shown = open(&home, &url, "before");
    assert!(shown.contains("ERR_CERT_AUTHORITY_INVALID") && !shown.contains("the page"), "{shown}");
    let outcome = home.to_end(&["trust", "--no-system"]).expect_success();
    assert!(outcome.stdout.contains(".pki/nssdb: trusted from now on"), "{outcome:?}");
    let shown = open(&home, &url, "after");
    let body = PAGE.split_once("</title>").expect("there is a title").1;
    assert!(shown.contains(body), "{shown}");
    home.to_end(&["trust", "--no-system", "--remove"]).expect_success();
    let shown = open(&home, &url, "removed");
    assert!(shown.contains("ERR_CERT_AUTHORITY_INVALID") && !shown.contains("the page"), "{shown}");
}
