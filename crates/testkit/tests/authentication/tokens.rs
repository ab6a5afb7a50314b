//! `jwt`: tokens of every algorithm, those that people try, and servers of keys that rotate, die and hang.

use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Authority, Client, Daemon, Origin, Request, daemon, eventually, site};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Key, sign};
use crate::{as_bearer, endless, guarded};

fn good() -> Value {
    json!({ "sub": "alice", "exp": 600 })
}

/// The refusal as the client sees it: the status, and the words of the challenge.
#[track_caller]
fn refusal(server: &Daemon, request: &Request) -> (u16, String) {
    let reply = server.send(request);
    (reply.status, reply.field("WWW-Authenticate").unwrap_or_default().to_owned())
}

/// Options: …action.authenticate.jwt, …action.authenticate.jwt.key
#[test]
fn tokens_of_every_algorithm_are_verified() {
    for algorithm in ["RS256", "RS384", "RS512", "PS256", "PS512", "ES256", "ES384", "EdDSA"] {
        let key = Key::new(algorithm);
        let server = guarded(&json!({ "jwt": { "key": key.public() } }));
        let token = key.token(&good(), None);
        let reply = server.send(&as_bearer("/", &token));
        assert_eq!((reply.status, reply.text()), (200, "hello alice".to_owned()), "{algorithm}");
        let other = Key::new(algorithm).token(&good(), None);
        let (status, words) = refusal(&server, &as_bearer("/", &other));
        assert_eq!(status, 401, "{algorithm}");
        assert!(
            words.contains(
                "error=\"invalid_token\", error_description=\"the signature of the token is wrong\""
            ),
            "{words}"
        );
        assert_eq!(refusal(&server, &Request::get("/")), (401, "Bearer realm=\"Restricted\"".to_owned()));
        // Tokens are as good as passwords.
        assert!(!server.log().contains(&other), "{}", server.log());
    }
}

/// Options: …action.authenticate.jwt.secret, …action.authenticate.jwt.algorithms, …action.authenticate.jwt.realm
#[test]
fn secrets_are_for_hmac_alone() {
    let site = site().file("secret", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n");
    let path = site.path("secret");
    let secret = path.to_str().unwrap();
    let server =
        guarded(&json!({ "jwt": { "secret": secret, "algorithms": ["HS256", "HS384"], "realm": "API" } }));
    for (algorithm, status) in [("HS256", 200), ("HS384", 200), ("HS512", 401)] {
        server.send(&as_bearer("/", &sign(algorithm, secret, &good(), None))).expect(status);
    }
    let (_, words) = refusal(&server, &as_bearer("/", &sign("HS512", secret, &good(), None)));
    assert!(
        words.starts_with("Bearer realm=\"API\"") && words.contains("algorithm of the token is not accepted"),
        "{words}"
    );
    // A public key, taken for a secret because the token says so.
    let key = Key::new("RS256");
    let server = guarded(&json!({ "jwt": { "key": key.public() } }));
    let site = corral_testkit::site().file("confused", std::fs::read(key.public()).unwrap());
    let script = "import sys,hmac,hashlib,base64,json\nk=open(sys.argv[1],'rb').read()\nb=lambda d: \
        base64.urlsafe_b64encode(d).rstrip(b'=')\n\
        m=b(json.dumps({'alg':sys.argv[2]}).encode())+b'.'+b(json.dumps({'sub':'x','exp':9999999999}).encode())\n\
        s=b(hmac.new(k,m,hashlib.sha256).digest()) if sys.argv[2]=='HS256' else b''\nprint((m+b'.'+s).decode())";
    for algorithm in ["HS256", "none", "None"] {
        let forged = crate::output(
            "/usr/bin/python3",
            &["-c", script, site.path("confused").to_str().unwrap(), algorithm],
            "",
        );
        server.send(&as_bearer("/", &forged)).expect(401);
    }
}

/// Options: …action.authenticate.jwt.leeway, …action.authenticate.jwt.issuer, …action.authenticate.jwt.audience
#[test]
fn what_a_token_says_of_itself_is_heeded() {
    let key = Key::new("EdDSA");
    let jwt = json!({ "key": key.public(), "leeway": 30, "issuer": "https://id.example", "audience": ["shop", "api"] });
    let server = guarded(&json!({ "jwt": jwt }));
    let with = |changes: Value| {
        let mut claims = json!({ "sub": "a", "exp": 600, "iss": "https://id.example", "aud": "api" });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        as_bearer("/", &key.token(&claims, None))
    };
    server.send(&with(json!({}))).expect(200);
    server.send(&with(json!({ "exp": -10 }))).expect(200);
    server.send(&with(json!({ "aud": ["x", "shop"] }))).expect(200);
    for (changes, words) in [
        (json!({ "exp": -60 }), "the token has expired"),
        (json!({ "exp": null }), "the token lacks the claim exp"),
        (json!({ "nbf": 300 }), "the token is not valid yet"),
        (json!({ "iss": "https://evil.example" }), "the token is from another issuer"),
        (json!({ "iss": null }), "the token lacks the claim iss"),
        (json!({ "aud": "other" }), "the token is for another audience"),
        (json!({ "aud": null }), "the token lacks the claim aud"),
    ] {
        let (status, told) = refusal(&server, &with(changes));
        assert_eq!(status, 401, "{words}");
        assert!(told.ends_with(&format!("error=\"invalid_token\", error_description=\"{words}\"")), "{told}");
    }
    let (status, told) = refusal(&server, &as_bearer("/", "nonsense"));
    assert!(status == 401 && told.contains("the token is malformed"), "{told}");
}

/// Options: …action.authenticate.jwt.claims, …action.authenticate.jwt.user_claim, …action.authenticate.jwt.cookie,
/// …action.authenticate.jwt.argument, routes[].match.jwt_claims
#[test]
fn claims_are_for_conditions_and_variables() {
    let key = Key::new("ES256");
    let jwt = json!({
        "key": key.public(), "claims": { "realm.roles": ["staff", "!banned"] }, "user_claim": "email",
        "cookie": "session", "argument": "token"
    });
    let server = daemon()
        .config(json!({ "routes": {
            "main": [{ "action": { "authenticate": { "jwt": jwt }, "pass": "routes/inside" } }],
            "inside": [
                { "match": { "jwt_claims": { "teams": "red" } }, "action": { "return": 200,
                "body": "red $remote_user $jwt_claim_teams" } },
                { "match": { "jwt_claims": { "teams": "!blue" } }, "action": { "return": 200, "body": "not blue" } },
                { "action": { "return": 200, "body": "other [$jwt_claim_none]" } }
            ]
        } }))
        .start();
    let token = |roles: Value, teams: Value| {
        let claims = json!({ "exp": 600, "email": "a@example", "realm": { "roles": roles }, "teams": teams });
        key.token(&claims, None)
    };
    let body =
        |teams: Value| server.send(&as_bearer("/", &token(json!(["staff"]), teams))).expect(200).text();
    assert_eq!(body(json!(["green", "red"])), "red a@example green,red");
    assert_eq!(body(json!("green")), "not blue");
    assert_eq!(body(json!(["green", "blue"])), "other []");
    assert_eq!(body(json!(null)), "other []");
    for roles in [json!(["guest"]), json!([]), json!(null), json!(["staff", "banned"])] {
        let (status, words) = refusal(&server, &as_bearer("/", &token(roles, json!("red"))));
        assert_eq!(status, 403);
        assert!(words.contains("error=\"insufficient_scope\""), "{words}");
    }
    let red = token(json!("staff"), json!("red"));
    server.send(&Request::get("/").field("Cookie", &format!("a=b; session={red}"))).expect(200);
    server.get(&format!("/?token={red}")).expect(200);
    // A token in `Authorization` is the one that counts.
    server.send(&as_bearer("/", "x").field("Cookie", &format!("session={red}"))).expect(401);
}

/// Options: …action.authenticate.jwt.jwks, …action.authenticate.jwt.refetch_interval
#[test]
fn keys_of_a_server_are_fetched_kept_and_fetched_again() {
    let (old, new) = (Key::new("RS256"), Key::new("RS256"));
    let mut issuer = Issuer::new(&[old.jwk("old")]);
    issuer.start();
    let server = guarded(&json!({ "jwt": { "jwks": issuer.url(), "refetch_interval": 1 } }));
    let by_old = as_bearer("/", &old.token(&good(), Some("old")));
    let by_new = as_bearer("/", &new.token(&good(), Some("new")));
    server.send(&by_old).expect(200).expect_body("hello alice");
    let (_, words) = refusal(&server, &by_new);
    assert!(words.contains("signed by an unknown key"), "{words}");
    issuer.rotate(&[new.jwk("new")]);
    eventually("the new key is known", || (server.send(&by_new).status == 200).then_some(()));
    server.send(&by_old).expect(401);
    // Without the issuer its last keys go on.
    issuer.stop();
    server.send(&by_new).expect(200);
    eventually("it is tried in vain", || {
        server.send(&by_old).expect(401);
        server.log().contains("the last good ones are used").then_some(())
    });
    server.send(&by_new).expect(200);
    // A configuration that changes something else knows them, too.
    server.control().put("/config/settings", &json!({ "http": { "send_timeout": 31 } })).expect_done();
    server.send(&by_new).expect(200);
}

#[test]
fn an_issuer_that_is_down_at_the_start_is_waited_for() {
    let key = Key::new("RS256");
    let mut issuer = Issuer::new(&[key.jwk("a")]);
    let server = guarded(&json!({ "jwt": { "jwks": issuer.url() } }));
    let token = as_bearer("/", &key.token(&good(), Some("a")));
    server.send(&token).expect(503);
    server.expect_log("no client can be authenticated: no keys have come from");
    server.expect_log("requests with tokens get 503");
    server.get("/").expect(401);
    server.get("/open").expect(204);
    issuer.start();
    eventually("it has answered", || (server.send(&token).status == 200).then_some(()));
}

/// An issuer that accepts and says nothing holds up no client without a token.
#[test]
fn an_issuer_that_hangs_holds_up_tokens_alone() {
    let origin = Origin::start(|peer| {
        peer.read_head();
        thread::sleep(Duration::from_secs(30));
    });
    let server = guarded(&json!({ "jwt": { "jwks": format!("{}/keys", origin.url()) } }));
    let address = server.address().socket();
    let waiting = thread::spawn(move || Client::connect(address).send(&as_bearer("/", "e30.e30.e30")).status);
    let began = Instant::now();
    for _ in 0..20 {
        server.get("/open").expect(204);
    }
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(waiting.join().unwrap(), 503);
    server.expect_log("no answer within 5s");
}

#[test]
fn answers_that_are_no_keys_are_told_apart() {
    for (response, words) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers with status 404"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "its answer is not a set of keys in JSON"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"keys\":[]}", "its answer has no key"),
        ("nonsense", "fetch keys from"),
    ] {
        let origin = Origin::answering(response);
        let server = guarded(&json!({ "jwt": { "jwks": origin.url() } }));
        server.send(&as_bearer("/", "e30.e30.e30")).expect(503);
        server.expect_log(words);
    }
}

/// Responses before the response are none, however many come.
#[test]
fn an_issuer_without_an_end_is_given_up() {
    let origin = endless();
    let began = Instant::now();
    let server = guarded(&json!({ "jwt": { "jwks": origin.url() } }));
    server.send(&as_bearer("/", "e30.e30.e30")).expect(503);
    server.expect_log("more than 100 responses before its response");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

/// The set of a file is read again when it has changed.
#[test]
fn sets_of_keys_are_files_too() {
    let (one, two) = (Key::new("RS256"), Key::new("RS256"));
    let site = site().file("jwks", json!({ "keys": [one.jwk("one")] }).to_string());
    let server = guarded(&json!({ "jwt": { "jwks": site.path("jwks") } }));
    let by_one = as_bearer("/", &one.token(&good(), Some("one")));
    let by_two = as_bearer("/", &two.token(&good(), Some("two")));
    server.send(&by_one).expect(200);
    server.send(&by_two).expect(401);
    site.write("jwks", json!({ "keys": [two.jwk("two")] }).to_string());
    server.send(&by_one).expect(401);
    server.send(&by_two).expect(200);
    site.write("jwks", "{}");
    server.send(&by_two).expect(500);
    server.expect_log("it is not a set of keys in JSON");
}

/// One of several methods is enough.
#[test]
fn a_token_or_a_password() {
    let key = Key::new("ES256");
    let site = site().file("users", crate::output("htpasswd", &["-nbBC", "4", "bob", "secret"], ""));
    let server = guarded(&json!({ "basic": { "file": site.path("users") }, "jwt": { "key": key.public() } }));
    server.send(&as_bearer("/", &key.token(&good(), None))).expect(200).expect_body("hello alice");
    server.send(&crate::as_user("/", "bob", "secret")).expect(200).expect_body("hello bob");
    server.send(&crate::as_user("/", "bob", "wrong")).expect(401);
    let reply = server.get("/").expect(401);
    let challenges: Vec<_> = reply.all("WWW-Authenticate").collect();
    assert_eq!(challenges, ["Basic realm=\"Restricted\", charset=\"UTF-8\"", "Bearer realm=\"Restricted\""]);
}

/// Options: …action.authenticate.jwt.tls, …action.authenticate.jwt.tls.verify, …action.authenticate.jwt.tls.ca,
/// …action.authenticate.jwt.tls.server_name
#[test]
fn issuers_over_tls_prove_who_they_are() {
    let authority = Authority::new("here");
    let key = Key::new("RS256");
    let set = json!({ "keys": [key.jwk("a")] }).to_string();
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{set}", set.len());
    let origin = Origin::start_tls(&authority.server("localhost", &["localhost"]), move |peer| {
        while peer.read_head().is_some() && peer.write(response.as_bytes()) {}
    });
    let server = daemon().start_unconfigured();
    server.control().put_text("/certificates/ours", &authority.bundle().pem()).0.expect(200);
    let token = as_bearer("/", &key.token(&good(), Some("a")));
    let ask = |host: &str, tls: Value| {
        let jwt = json!({ "jwt": { "jwks": format!("https://{host}:{}/", origin.port()), "tls": tls } });
        let config = server.with_listener(crate::guarded_config(&jwt));
        server.control().put("/config", &config).expect_done();
        server.send(&token).status
    };
    assert_eq!(ask("localhost", json!({})), 503);
    server.expect_log("fetch keys from \"https://localhost");
    assert_eq!(ask("localhost", json!({ "verify": false })), 200);
    assert_eq!(ask("localhost", json!({ "ca": "ours" })), 200);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours" })), 503);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours", "server_name": "localhost" })), 200);
}
