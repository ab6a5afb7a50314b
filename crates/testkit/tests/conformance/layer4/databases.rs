//! Real clients and servers of databases.

use std::process::{Command, Stdio};

use corral_testkit::{MariaDb, Redis};
use serde_json::json;

use super::start;

#[test]
fn redis_through_a_listener() {
    let redis = Redis::start();
    let server = start(&[format!("unix:{}", redis.socket())], json!({}), json!({}));
    let run = |words: &[&str]| {
        let address = server.address().socket();
        let output = Command::new("redis-cli")
            .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .expect("redis-cli starts: scripts/setup test");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(run(&["set", "key", "a value"]), "OK");
    assert_eq!(run(&["get", "key"]), "a value");
    assert_eq!(run(&["eval", "return string.len(string.rep('x', 5000000))", "0"]), "5000000");
    assert_eq!(run(&["eval", "return string.rep('x', 3000000)", "0"]).len(), 3_000_000);
}

#[test]
fn mariadb_through_a_listener() {
    let database = MariaDb::start();
    let server = start(&[format!("unix:{}", database.socket().display())], json!({}), json!({}));
    let address = server.address().socket();
    let run = |sql: &str| {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--protocol=tcp", "--user=corral", "--skip-column-names"])
            .arg(format!("--host={}", address.ip()))
            .arg(format!("--port={}", address.port()))
            .args(["-e", sql])
            .stdin(Stdio::null())
            .output()
            .expect("the mariadb client runs");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run("CREATE DATABASE d; CREATE TABLE d.t (n INT, text LONGTEXT)");
    run("INSERT INTO d.t VALUES (1, REPEAT('x', 3000000)), (2, 'two')");
    assert_eq!(run("SELECT text FROM d.t WHERE n = 2"), "two");
    assert_eq!(run("SELECT text FROM d.t WHERE n = 1").len(), 3_000_000);
}
