//! A browser that warns of `corral run --https` before `corral trust`, and does not afterwards.

use std::net::{Ipv4Addr, SocketAddr};

use corral_testkit::port_of_all_addresses;

use crate::home::{Home, PAGE};

/// The page as Chromium shows it, in a profile and with a store of certificates of its own; or the words of its error.
#[track_caller]
fn open(home: &Home, url: &str, profile: &str) -> Result<String, String> {
    let output = home
        .command("timeout")
        .args(["90", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", home.path(profile).display()))
        .args(["--dump-dom", url])
        .output()
        .expect("timeout(1) is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (page, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "chromium: scripts/setup test\n{errors}");
    if page.is_empty() { Err(errors) } else { Ok(page) }
}

#[track_caller]
fn expect_page(home: &Home, url: &str, profile: &str) {
    let body = PAGE.split_once("</title>").expect("there is a title").1;
    let shown = open(home, url, profile).expect("it is shown");
    assert!(shown.contains(body), "{shown}");
}

#[track_caller]
fn expect_warning(home: &Home, url: &str, profile: &str) {
    let words = open(home, url, profile).expect_err("it is not shown");
    assert!(words.contains("ERR_CERT_AUTHORITY_INVALID"), "{words}");
}

fn localhost() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port_of_all_addresses()))
}

#[test]
fn chromium_warns_until_the_authority_is_trusted() {
    let (home, listen) = (Home::new(), localhost());
    let url = format!("https://localhost:{}/", listen.port());
    let _run = home.serve(listen, &[]);
    expect_warning(&home, &url, "before");
    home.to_end(&["trust", "--no-system"]).expect_success();
    expect_page(&home, &url, "after");
    home.to_end(&["trust", "--no-system", "--remove"]).expect_success();
    expect_warning(&home, &url, "removed");
}

/// The store is made before the browser would make it.
#[test]
fn a_browser_that_was_never_started_trusts_the_authority_as_well() {
    let (home, listen) = (Home::new(), localhost());
    let outcome = home.to_end(&["trust", "--no-system"]).expect_success();
    assert!(outcome.stdout.contains(".pki/nssdb: trusted from now on"), "{outcome:?}");
    let _run = home.serve(listen, &["--domain", "shop.localhost"]);
    let port = listen.port();
    for (n, host) in ["localhost", "127.0.0.1", "shop.localhost"].iter().enumerate() {
        expect_page(&home, &format!("https://{host}:{port}/"), &format!("profile{n}"));
    }
}
