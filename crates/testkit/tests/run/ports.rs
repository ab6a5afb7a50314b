//! Ports that others have, and the words by which people name a port.

use std::net::TcpListener;

use corral_testkit::{Address, Client, Run, eventually, site};

use crate::terminal::Terminal;

#[test]
fn without_a_terminal_the_holder_of_a_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let address = taken.local_addr().expect("it is bound");
    let site = site().file("index.html", "page");
    let root = site.root();
    let holder = format!("(process {})", std::process::id());
    let port = address.port().to_string();
    for option in [["--listen", &*address.to_string()], ["--port", &port], ["-p", &port]] {
        let all = [&["run", &*root], &option[..]].concat();
        let words = [&*address.to_string(), "is in use by", &holder, "choose another port with --listen"];
        Run::to_end(&all).expect_one_line(&words);
    }
    // What is only printed needs no port.
    Run::to_end(&["run", &root, "--port", &port, "--print-config"]).expect_success();
}

#[test]
fn at_a_terminal_the_next_free_port_is_taken() {
    let site = site().file("index.html", "page");
    let root = site.root();
    let listen = Address::fresh();
    let address = listen.socket();
    let _taken = TcpListener::bind(address).expect("bind the port");
    let mut terminal = Terminal::command(listen, &["run", &root, "--listen", &address.to_string()]);
    terminal.expect(&format!("note: {address} is in use by "));
    terminal.expect(&format!("(process {})", std::process::id()));
    terminal.expect("; the site is served at port ");
    let shown = terminal.shown();
    let url = eventually("it is announced", || {
        let shown = terminal.shown();
        let url =
            shown.lines().filter_map(|line| line.split("http://").nth(1)).next_back()?.trim().to_owned();
        Some(url)
    });
    let other: std::net::SocketAddr = url.parse().unwrap_or_else(|_| panic!("{url:?}\n{shown}"));
    assert!(other.port() > address.port() && other.ip() == address.ip());
    Client::connect(other).get("/").expect(200).expect_body("page");
}

#[test]
fn a_port_and_an_address_are_named_as_elsewhere() {
    let site = site().file("index.html", "page");
    let root = site.root();
    let printed = |more: &[&str]| {
        let all = [&["run", &*root, "--print-config"], more].concat();
        let printed = Run::to_end(&all).expect_success().stdout;
        let config: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        config["listeners"].as_object().expect("an object").keys().next().expect("there is one").clone()
    };
    for (more, expected) in [
        (&["--port", "9000"][..], "127.0.0.1:9000"),
        (&["-p", "9000", "--host", "0.0.0.0"], "*:9000"),
        (&["--host", "localhost"], "127.0.0.1:8080"),
        (&["--host", "::1", "--port", "9000"], "[::1]:9000"),
        (&["--bind", "*:9000"], "*:9000"),
        (&["--reload"], "127.0.0.1:8080"),
    ] {
        assert_eq!(printed(more), expected, "{more:?}");
    }
    for (more, words) in [
        (&["--port", "0"][..], "--port"),
        (&["--port", "70000"], "--port"),
        (&["--port", "1", "--listen", "2"], "cannot be used with"),
        (&["--host", "example.com"], "is not an address"),
        (&["--workers", "0"], "name 1 or more"),
        (&["--workers", "x"], "a number of processes"),
        (&["--domain", "localhost"], "use --https"),
        (&["--domain", "shop.local"], "--https --domain shop.local"),
        (&["--domain", "127.0.0.1"], "use --https"),
    ] {
        let outcome = Run::to_end(&[&["run", &*root, "--print-config"], more].concat());
        assert!(!outcome.status.success() && outcome.stderr.contains(words), "{more:?}: {outcome:?}");
    }
}
