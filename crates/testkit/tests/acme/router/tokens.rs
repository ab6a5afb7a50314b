//! `http-01`: authorities validate a name by a request (RFC 8555 section 8.3).

use corral_testkit::{Client, Http2, Request};
use serde_json::json;

use super::{Issuer, token};

/// As long as those of authorities.
const TOKEN: &str = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";

const PATH: &str = "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";

const ANSWER: &str =
    "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI";

impl Issuer {
    fn plain(&self) -> Client {
        Client::try_connect_http1(self.plain.socket()).expect("it listens")
    }

    /// Refuses every client, at the listener without TLS.
    #[track_caller]
    fn close_doors(&self) {
        let mut config = self.daemon.control().get("/config").0.json();
        let listener = &mut config["listeners"][self.plain.to_string()];
        let users = self.daemon.path("tmp/users");
        std::fs::write(&users, "").expect("the folder is there");
        listener["authenticate"] = json!({ "basic": { "file": users } });
        listener["https_only"] = json!(true);
        config["routes"] = json!([{ "action": { "return": 503 } }]);
        self.daemon.control().put("/config", &config).expect_done();
    }
}

#[test]
fn tokens_are_answered_whatever_the_configuration_says() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    issuer.plain().get(PATH).expect(204);
    issuer.issue("a.example");
    issuer.provide(vec![token(TOKEN, Some(ANSWER)), token("empty", Some(""))]);
    let secured = Request::get(PATH);
    for is_closed in [false, true] {
        if is_closed {
            issuer.close_doors();
        }
        let mut client = issuer.plain();
        for _ in 0..2 {
            client
                .get(PATH)
                .expect(200)
                .expect_body(ANSWER)
                .expect_field("Content-Type", "application/octet-stream");
        }
        let request = Request::new("HEAD", PATH).encode();
        client.write(request);
        client.try_read_response_to("HEAD").unwrap().expect(200).expect_body("");
        client.get("/.well-known/acme-challenge/empty").expect(200).expect_body("");
        let mut client = Http2::connect(issuer.plain.socket());
        client.get(PATH).expect(200).expect_body(ANSWER);
        let mut client = issuer.connect(&issuer.client(), "a.example").expect("there is a certificate");
        client.send(&secured).expect(200).expect_body(ANSWER);
    }
}

#[test]
fn everything_else_goes_its_usual_way() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    issuer.provide(vec![token(TOKEN, Some(ANSWER))]);
    let mut client = issuer.plain();
    client.send(&Request::post(PATH).body("x")).expect(204);
    for target in [
        "/.well-known/acme-challenge/",
        "/.well-known/acme-challenge",
        "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX",
        "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0/",
        "/.well-known/acme-challenge/x/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0",
        "/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0",
        "/.well-known/acme-challenge/%ff%fe",
        "/.Well-Known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0",
    ] {
        client.get(target).expect(204);
    }
    issuer.provide(vec![token(TOKEN, None)]);
    client.get(PATH).expect(204);
}
