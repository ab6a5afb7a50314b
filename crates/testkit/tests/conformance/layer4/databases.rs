//! Real clients and servers of databases.

use std::process::{Command, Stdio};

use corral_testkit::Redis;
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
