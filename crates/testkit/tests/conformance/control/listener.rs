//! `settings.dashboard`: the control API and its page at a listener, for clients that show a token.

use corral_testkit::{
    Address, Authority, Client, Daemon, Request, Response, TlsClient, daemon, eventually, open_descriptors,
};
use serde_json::{Value, json};

const TOKEN: &str = "the-token-of-the-operators";
const READ_TOKEN: &str = "the-token-of-those-that-look";

/// A daemon with such a listener, and further options of it.
fn start(options: Value) -> (Daemon, Address) {
    let address = Address::fresh();
    let mut dashboard = json!({ "listen": address.to_string(), "token": TOKEN, "read_token": READ_TOKEN });
    dashboard.as_object_mut().expect("an object").extend(options.as_object().cloned().unwrap_or_default());
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    server.control().put("/config/settings", &json!({ "dashboard": dashboard })).expect_done();
    (server, address)
}

/// Programs speak HTTP/1.
#[track_caller]
fn send(address: Address, request: &Request) -> Response {
    Client::try_connect_http1(address.socket()).expect("it listens").send(request)
}

fn with_token(request: Request, token: &str) -> Request {
    request.field("Authorization", &format!("Bearer {token}"))
}

/// Options: settings.dashboard, settings.dashboard.listen, settings.dashboard.token, settings.dashboard.read_token
#[test]
fn tokens_decide_what_clients_may_do() {
    let (server, address) = start(json!({}));
    send(address, &Request::get("/dashboard/")).expect(200).expect_field("X-Frame-Options", "DENY");
    for target in ["/", "/config", "/status", "/metrics", "/events", "/nothing"] {
        send(address, &Request::get(target)).expect(401);
        send(address, &with_token(Request::get(target), "wrong-token-of-some-length")).expect(401);
    }
    let put = || Request::new("PUT", "/config/routes/0/action/return").body("202");
    send(address, &put()).expect(401);
    send(address, &put().field("Corral-Dashboard", "1")).expect(401);
    send(address, &with_token(put(), READ_TOKEN)).expect(403);
    server.get("/").expect(204);
    send(address, &with_token(put(), TOKEN)).expect(200);
    server.get("/").expect(202);
    server.expect_log("by the control token from 127.");
}

/// A token that shows everything must not show the one that permits everything.
#[test]
fn clients_that_may_only_look_see_no_token() {
    let (_server, address) = start(json!({}));
    let get = |target: &str, token: &str| {
        send(address, &with_token(Request::get(target), token)).expect(200).text()
    };
    for target in [
        "/",
        "/config",
        "/config/settings",
        "/config/settings/dashboard/token",
        "/config/history/2",
        "/config/history",
    ] {
        let seen = get(target, READ_TOKEN);
        assert!(!seen.contains(TOKEN) && !seen.contains(READ_TOKEN), "{target}: {seen}");
    }
    assert!(get("/config", READ_TOKEN).contains("(hidden)"));
    assert!(get("/config", TOKEN).contains(TOKEN));
}

/// The cookie of a new session.
#[track_caller]
fn sign_in(address: Address) -> String {
    let request = Request::post("/dashboard/session")
        .field("Host", &address.to_string())
        .field("Origin", &format!("http://{address}"))
        .field("Content-Type", "application/json")
        .body(json!({ "token": TOKEN }).to_string());
    let reply = send(address, &request).expect(200);
    reply.field("Set-Cookie").expect("a session").split(';').next().expect("a value").to_owned()
}

#[test]
fn sessions_last_until_a_token_changes() {
    let (server, address) = start(json!({}));
    let cookie = sign_in(address);
    let look = || {
        let request = Request::get("/status").field("Host", &address.to_string()).field("Cookie", &cookie);
        send(address, &request).status
    };
    assert_eq!(look(), 200);
    // A change of something else leaves it, another token ends it.
    server.control().put("/config/routes/0/action/return", &json!(202)).expect_done();
    assert_eq!(look(), 200);
    server
        .control()
        .put("/config/settings/dashboard/token", &json!("another-token-of-operators"))
        .expect_done();
    eventually("the session has ended", || (look() == 401).then_some(()));
    server.control().delete("/config/settings").expect_done();
    eventually("nothing listens", || Client::try_connect_http1(address.socket()).is_err().then_some(()));
}

/// Nothing asks between the two changes, and the tokens are the same in the end.
#[test]
fn sessions_do_not_come_back_with_their_tokens() {
    let (server, address) = start(json!({}));
    let settings = server.control().get("/config/settings").json();
    let token = Request::new("PUT", "/config/settings/dashboard/token");
    for change in
        [Request::new("DELETE", "/config/settings/dashboard"), token.body("\"another-token-of-operators\"")]
    {
        let cookie = sign_in(address);
        server.control().send(&change).expect_done();
        server.control().put("/config/settings", &settings).expect_done();
        eventually("it listens again", || {
            let mut client = Client::try_connect_http1(address.socket()).ok()?;
            let request = Request::get("/status").field("Host", &address.to_string());
            assert_eq!(client.send(&request.field("Cookie", &cookie)).status, 401);
            Some(())
        });
        send(address, &with_token(Request::get("/status"), TOKEN)).expect(200);
    }
}

#[test]
fn streams_end_with_the_token_that_they_have_shown() {
    let (server, address) = start(json!({}));
    let watch = |token: &str| {
        let mut viewer = Client::try_connect_http1(address.socket()).expect("it listens");
        viewer.write(with_token(Request::get("/events"), token).field("Host", "x").encode());
        viewer.read_until_text("event: snapshot");
        viewer
    };
    let mut viewers = [watch(TOKEN), watch(READ_TOKEN)];
    server.control().put("/config/routes/0/action/return", &json!(202)).expect_done();
    for _ in 0..3 {
        viewers.iter_mut().for_each(|viewer| drop(viewer.read_until_text("event: change")));
    }
    server
        .control()
        .put("/config/settings/dashboard/token", &json!("another-token-of-operators"))
        .expect_done();
    const END_OF_BODY: &str = "\r\n0\r\n\r\n";
    viewers.iter_mut().for_each(|viewer| drop(viewer.read_until_text(END_OF_BODY)));
    let mut viewer = watch("another-token-of-operators");
    server.control().delete("/config/settings/dashboard").expect_done();
    viewer.read_until_text(END_OF_BODY);
}

/// Options: settings.dashboard.tls
#[test]
fn it_speaks_tls() {
    let (server, authority) = (daemon().start_unconfigured(), Authority::new("Testers"));
    let pem = authority.server("a", &["localhost"]).pem();
    server.control().put_text("/certificates/a", &pem).0.expect(200);
    let address = Address::fresh();
    let dashboard = json!({ "listen": address.to_string(), "token": TOKEN, "tls": { "certificate": "a" } });
    server.control().put("/config", &json!({ "settings": { "dashboard": dashboard } })).expect_done();
    let tls = TlsClient::new(&authority);
    let mut client = Client::connect_tls(address.socket(), &tls, "localhost");
    let sign_in = Request::post("/dashboard/session")
        .field("Origin", "https://localhost")
        .field("Host", "localhost")
        .body(json!({ "token": TOKEN }).to_string());
    let reply = client.send(&sign_in).expect(200);
    let cookie = reply.field("Set-Cookie").expect("a session");
    assert!(cookie.ends_with("; Secure") && cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
}

/// A viewer that reads nothing takes one of its places, and keeps no client of the site waiting.
#[test]
fn viewers_are_bounded_and_keep_nobody_waiting() {
    let (server, address) = start(json!({}));
    let viewers: Vec<_> = (0..80)
        .map(|_| {
            let mut viewer = Client::try_connect_http1(address.socket()).expect("it listens");
            viewer.write(with_token(Request::get("/events"), TOKEN).field("Host", "x").encode());
            viewer
        })
        .collect();
    for _ in 0..20 {
        server.get("/").expect(204);
    }
    server.control().get("/status/requests").0.expect(200);
    drop(viewers);
    eventually("there are places again", || {
        (send(address, &with_token(Request::get("/status"), TOKEN)).status == 200).then_some(())
    });
}

/// A request whose client has left keeps its place until the control process has closed its socket.
#[test]
fn clients_that_come_and_go_pile_nothing_up() {
    let (server, address) = start(json!({}));
    let [router] = server.expect_processes("router", 1)[..] else { unreachable!("there is one") };
    let n_open = || open_descriptors(router).expect("it runs");
    let n_before = n_open();
    for _ in 0..500 {
        let mut client = Client::try_connect_http1(address.socket()).expect("it listens");
        client.write(with_token(Request::get("/status"), TOKEN).field("Host", "x").encode());
    }
    eventually("their sockets are closed", || (n_open() <= n_before + 4).then_some(()));
    eventually("there are places", || {
        (send(address, &with_token(Request::get("/status"), TOKEN)).status == 200).then_some(())
    });
    server.get("/").expect(204);
}
