//! `https_only` (beyond Unit).

use corral_testkit::{Address, Authority, Client, Daemon, Http2, Request, Response, TlsClient, daemon};
use serde_json::{Value, json};

const FIELD: &str = "Strict-Transport-Security";

/// A daemon with a listener that has TLS and one that has none, with the same `https_only`.
struct Site {
    daemon: Daemon,
    plain: Address,
    client: TlsClient,
}

impl Site {
    #[track_caller]
    fn start(https_only: Value) -> Self {
        let (daemon, plain, authority) =
            (daemon().start_unconfigured(), Address::fresh(), Authority::new("Testers"));
        let bundle = authority.server("a", &["localhost"]).pem();
        daemon.control().put_text("/certificates/a", &bundle).0.expect(200);
        let site = Self { daemon, plain, client: TlsClient::new(&authority) };
        site.configure(https_only);
        site
    }

    #[track_caller]
    fn configure(&self, https_only: Value) {
        let forwarded = json!({ "source": "127.0.0.0/8", "protocol": "X-Forwarded-Proto" });
        let listener = json!({ "pass": "routes", "https_only": https_only });
        let mut plain = listener.clone();
        (plain["forwarded"], plain["http2"]) = (forwarded, json!("prior_knowledge"));
        let mut secured = listener;
        secured["tls"] = json!({ "certificate": "a" });
        let config = json!({
            "listeners": { self.daemon.address().to_string(): secured, self.plain.to_string(): plain },
            "routes": [
                { "match": { "uri": "/own" }, "action": { "return": 200, "response_headers": { FIELD: "max-age=1" } } },
                { "match": { "uri": "/secure" }, "action": { "return": 200, "headers": "secure" } },
                { "match": { "uri": "/broken" }, "action": { "return": 503 } },
                { "match": { "uri": "/ok*" }, "action": { "return": 204 } },
            ],
            "settings": { "http": { "max_body_size": 1000 } },
        });
        self.daemon.control().put("/config", &config).expect_done();
    }

    /// The answer to a request without TLS whose head is this, with a line for each `\n`.
    #[track_caller]
    fn plain(&self, head: &str) -> Response {
        let mut client = Client::try_connect_http1(self.plain.socket()).expect("it listens");
        client.write(head.replace('\n', "\r\n") + "\r\n\r\n");
        let (method, _) = head.split_once(' ').expect("a request line");
        client.try_read_response_to(method).unwrap_or_else(|error| panic!("{head}: {error}"))
    }

    #[track_caller]
    fn check_redirected(&self, head: &str, location: &str) {
        self.plain(head).expect(308).expect_field("Location", location).expect_no_field(FIELD);
    }

    #[track_caller]
    fn secured(&self) -> Client {
        let client = Client::try_connect_http1(self.daemon.address().socket()).expect("it listens");
        client.into_tls(&self.client, "localhost").expect("a session")
    }
}

/// Options: listeners.{addr}.https_only
#[test]
fn clients_without_tls_are_sent_to_the_same_place_with_it() {
    let site = Site::start(json!(true));
    site.check_redirected("GET / HTTP/1.1\nHost: a.example", "https://a.example/");
    site.check_redirected("GET /own HTTP/1.1\nHost: A.example:8080", "https://a.example/own");
    site.check_redirected("HEAD /x HTTP/1.0\nHost: [::1]:80", "https://[::1]/x");
    site.check_redirected(
        "DELETE //other.example/ HTTP/1.1\nHost: a.example.",
        "https://a.example//other.example/",
    );
    let target = "/a%2Fb/../%41//c;d=1?q=%20&r=/?%00#";
    site.check_redirected(
        &format!("GET {target} HTTP/1.1\nHost: a.example"),
        &format!("https://a.example{}", target.trim_end_matches('#')),
    );
    let mut client = Client::try_connect_http1(site.plain.socket()).expect("it listens");
    for _ in 0..2 {
        let request = Request::post("/form?x").body("a=b");
        client
            .send(&request)
            .expect(308)
            .expect_field("Location", "https://localhost/form?x")
            .expect_body("");
    }
    let mut client = Http2::connect(site.plain.socket());
    client.get("/x?y").expect(308).expect_no_field(FIELD);
}

#[test]
fn a_request_that_does_not_say_where_it_wants_to_go_is_refused() {
    let site = Site::start(json!(true));
    for head in [
        "GET /ok HTTP/1.0",
        "GET /ok HTTP/1.1\nHost:",
        "GET /ok HTTP/1.1\nHost: a@b.example",
        "GET /ok HTTP/1.1\nHost: a.example#b",
        "GET /ok HTTP/1.1\nHost: a<b>",
        "GET /ok HTTP/1.1\nHost: [::1",
        "GET /ok HTTP/1.1\nHost: [x]",
        "GET /ok HTTP/1.1\nHost: a..b",
        "GET /ok HTTP/1.1\nHost: a%2eb",
        "GET /ok HTTP/1.1\nHost: a.example\nHost: b.example",
    ] {
        site.plain(head).expect(400).expect_no_field("Location").expect_no_field(FIELD);
    }
}

/// The options are about the server, and nothing on it.
#[test]
fn options_of_the_server_are_not_sent_elsewhere() {
    let site = Site::start(json!(true));
    site.plain("OPTIONS * HTTP/1.1\nHost: a.example").expect(200).expect_no_field("Location").expect_body("");
}

#[test]
fn a_body_that_is_refused_is_not_answered_without_tls() {
    let site = Site::start(json!(true));
    let head = "POST /ok HTTP/1.1\nHost: a.example\nContent-Length: 100000\nExpect: 100-continue";
    site.check_redirected(head, "https://a.example/ok");
}

#[test]
fn a_trusted_proxy_may_have_spoken_tls() {
    let site = Site::start(json!(true));
    let head = |scheme: &str| format!("GET /ok HTTP/1.1\nHost: a.example\nX-Forwarded-Proto: {scheme}");
    site.plain(&head("https")).expect(204).expect_field(FIELD, "max-age=31536000");
    site.check_redirected(&head("http"), "https://a.example/ok");
    site.check_redirected(&head("ftp"), "https://a.example/ok");
}

/// Options: listeners.{addr}.https_only.max_age, listeners.{addr}.https_only.include_subdomains,
/// listeners.{addr}.https_only.preload
#[test]
fn every_reply_with_tls_says_that_it_is_to_stay_so() {
    let site = Site::start(json!(true));
    let check = |target: &str, status, value: &str| {
        let reply = site.secured().get(target).expect(status);
        assert_eq!(reply.all(FIELD).collect::<Vec<_>>(), [value], "{target}");
    };
    let usual = "max-age=31536000";
    check("/ok", 204, usual);
    check("/broken", 503, usual);
    check("/nowhere", 404, usual);
    check("/own", 200, "max-age=1");
    let mut client = site.secured();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    client.read_response().expect(400).expect_field(FIELD, usual);
    let mut client = Http2::connect_tls(site.daemon.address().socket(), &site.client, "localhost");
    client.get("/ok").expect(204).expect_field("strict-transport-security", usual);
    site.configure(json!({ "max_age": 0 }));
    check("/ok", 204, "max-age=0");
    site.configure(json!({ "max_age": 31_536_001, "include_subdomains": true, "preload": true }));
    let all = "max-age=31536001; includeSubDomains; preload";
    check("/ok", 204, all);
    // The listener's words are more than the usual ones.
    check("/secure", 200, all);
    site.configure(json!(false));
    site.secured().get("/ok").expect(204).expect_no_field(FIELD);
    site.plain("GET /ok HTTP/1.1\nHost: a.example").expect(204).expect_no_field(FIELD);
}

/// Options: listeners.{addr}.https_only.port
#[test]
fn tls_may_be_at_another_port() {
    let site = Site::start(json!({ "port": 8443 }));
    site.check_redirected("GET /?x HTTP/1.1\nHost: a.example:80", "https://a.example:8443/?x");
    site.check_redirected("GET / HTTP/1.1\nHost: [2001:DB8::1]", "https://[2001:db8::1]:8443/");
    site.configure(json!({ "port": 443 }));
    site.check_redirected("GET /?x HTTP/1.1\nHost: a.example:80", "https://a.example/?x");
}

/// A client without TLS at a listener that speaks it has its own page.
#[test]
fn what_begins_without_tls_where_it_is_spoken_is_no_redirect() {
    let site = Site::start(json!(true));
    let mut client = Client::try_connect_http1(site.daemon.address().socket()).expect("it listens");
    client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.read_response().expect(400).expect_no_field(FIELD);
}
