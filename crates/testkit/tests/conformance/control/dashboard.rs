//! `corral dashboard`: a way for a browser to a Unix socket, which no other page can use.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use corral_testkit::{
    Client, Daemon, Request, Response, Run, Signal, daemon, eventually, executables, signal,
};
use serde_json::json;
use tempfile::TempDir;

use crate::tool::Tool;

fn server() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

/// The command while it runs.
struct Passing {
    run: Run,
    address: SocketAddr,
}

impl Passing {
    fn start(server: &Daemon, arguments: &[&str]) -> Self {
        Self::spawn(
            server,
            Command::new(&executables().corral).args(["dashboard", "--no-open"]).args(arguments),
        )
    }

    fn spawn(server: &Daemon, command: &mut Command) -> Self {
        let mut run = Run::spawn(command.args(["--control", &server.control_address()]));
        run.expect_output("#token=");
        let text = run.stdout();
        let rest = text.strip_prefix("http://").unwrap_or_else(|| panic!("{text}"));
        let address = rest.split('/').next().and_then(|address| address.parse().ok()).expect("an address");
        Self { run, address }
    }

    fn token(&self) -> String {
        let text = self.run.stdout();
        let token = text.lines().find_map(|line| line.split_once("/dashboard/#token="));
        token.expect("a link").1.to_owned()
    }

    fn send(&self, request: &Request) -> Response {
        Client::try_connect_http1(self.address).expect("it listens").send(request)
    }

    /// A request as a page of this address sends it.
    fn own_page(&self, method: &str, path: &str) -> Request {
        let request = Request::new(method, path).field("Host", &self.address.to_string());
        request.field("Origin", &format!("http://{}", self.address)).field("Sec-Fetch-Site", "same-origin")
    }

    fn begin(&self, token: &str) -> Response {
        let body = json!({ "token": token }).to_string();
        self.send(
            &self.own_page("POST", "/dashboard/session").field("Content-Type", "application/json").body(body),
        )
    }

    fn session(&self) -> String {
        let begun = self.begin(&self.token()).expect(200);
        let cookie = begun.field("Set-Cookie").and_then(|cookie| cookie.split(';').next());
        cookie.expect("a cookie").to_owned()
    }
}

#[test]
fn a_browser_changes_the_configuration_by_it() {
    let server = server();
    let passing = Passing::start(&server, &[]);
    passing.send(&passing.own_page("GET", "/config")).expect(401);
    let cookie = passing.session();
    passing.begin(&passing.token()).expect(401);
    let ask = |method: &str, path: &str, body: &str| {
        passing.send(&passing.own_page(method, path).field("Cookie", &cookie).body(body))
    };
    assert_eq!(ask("GET", "/dashboard/session", "").expect(200).json()["access"], "full");
    ask("PUT", "/config/routes/0/action/return?comment=by%20a%20page", "204").expect(200);
    server.get("/").expect(204);
    let newest = server.control().get("/config/history").json()[0].clone();
    assert!(
        newest["author"].as_str().is_some_and(|author| author.ends_with(", by the dashboard")),
        "{newest}"
    );
    server.expect_log("by the dashboard: PUT /config/routes/0/action/return (by a page)");
    ask("DELETE", "/dashboard/session", "").expect(200);
    ask("GET", "/config", "").expect(401);
    passing.run.interrupt().expect_success();
}

#[test]
fn a_session_for_reading_and_a_port_of_one_s_choice() {
    let server = server();
    let port = corral_testkit::Address::fresh().socket().port().to_string();
    let passing = Passing::start(&server, &["--read-only", "--port", &port]);
    assert_eq!(passing.address.port().to_string(), port);
    let cookie = passing.session();
    let ask = |method: &str, path: &str| {
        passing.send(&passing.own_page(method, path).field("Cookie", &cookie).body(""))
    };
    ask("GET", "/config").expect(200);
    ask("DELETE", "/config").expect(403);
    ask("POST", "/dashboard/tokens").expect(403);
    let control = server.control_address();
    let taken = Tool::new(&["dashboard", "--no-open", "--port", &port, "--control", &control]);
    taken.fails(&["listen on 127.0.0.1"]);
}

#[test]
fn other_pages_and_names_get_nothing_by_it() {
    let server = server();
    let passing = Passing::start(&server, &[]);
    let cookie = passing.session();
    let own = passing.address.to_string();
    let port = passing.address.port();
    let with = |host: &str, fields: &[(&str, &str)]| {
        let request = Request::new("PUT", "/config").field("Host", host).field("Cookie", &cookie).body("{}");
        fields.iter().fold(request, |request, (name, value)| request.field(name, value))
    };
    for host in
        ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", &format!("127.0.0.1.nip.io:{port}")]
    {
        let origin = format!("http://{host}");
        passing.send(&with(host, &[("Origin", &origin), ("Sec-Fetch-Site", "same-origin")])).expect(403);
    }
    for fields in [
        &[("Origin", "http://evil.example")][..],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[],
        &[("Corral-Dashboard", "0")],
    ] {
        passing.send(&with(&own, fields)).expect(403);
    }
    // What only this command may say does not come from a browser; a connection's header takes nothing away.
    for fields in [
        &[("Corral-Dashboard", "")][..],
        &[("Connection", "Corral-Dashboard")],
        &[("Connection", "close, corral-dashboard"), ("Corral-Dashboard", "1")],
    ] {
        let request = Request::get("/config").field("Host", &own);
        let request = fields.iter().fold(request, |request, (name, value)| request.field(name, value));
        passing.send(&request).expect(401);
    }
    assert_eq!(server.control().get("/config/routes/0/action/return").json(), 200);
}

#[test]
fn the_stream_is_passed_on_and_ends_with_the_command() {
    let mut server = server();
    let passing = Passing::start(&server, &[]);
    let cookie = passing.session();
    let mut viewer = Client::try_connect_http1(passing.address).expect("it listens");
    viewer.write(passing.own_page("GET", "/events?log=info").field("Cookie", &cookie).encode());
    viewer.read_until_text("event: snapshot");
    viewer.read_until_text("event: change");
    // Another controller has other sessions; the command goes on.
    server.upgrade();
    viewer.read_to_end();
    passing.send(&passing.own_page("GET", "/config").field("Cookie", &cookie)).expect(401);
    passing
        .send(&passing.own_page("GET", "/dashboard/"))
        .field("Content-Security-Policy")
        .expect("the headers stay");
    server.stop();
    let away = passing.send(&passing.own_page("GET", "/config")).expect(502);
    assert!(away.json()["detail"].as_str().is_some_and(|detail| detail.contains("does not answer")));
    signal(passing.run.pid(), Signal::TERM);
    passing.run.ended().expect_success();
}

/// A program in the place of what opens browsers, which keeps what it is given.
struct Opener {
    folder: TempDir,
}

impl Opener {
    fn new() -> Self {
        Self::running(
            "cd \"$KEPT\" && echo \"$@\" > arguments && cp \"$1\" page && \
            stat -c %a \"$1\" \"${1%/*}\" > modes && touch done",
        )
    }

    fn running(commands: &str) -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let script = format!("#!/bin/sh\n{commands}\n");
        let path = folder.path().join("xdg-open");
        fs::write(&path, script).expect("write the program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("make it a program");
        fs::create_dir(folder.path().join("session")).expect("make a folder");
        Self { folder }
    }

    /// The command that has it open a browser.
    fn command(&self) -> Command {
        let mut command = Command::new(&executables().corral);
        let path = std::env::var("PATH").unwrap_or_default();
        command.arg("dashboard").env("DISPLAY", ":99").env("KEPT", self.folder.path());
        command.env("PATH", format!("{}:{path}", self.folder.path().display()));
        command.env("HOME", "/nonexistent").env("XDG_RUNTIME_DIR", self.folder.path().join("session"));
        command
    }

    fn kept(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("it is kept")
    }

    /// The page that was opened.
    fn page(&self) -> PathBuf {
        eventually("a browser is opened", || self.folder.path().join("done").exists().then_some(()));
        PathBuf::from(self.kept("arguments").trim_end())
    }
}

/// All users of the machine can read the arguments of its programs.
#[test]
fn a_browser_is_opened_without_the_token_in_its_arguments() {
    let (server, opener) = (server(), Opener::new());
    let passing = Passing::spawn(&server, &mut opener.command());
    let page = opener.page();
    let link = format!("http://{}/dashboard/#token={}", passing.address, passing.token());
    assert!(page.starts_with(opener.folder.path().join("session")), "{}", page.display());
    assert!(!opener.kept("arguments").contains(&passing.token()));
    assert!(opener.kept("page").contains(&format!("url={link}\"")), "{}", opener.kept("page"));
    assert_eq!(opener.kept("modes"), "600\n700\n");
    assert!(page.exists());
    passing.begin("a wrong token").expect(401);
    assert!(page.exists());
    passing.session();
    eventually("the page is gone", || (!page.exists()).then_some(()));
    passing.run.interrupt().expect_success();
}

#[test]
fn a_page_for_a_browser_goes_with_the_command() {
    for server in [server(), daemon().control_on_port().start_unconfigured()] {
        let opener = Opener::new();
        let passing = Passing::spawn(&server, &mut opener.command());
        let page = opener.page();
        assert!(page.exists());
        passing.run.interrupt().expect_success();
        assert!(!page.exists());
    }
    let (server, opener) = (server(), Opener::new());
    let passing = Passing::spawn(&server, &mut opener.command());
    let page = opener.page();
    // The terminal is closed.
    signal(passing.run.pid(), Signal::HUP);
    passing.run.ended().expect_success();
    assert!(!page.exists());
}

/// A browser that has the page would need it for a minute.
#[test]
fn a_command_for_a_port_ends_where_no_browser_was_opened() {
    let server = daemon().control_on_port().start_unconfigured();
    let opener = Opener::running("exit 3");
    Passing::spawn(&server, &mut opener.command()).run.ended().expect_success();
}

#[test]
fn a_control_api_on_a_port_needs_no_way_to_it() {
    let server = daemon().control_on_port().start_unconfigured();
    let control = server.control_address();
    let printed = Tool::new(&["dashboard", "--no-open", "--control", &control]).output();
    assert!(printed.starts_with(&format!("http://{control}/dashboard/#token=")), "{printed}");
    Tool::new(&["dashboard", "--port", "1", "--control", &control])
        .fails(&["--port is for a control API on a Unix socket"]);
    Tool::new(&["dashboard", "--control", "ssh://example.org/run/c.sock"]).fails(&["ssh -L"]);
    Tool::new(&["dashboard", "--control", "unix:/no/such/socket"]).fails(&["no daemon runs there"]);
}
