//! Mistakes in `authenticate` are found before it is in force, with its place and what would be right.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use corral_testkit::{daemon, executables, site};
use serde_json::{Value, json};

use crate::guarded_config;

/// The API refuses it, and `corral check` says the same.
#[track_caller]
fn check(authenticate: &Value, pointer: &str, words: &[&str]) {
    let server = daemon().start_unconfigured();
    let config = server.with_listener(guarded_config(authenticate));
    let reply = server.control().put("/config", &config);
    assert!(reply.0.status >= 400, "{:?}", reply.0);
    let text = reply.json().to_string();
    let folder = site().file("config.json", config.to_string());
    let checked = Command::new(&executables().corral)
        .arg("check")
        .arg(folder.path("config.json"))
        .output()
        .expect("corral runs");
    assert!(!checked.status.success(), "{checked:?}");
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    for words in words {
        assert!(text.contains(&words.replace('"', "\\\"")), "{words}: {text}");
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(text.contains(pointer), "{pointer}: {text}");
}

#[test]
fn files_of_passwords() {
    let folder = site().file("plain", "# users\nbob:secret\n").file("md5", "bob:$apr1$a$b\n");
    let basic = |name: &str| json!({ "basic": { "file": folder.path(name) } });
    let at = "/routes/1/action/authenticate/basic/file";
    check(&basic("none"), at, &["cannot be used: open: No such file", "Make the file, or name another one."]);
    check(&basic("plain"), at, &["line 2 (user \"bob\") has a plain password", "htpasswd -B", "plain bob"]);
    check(&basic("md5"), at, &["line 1 (user \"bob\") has an MD5 hash ($apr1$)"]);
    check(&json!({ "basic": { "file": folder.root() } }), at, &["it is not a file"]);
    check(&json!({ "basic": { "file": "users" } }), at, &["The \"file\" path must begin with \"/\"."]);
    check(
        &json!({ "basic": {} }),
        "/routes/1/action/authenticate/basic",
        &["Required parameter \"file\" is missing."],
    );
    check(&json!({}), "/routes/1/action/authenticate", &["must have at least one method"]);
    let realm = json!({ "basic": { "file": folder.path("md5"), "realm": "a\"b" } });
    check(&realm, "basic/realm", &["must not contain quotes"]);
}

/// A file that root can read, and the daemon's user cannot.
#[test]
fn files_that_the_daemon_cannot_read() {
    if !rustix_is_root() {
        return;
    }
    let folder = site().file("users", "");
    fs::set_permissions(folder.path("users"), fs::Permissions::from_mode(0o600)).unwrap();
    let server = daemon().start_unconfigured();
    let config = server.with_listener(guarded_config(&json!({ "basic": { "file": folder.path("users") } })));
    let reply = server.control().put("/config", &config);
    let text = reply.json().to_string();
    assert!(
        text.contains("Permission denied") && text.contains("The daemon's own user must be able to read it"),
        "{text}"
    );
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn keys_of_tokens() {
    let folder = site().file("short", "secret\n").file("text", "nothing\n").file("set", "{\"keys\": []}");
    let private = crate::output("openssl", &["genpkey", "-algorithm", "ed25519"], "");
    folder.write("private", private);
    let at = "/routes/1/action/authenticate/jwt";
    let jwt = |jwt: Value| json!({ "jwt": jwt });
    check(&jwt(json!({ "secret": folder.path("short") })), at, &["a secret of 6 bytes", "openssl rand"]);
    check(&jwt(json!({ "key": folder.path("text") })), at, &["no public key in PEM", "BEGIN PUBLIC KEY"]);
    check(&jwt(json!({ "key": folder.path("private") })), at, &["a private key", "-pubout"]);
    check(&jwt(json!({ "jwks": folder.path("set") })), at, &["no key that signatures can be verified by"]);
    check(&jwt(json!({ "jwks": folder.path("text") })), at, &["is not a set of keys in JSON"]);
    check(&jwt(json!({ "jwks": "ftp://x/" })), at, &["The \"jwks\" URL is invalid"]);
    check(&jwt(json!({})), at, &["just one of \"secret\", \"key\" and \"jwks\""]);
    let url = "http://127.0.0.1:1/";
    check(&jwt(json!({ "jwks": url, "key": folder.path("text") })), at, &["just one of"]);
    check(
        &jwt(json!({ "jwks": url, "algorithms": ["none"] })),
        at,
        &["The algorithm \"none\" is not one", "RS256, RS384"],
    );
}

#[test]
fn servers_that_are_asked() {
    let at = "/routes/1/action/authenticate/forward";
    let forward = |forward: Value| json!({ "forward": forward });
    check(&forward(json!({})), at, &["just one of \"url\" and \"pass\""]);
    check(
        &forward(json!({ "url": "localhost" })),
        at,
        &["The \"url\" value is invalid", "http://HOST:PORT/PATH"],
    );
    check(
        &forward(json!({ "pass": "routes" })),
        at,
        &["must be \"applications/NAME\" or \"upstreams/NAME\""],
    );
    check(
        &forward(json!({ "url": "http://a/", "copy_fields": ["Content-Length"] })),
        at,
        &["is not a header that can be used"],
    );
    check(&forward(json!({ "url": "http://a/", "uri": "x" })), at, &["must begin with \"/\""]);
}

/// A start must not depend on another server.
#[test]
fn a_server_of_keys_that_is_down_is_a_warning() {
    let authenticate = json!({ "jwt": { "jwks": "http://127.0.0.1:1/keys" } });
    let folder = site().file("config.json", guarded_config(&authenticate).to_string());
    let checked =
        Command::new(&executables().corral).arg("check").arg(folder.path("config.json")).output().unwrap();
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "{told}");
    assert!(
        told.contains("warning:") && told.contains("\"http://127.0.0.1:1/keys\" cannot be reached"),
        "{told}"
    );
}

/// Files that break later do not keep others from changing the rest.
#[test]
fn an_old_mistake_does_not_stop_other_changes() {
    let folder = site().file("users", "");
    let server = crate::guarded(&json!({ "basic": { "file": folder.path("users") } }));
    fs::remove_file(folder.path("users")).unwrap();
    server.control().put("/config/settings", &json!({ "http": { "send_timeout": 31 } })).expect_done();
}
