//! The inside of the router: event loops, channels, caches, bounds, and what was lost.

use std::net::TcpListener;

use corral_testkit::{Daemon, Origin, Request, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use super::{expect_sample, samples};

/// Waits until a sample is at least so large.
#[track_caller]
fn expect_at_least(server: &Daemon, name: &str, least: f64) -> f64 {
    eventually(name, || samples(server).get(name).copied().filter(|value| *value >= least))
}

#[test]
fn event_loops_tell_how_busy_they_are() {
    let script = json!([{ "action": { "return": 204 } }]);
    let config = json!({ "routes": script, "settings": { "listen_threads": 2 } });
    let server = daemon().config(config).start();
    for _ in 0..20 {
        server.get("/").expect(204);
    }
    let known = samples(&server);
    let both =
        |name: &str| ["0", "1"].map(|idx| known[&format!("corral_event_loop_{name}{{loop=\"{idx}\"}}")]);
    assert!(both("turns_total").iter().sum::<f64>() >= 20.0, "{known:?}");
    let (busy, longest) = (both("busy_seconds_total"), both("longest_turn_seconds"));
    assert!(busy.iter().all(|busy| *busy > 0.0) && busy.iter().sum::<f64>() < 60.0, "{busy:?}");
    assert!(
        longest.iter().zip(busy).all(|(longest, busy)| *longest > 0.0 && *longest <= busy),
        "{longest:?}"
    );
    // A loop that is gone takes its series along.
    server.control().put("/config/settings/listen_threads", &json!(1)).expect_done();
    server.get("/").expect(204);
    let known = samples(&server);
    assert!(!known.contains_key("corral_event_loop_turns_total{loop=\"1\"}"), "{known:?}");
    assert!(known["corral_event_loop_turns_total{loop=\"0\"}"] > 0.0);
}

#[test]
fn workers_are_woken_or_awake() {
    let site = site().file("index.php", "<?php echo 1;");
    let server = daemon().application(php_app(&site).processes(1)).start();
    for _ in 0..10 {
        server.get("/").expect(200);
    }
    let known = samples(&server);
    let wakes = |result: &str| known[&format!("corral_channel_wake_ups_total{{result=\"{result}\"}}")];
    // Other threads wake workers as well.
    assert!(wakes("sent") + wakes("saved") >= 5.0, "{known:?}");
    assert!(known.contains_key("corral_channel_bells_total"), "{known:?}");
}

/// A file is kept by the event loop that has opened it.
#[test]
fn files_are_kept_open_while_they_are_asked_for() {
    let site = site().file("a.txt", "x".repeat(1000));
    let share = json!([{ "action": { "share": format!("{}$uri", site.root()) } }]);
    let config = json!({ "routes": share, "settings": { "listen_threads": 1 } });
    let server = daemon().config(config).start();
    // What was changed a moment ago is not kept in memory.
    eventually("the content is kept", || {
        server.get("/a.txt").expect(200);
        (samples(&server)["corral_file_cache_memory_bytes"] == 1000.0).then_some(())
    });
    expect_at_least(&server, "corral_file_cache_entries", 1.0);
    let misses = samples(&server)["corral_file_cache_requests_total{result=\"miss\"}"];
    let hits = samples(&server)["corral_file_cache_requests_total{result=\"hit\"}"];
    eventually("the open file is found", || {
        server.get("/a.txt").expect(200);
        (samples(&server)["corral_file_cache_requests_total{result=\"hit\"}"] > hits).then_some(())
    });
    server.get("/missing.txt").expect(404);
    expect_at_least(&server, "corral_file_cache_requests_total{result=\"miss\"}", misses + 1.0);
    expect_sample(&server, "corral_file_cache_entries", 0.0);
    expect_sample(&server, "corral_file_cache_memory_bytes", 0.0);
}

#[test]
fn compression_tells_its_ratio() {
    let site = site().file("a.txt", "All work and no play. ".repeat(1000)).file(
        "index.php",
        "<?php
        header('Content-Type: text/plain'); echo str_repeat('All work and no play. ', 1000);",
    );
    let compression =
        json!({ "types": ["text/*"], "compressors": [{ "encoding": "gzip" }, { "encoding": "br" }] });
    let share = json!({ "share": format!("{}$uri", site.root()), "types": ["text/plain"],
        "fallback": { "pass": "applications/php" } });
    let server = daemon()
        .config(json!({
            "routes": [{ "action": share }],
            "applications": { "php": php_app(&site).value() },
            "settings": { "http": { "compression": compression } },
        }))
        .start();
    let asking = |target: &str, coding: &str| Request::get(target).field("Accept-Encoding", coding);
    server.send(&asking("/index.php", "br")).expect(200).expect_field("Content-Encoding", "br");
    let bytes = |direction: &str, coding: &str| {
        format!("corral_compression_{direction}_bytes_total{{coding=\"{coding}\"}}")
    };
    expect_sample(&server, &bytes("input", "br"), 22_000.0);
    let output = expect_at_least(&server, &bytes("output", "br"), 1.0);
    assert!(output < 2_000.0, "{output}");
    expect_sample(&server, &bytes("input", "gzip"), 0.0);
    eventually("the compressed file is kept", || {
        server.send(&asking("/a.txt", "gzip")).expect(200).expect_field("Content-Encoding", "gzip");
        (samples(&server)["corral_compressed_file_memory_bytes"] > 0.0).then_some(())
    });
    let made = samples(&server)[&bytes("input", "gzip")];
    let hits = samples(&server)["corral_compressed_file_requests_total{result=\"hit\"}"];
    server.send(&asking("/a.txt", "gzip")).expect(200);
    expect_at_least(&server, "corral_compressed_file_requests_total{result=\"hit\"}", hits + 1.0);
    expect_at_least(&server, "corral_compressed_file_requests_total{result=\"miss\"}", 1.0);
    assert_eq!(samples(&server)[&bytes("input", "gzip")], made, "it is compressed once");
}

#[test]
fn what_was_lost_is_counted() {
    let telemetry = json!({ "endpoint": "http://127.0.0.1:9/", "protocol": "http", "batch_size": 1 });
    let server = daemon()
        .config(json!({
            "routes": [{ "action": { "return": 204 } }],
            "access_log": "/dev/full",
            "settings": { "telemetry": telemetry },
        }))
        .start();
    expect_sample(&server, "corral_access_log_entries_lost_total", 0.0);
    for _ in 0..5 {
        server.get("/").expect(204);
    }
    expect_sample(&server, "corral_access_log_entries_lost_total", 5.0);
    expect_sample(&server, "corral_telemetry_spans_lost_total", 5.0);
    // Another configuration goes on counting.
    server.control().delete("/config/access_log").expect_done();
    server.get("/").expect(204);
    expect_sample(&server, "corral_telemetry_spans_lost_total", 6.0);
    expect_sample(&server, "corral_access_log_entries_lost_total", 5.0);
}

#[test]
fn forward_authentication_is_counted_by_its_result() {
    let gate = Origin::start(|peer| {
        while let Some(head) = peer.read_head() {
            let status = match () {
                () if head.contains("bad") => "403 Forbidden",
                () if head.contains("broken") => "500 Internal Server Error",
                () => "204 No Content",
            };
            let length = if status.starts_with("204") { "" } else { "Content-Length: 0\r\n" };
            if !peer.write(format!("HTTP/1.1 {status}\r\n{length}\r\n").as_bytes()) {
                return;
            }
        }
    });
    let forward = json!({ "url": gate.url(), "cache": 60, "cache_key": ["X-Session"] });
    let server = daemon()
        .routes(json!([{ "action": { "authenticate": { "forward": forward }, "return": 200 } }]))
        .start();
    for (session, status) in [("good", 200), ("good", 200), ("bad", 403), ("broken", 502), ("good", 200)] {
        server.send(&Request::get("/").field("X-Session", session)).expect(status);
    }
    for (result, n) in [("passed", 1.0), ("remembered", 2.0), ("refused", 1.0), ("failed", 1.0)] {
        expect_sample(
            &server,
            &format!("corral_forward_authentication_requests_total{{result=\"{result}\"}}"),
            n,
        );
    }
}

/// The public key of RFC 7515, appendix A.3.
fn keys() -> Value {
    json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "a", "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" }] })
}

#[test]
fn keys_of_tokens_have_an_age_once_they_were_fetched() {
    let issuer = Origin::saying(&keys().to_string());
    let guard = |url: &str| json!({ "authenticate": { "jwt": { "jwks": url } }, "return": 200 });
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/good" }, "action": guard(&issuer.url()) },
            { "action": guard("http://127.0.0.1:9/keys") },
        ]))
        .start();
    let of = |name: &str, step: usize| {
        format!("corral_jwks_{name}{{place=\"/routes/{step}/action/authenticate\"}}")
    };
    let age = eventually("the keys are fetched", || samples(&server).get(&of("age_seconds", 0)).copied());
    assert!((0.0..60.0).contains(&age), "{age}");
    let failures = expect_at_least(&server, &of("failures_total", 1), 1.0);
    let known = samples(&server);
    assert!(!known.contains_key(&of("age_seconds", 1)), "{known:?}");
    assert_eq!(known[&of("failures_total", 0)], 0.0);
    // A router that takes the place of another goes on.
    server.kill(server.expect_processes("router", 1)[0]);
    expect_at_least(&server, &of("failures_total", 1), failures + 1.0);
}

#[test]
fn bodies_and_descriptors_are_told_with_their_bounds() {
    let site = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
    let server = daemon()
        .config(json!({
            "applications": { "php": php_app(&site).value() },
            "settings": {
                "http": { "body_buffer_size": 1000 },
                "limits": { "buffered_bytes": 1_000_000, "connections": 77 },
            },
        }))
        .start();
    let known = samples(&server);
    assert_eq!(known["corral_body_memory_limit_bytes"], 1_000_000.0);
    assert_eq!(known["corral_connections_limit"], 77.0);
    assert_eq!(known["corral_body_file_bytes_total"], 0.0);
    server.send(&Request::post("/").body("x".repeat(50_000))).expect(200).expect_text("50000");
    expect_at_least(&server, "corral_body_file_bytes_total", 40_000.0);
    expect_sample(&server, "corral_body_memory_bytes", 0.0);
    let (open, most) = (known["corral_open_files"], known["corral_open_files_limit"]);
    assert!(open > 5.0 && open < most, "{open} {most}");
    let connections: Vec<_> = (0..30).map(|_| server.connect()).collect();
    expect_at_least(&server, "corral_open_files", open + 25.0);
    drop(connections);
}

/// Figures of main: the configuration, and the daemon's own processes.
mod of_main {
    use super::*;

    #[test]
    fn changes_have_a_number_a_time_and_a_result() {
        let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
        let before = samples(&server);
        assert_eq!(before["corral_config_last_change_succeeded"], 1.0);
        server.control().put("/config/settings", &json!({ "http": { "max_body_size": 10 } })).expect_done();
        let after = samples(&server);
        assert!(after["corral_config_generation"] > before["corral_config_generation"], "{after:?}");
        assert!(
            after["corral_config_last_change_seconds"] >= before["corral_config_last_change_seconds"],
            "{after:?}"
        );
        let stranger = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let taken = format!("/config/listeners/{}", stranger.local_addr().expect("it is bound"));
        server
            .control()
            .put(&taken, &json!({ "pass": "routes" }))
            .expect_refused(500, "Failed to apply new configuration.");
        let refused = samples(&server);
        assert_eq!(refused["corral_config_last_change_succeeded"], 0.0);
        assert_eq!(refused["corral_config_generation"], after["corral_config_generation"]);
        server.control().put("/config/settings", &json!({})).expect_done();
        assert_eq!(samples(&server)["corral_config_last_change_succeeded"], 1.0);
    }

    #[test]
    fn processes_of_the_daemon_are_seen() {
        let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
        server.get("/").expect(204);
        let before = samples(&server);
        for process in ["main", "router", "controller"] {
            let memory = before[&format!("corral_process_memory_bytes{{process=\"{process}\"}}")];
            assert!((100_000.0..1e9).contains(&memory), "{process}: {memory}");
            let cpu = before[&format!("corral_process_cpu_seconds_total{{process=\"{process}\"}}")];
            assert!((0.0..600.0).contains(&cpu), "{process}: {cpu}");
        }
        assert!(!before.contains_key("corral_process_memory_bytes{process=\"reader\"}"), "there is none");
        let restarts = |process: &str| format!("corral_process_restarts_total{{process=\"{process}\"}}");
        assert_eq!((before[&restarts("router")], before[&restarts("controller")]), (0.0, 0.0));
        server.kill(server.expect_processes("router", 1)[0]);
        server.kill(server.expect_processes("controller", 1)[0]);
        let router = restarts("router");
        let after = eventually("both run again", || {
            let reply = server.control().try_send(&Request::get("/metrics")).ok()?;
            (reply.0.status == 200).then_some(())?;
            let known = samples(&server);
            (known.get(&router) == Some(&1.0)).then_some(known)
        });
        assert_eq!(after[&restarts("controller")], 1.0);
        for process in ["main", "router", "controller"] {
            let name = format!("corral_process_cpu_seconds_total{{process=\"{process}\"}}");
            assert!(after[&name] >= before[&name], "{name}: {} {}", before[&name], after[&name]);
        }
    }
}
