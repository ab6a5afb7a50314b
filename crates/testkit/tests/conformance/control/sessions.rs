//! Sessions of browsers: begun with a token that works once, shown as a cookie, and of no use to pages of others.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Request, Response, daemon};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tool::text;

const FULL: &str = "0123456789abcdef-full";
const READ: &str = "0123456789abcdef-read";

/// A daemon whose control API is on a port, with both tokens.
struct House {
    server: Daemon,
    _folder: TempDir,
}

fn house() -> House {
    let folder = tempfile::tempdir().expect("make a folder");
    let mut builder = daemon().control_on_port();
    for (option, name, token) in
        [("--control-token-file", "full", FULL), ("--control-read-token-file", "read", READ)]
    {
        let path = folder.path().join(name);
        fs::write(&path, token).expect("write");
        builder = builder.argument(option).argument(text(&path));
    }
    House { server: builder.start_unconfigured(), _folder: folder }
}

impl House {
    fn host(&self) -> String {
        self.server.control_address()
    }

    /// A request as a page of the API's own origin sends it.
    fn own_page(&self, method: &str, path: &str) -> Request {
        let host = self.host();
        let request =
            Request::new(method, path).field("Host", &host).field("Content-Type", "application/json");
        request.field("Origin", &format!("http://{host}")).field("Sec-Fetch-Site", "same-origin")
    }

    fn send(&self, request: &Request) -> Response {
        self.server.control().send(request).0
    }

    fn begin(&self, token: &str) -> Response {
        self.send(&self.own_page("POST", "/dashboard/session").body(json!({ "token": token }).to_string()))
    }

    fn token(&self, query: &str) -> String {
        let request = Request::post(&format!("/dashboard/tokens{query}"));
        let reply = self.send(&request.field("Authorization", &format!("Bearer {FULL}"))).expect(200);
        reply.json()["token"].as_str().expect("a token").to_owned()
    }

    /// The cookie of a new session.
    fn session(&self, token: &str) -> String {
        let reply = self.begin(token).expect(200);
        let cookie = reply.field("Set-Cookie").expect("a cookie");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        cookie.split(';').next().expect("a value").to_owned()
    }

    fn config(&self) -> Value {
        let request = Request::get("/config").field("Authorization", &format!("Bearer {READ}"));
        self.send(&request).expect(200).json()
    }
}

#[test]
fn a_token_that_was_used_begins_nothing() {
    let house = house();
    let token = house.token("");
    let cookie = house.session(&token);
    house.begin(&token).expect(401);
    let put = house.own_page("PUT", "/config/routes").field("Cookie", &cookie).body("[]");
    house.send(&put).expect(200);
    house.send(&house.own_page("DELETE", "/dashboard/session").field("Cookie", &cookie)).expect(200);
    house.send(&house.own_page("GET", "/config").field("Cookie", &cookie)).expect(401);
    // Of many at once, one begins a session.
    let token = house.token("");
    let begun: usize = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| house.begin(&token).status)).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).filter(|status| *status == 200).count()
    });
    assert_eq!(begun, 1);
}

#[test]
fn guesses_are_slow_and_right_tokens_are_not() {
    let house = house();
    let begin = Instant::now();
    for guess in ["", "x", &FULL[..FULL.len() - 1], &format!("{FULL} ")] {
        let told = house.begin(guess).expect(401);
        assert!(told.field("Set-Cookie").is_none());
        assert_eq!(told.json()["error"], "Unauthorized.");
    }
    assert!(begin.elapsed() >= Duration::from_secs(4), "{:?}", begin.elapsed());
    for (token, access) in [(FULL, "full"), (READ, "read")] {
        assert_eq!(house.begin(token).expect(200).json()["access"], access);
    }
    // So many at once are not looked at, and nothing is kept of them.
    let statuses: Vec<u16> = thread::scope(|scope| {
        let all: Vec<_> = (0..60)
            .map(|n| {
                scope.spawn({
                    let house = &house;
                    move || house.begin(&format!("guess {n}")).status
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    assert!(statuses.iter().all(|status| matches!(status, 401 | 429)), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    house.begin(FULL).expect(200);
}

/// Clients that have shown nothing yet cost little.
#[test]
fn a_body_without_a_token_is_small() {
    let house = house();
    let long = format!("{{\"token\": \"{}\"}}", "x".repeat(4096));
    house.send(&house.own_page("POST", "/dashboard/session").body(&long)).expect(413);
    house.send(&house.own_page("GET", "/dashboard/").body("x")).expect(413);
    house.send(&house.own_page("PUT", "/config").body(&long)).expect(401);
    // More that is announced is not waited for, and nor is less that does not come.
    for (length, status) in [(64 << 20, 413), (40, 408)] {
        let request =
            house.own_page("POST", "/dashboard/session").field("Content-Length", &length.to_string());
        house.send(&request).expect(status);
    }
    house.begin(FULL).expect(200);
}

/// A child would have twelve hours of its own, and children as well.
#[test]
fn a_session_begins_no_other() {
    let house = house();
    let cookie = house.session(FULL);
    let request = house.own_page("POST", "/dashboard/tokens").field("Cookie", &cookie);
    house.send(&request).expect(403);
    let with_token = Request::post("/dashboard/tokens").field("Authorization", &format!("Bearer {FULL}"));
    house.send(&with_token).expect(200);
}

#[test]
fn a_session_for_reading_changes_nothing() {
    let house = house();
    let before = house.config();
    for token in [house.token("?access=read"), READ.to_owned()] {
        let cookie = house.session(&token);
        let ask = |method: &str, path: &str, body: &str| {
            house.send(&house.own_page(method, path).field("Cookie", &cookie).body(body)).status
        };
        for path in ["/config", "/status", "/config/history", "/metrics"] {
            assert_eq!(ask("GET", path, ""), 200, "{path}");
        }
        for (method, path, body) in [
            ("PUT", "/config", "{}"),
            ("DELETE", "/config", ""),
            ("POST", "/config/history/1", ""),
            ("PUT", "/js_modules/a", "export default {}"),
            ("POST", "/dashboard/tokens", ""),
            ("POST", "/control/applications/a/restart", ""),
            ("GET", "/control/applications/a/restart", ""),
            ("GET", "/control/applications/a/exec", ""),
        ] {
            assert_eq!(ask(method, path, body), 403, "{method} {path}");
        }
        let state = house.own_page("GET", "/dashboard/session").field("Cookie", &cookie);
        assert_eq!(house.send(&state).expect(200).json()["access"], "read");
        assert_eq!(ask("DELETE", "/dashboard/session", ""), 200);
    }
    assert_eq!(house.config(), before);
}

/// Fields of pages that are not the API's own, though the browser sends the cookie along.
#[test]
fn pages_of_other_origins_have_no_use_for_a_cookie() {
    let house = house();
    let cookie = house.session(FULL);
    let before = house.config();
    let host = house.host();
    let pages: [&[(&str, &str)]; 7] = [
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:1")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "same-origin"), ("Origin", "http://evil.example")],
        &[("Origin", "http://evil.example"), ("X-Requested-With", "x"), ("Content-Type", "application/json")],
    ];
    let with = |method: &str, path: &str, page: &[(&str, &str)]| {
        let request = Request::new(method, path).field("Host", &host).field("Cookie", &cookie);
        page.iter().fold(request, |request, (name, value)| request.field(name, value))
    };
    for page in pages {
        for (method, path, body) in [
            ("GET", "/config", ""),
            ("PUT", "/config", "{}"),
            ("POST", "/config/routes", "{}"),
            ("DELETE", "/config", ""),
        ] {
            house.send(&with(method, path, page).body(body)).expect(403);
        }
        house.send(&with("DELETE", "/dashboard/session", page)).expect(403);
        house
            .send(&with("POST", "/dashboard/session", page).body(json!({ "token": FULL }).to_string()))
            .expect(403);
    }
    // Nothing says that a page of this origin wants the change.
    for page in [&[][..], &[("Sec-Fetch-Site", "none")]] {
        house.send(&with("GET", "/config", page)).expect(200);
        house.send(&with("PUT", "/config", page).body("{}")).expect(403);
        house.send(&with("POST", "/config/routes", page).body("{}")).expect(403);
    }
    assert_eq!(house.config(), before);
    house.send(&house.own_page("GET", "/config").field("Cookie", &cookie)).expect(200);
}

#[test]
fn two_cookies_are_none() {
    let house = house();
    let (one, other) = (house.session(FULL), house.session(FULL));
    let (name, _) = one.split_once('=').expect("it is a cookie");
    for cookies in [
        vec![format!("{one}; {one}")],
        vec![format!("{one}; {other}")],
        vec![one.clone(), other],
        vec![format!("{name}=x; {one}")],
        vec![one.clone(), format!("{name}=")],
    ] {
        let request = cookies
            .iter()
            .fold(house.own_page("GET", "/config"), |request, cookie| request.field("Cookie", cookie));
        house.send(&request).expect(401);
    }
    let among_others = format!("a=1; {one}; corral_session=2; corral_session_1=3");
    house.send(&house.own_page("GET", "/config").field("Cookie", &among_others)).expect(200);
    let with_token =
        house.own_page("GET", "/config").field("Cookie", &one).field("Authorization", "Bearer x");
    house.send(&with_token).expect(401);
}

/// On a Unix socket `corral dashboard` passes on what browsers send.
#[test]
fn what_is_passed_on_from_a_browser_is_not_trusted() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let send = |request: &Request| {
        let mut client = Client::try_connect_unix(&server.control_socket()).expect("it listens");
        client.send(request)
    };
    let page = |method: &str, path: &str, host: &str| {
        let request = Request::new(method, path).field("Corral-Dashboard", "1").field("Host", host);
        request.field("Origin", &format!("http://{host}")).field("Sec-Fetch-Site", "same-origin")
    };
    for path in ["/config", "/status", "/events", "/control/applications/a/exec"] {
        send(&page("GET", path, "127.0.0.1:1")).expect(401);
    }
    send(&page("PUT", "/config", "127.0.0.1:1").body("{}")).expect(401);
    send(&page("POST", "/dashboard/tokens", "127.0.0.1:1")).expect(401);
    let token = server.control().send(&Request::post("/dashboard/tokens")).json()["token"].clone();
    let begin = json!({ "token": token }).to_string();
    // A name that was made to lead here.
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1.nip.io", "192.168.1.1", "localhost.evil.example"]
    {
        send(&page("POST", "/dashboard/session", host).body(&begin)).expect(403);
        send(&page("GET", "/dashboard/", host)).expect(403);
    }
    let begun = send(&page("POST", "/dashboard/session", "127.0.0.1:1").body(&begin)).expect(200);
    let cookie =
        begun.field("Set-Cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned();
    let change =
        page("PUT", "/config/routes/0/action/return", "127.0.0.1:1").field("Cookie", &cookie).body("204");
    send(&change).expect(200);
    let rebound =
        page("PUT", "/config/routes/0/action/return", "evil.example").field("Cookie", &cookie).body("205");
    send(&rebound).expect(403);
    server.get("/").expect(204);
    let author = server.control().get("/config/history").json()[0]["author"].clone();
    assert!(author.as_str().is_some_and(|author| author.ends_with(", by the dashboard")), "{author}");
    // The end of the controller is the end of its sessions.
    server.kill(server.expect_processes("controller", 1)[0]);
    send(&page("GET", "/config", "127.0.0.1:1").field("Cookie", &cookie)).expect(401);
}
