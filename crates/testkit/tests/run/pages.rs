//! Errors as browsers see them: explained at a terminal, and nowhere else.

use corral_testkit::{Request, Site, site};

use crate::serve;
use crate::terminal::Terminal;

const PYTHON: &str = "def app(environ, start_response):\n    if environ['PATH_INFO'] == '/good':\n        \
    start_response('200 OK', [])\n        return [b'good']\n    raise ValueError('<no> such thing')\n";

fn broken() -> [(&'static str, Site); 4] {
    [
        ("ValueError: &lt;no&gt; such thing", site().file("app.py", PYTHON)),
        ("no such thing", site().file("config.ru", "run ->(env) { raise 'no such thing' }")),
        ("no such thing", site().file("app.psgi", "sub { die 'no such thing' }")),
        ("no_such_function", site().file("index.php", "<?php no_such_function();")),
    ]
}

#[test]
fn at_a_terminal_a_page_shows_the_trace() {
    for (words, site) in broken() {
        let mut terminal = Terminal::start(&site, &["--workers", "1"]);
        let mut client = terminal.client();
        let page = client.get("/").expect(500);
        page.expect_field("Content-Type", "text/html; charset=utf-8")
            .expect_text("500 Internal Server Error")
            .expect_text(words);
    }
}

/// Another request's words would lead a developer astray.
#[test]
fn a_page_shows_the_lines_of_its_own_request() {
    let app = "def app(environ, start_response):\n    if environ['PATH_INFO'] == '/silent':\n        \
        start_response('500 Internal Server Error', [])\n        return []\n    raise ValueError('of the first')\n";
    let site = site().file("app.py", app);
    let mut terminal = Terminal::start(&site, &["--workers", "1"]);
    let mut client = terminal.client();
    client.get("/").expect(500).expect_text("of the first");
    let page = client.get("/silent").expect(500).text();
    assert!(!page.contains("of the first"), "{page}");
    client.get("/").expect(500).expect_text("of the first");
}

/// A page of another site whose name was made to lead here would read what it is told.
#[test]
fn only_hosts_of_this_machine_are_told() {
    let site = site().file("app.py", PYTHON);
    let mut terminal = Terminal::start(&site, &["--workers", "1"]);
    let mut client = terminal.client();
    let mut page = |host: &str| client.send(&Request::get("/").field("Host", host)).expect(500).text();
    for host in ["localhost", "LOCALHOST:80", "shop.localhost.", "127.0.0.1:8080", "[::1]:8080"] {
        assert!(page(host).contains("ValueError"), "{host}");
    }
    for host in
        ["example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1", "[::2]", "0.0.0.0"]
    {
        let page = page(host);
        assert!(!page.contains("ValueError") && !page.contains("printed"), "{host}: {page}");
    }
}

#[test]
fn without_a_terminal_nothing_is_told() {
    for (words, site) in broken() {
        let (_run, mut client) = serve(&site, &["--workers", "1", "--watch"]);
        let page = client.get("/").expect(500).text();
        assert!(!page.contains(words) && !page.contains("printed"), "{page}");
    }
}

#[test]
fn a_missing_page_is_named() {
    let site = site().file("index.html", "page");
    let mut terminal = Terminal::start(&site, &[]);
    let mut client = terminal.client();
    client.get("/").expect(200).expect_body("page");
    client.get("/none%3Cb%3E").expect(404).expect_text("Nothing is served at <code>/none&lt;b&gt;</code>");
    client.send(&Request::new("HEAD", "/none")).expect(404);
}

/// A server at a terminal watches its files by default.
#[test]
fn at_a_terminal_changes_are_followed() {
    let site = site().file("app.py", PYTHON);
    let mut terminal = Terminal::start(&site, &["--workers", "1"]);
    let mut client = terminal.client();
    client.get("/good").expect(200).expect_body("good");
    site.write("app.py", PYTHON.replace("b'good'", "b'better'"));
    client.get("/good").expect(200).expect_body("better");
    terminal.expect("app.py has changed");
    site.write("app.py", "def app(:\n");
    client.get("/good").expect(200).expect_body("better");
    terminal.expect("SyntaxError");
}
