//! The workers of an application one by one: what is told of them, and the end of one.

use std::collections::BTreeMap;

use corral_testkit::{
    Client, Daemon, Request, Signal, Site, daemon, eventually, is_alive, php_app, signal, site,
};
use serde_json::{Value, json};

/// A script that says its process, at once or when there is a file `go`.
fn pages() -> Site {
    let script = "<?php if (isset($_GET['wait'])) while (!file_exists('go')) { usleep(1000); clearstatcache(); }\n\
                  echo getmypid();";
    site().file("index.php", script)
}

fn served(site: &Site, processes: Value) -> Daemon {
    daemon().application(php_app(site).script("index.php").with("processes", processes)).start()
}

const LIST: &str = "/control/applications/php/workers";

/// The workers by their processes.
#[track_caller]
fn workers(server: &Daemon) -> BTreeMap<u32, Value> {
    let list = server.control().get(LIST).json();
    let list = list.as_object().expect("an object").clone();
    list.into_iter().map(|(pid, worker)| (pid.parse().expect("a number"), worker)).collect()
}

/// Waits until a worker has this state.
#[track_caller]
fn expect_one(server: &Daemon, state: &str) -> (u32, Value) {
    eventually(state, || workers(server).into_iter().find(|(_, worker)| worker["state"] == state))
}

#[track_caller]
fn expect_states(server: &Daemon, states: &[&str]) {
    eventually(&format!("{states:?}"), || {
        let workers = workers(server);
        let mut found: Vec<_> = workers.values().filter_map(|worker| worker["state"].as_str()).collect();
        found.sort_unstable();
        (found == states).then_some(())
    });
}

#[track_caller]
fn order(server: &Daemon, pid: u32, word: &str) -> u16 {
    server.control().send(&Request::post(&format!("{LIST}/{pid}/{word}"))).0.status
}

/// A client whose request waits for the file.
#[track_caller]
fn waiting(server: &Daemon, target: &str) -> Client {
    let mut client = server.connect();
    client.write(Request::get(target).encode());
    client
}

/// The value of a sample of `/metrics`; 0 if it is not there.
#[track_caller]
fn sample(server: &Daemon, name: &str) -> f64 {
    let text = server.control().get("/metrics").0.expect(200).text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().expect("a number"))
}

#[track_caller]
fn expect_sample(server: &Daemon, name: &str, value: f64) {
    eventually(&format!("{name} is {value}"), || (sample(server, name) == value).then_some(()));
}

fn ended(cause: &str) -> String {
    format!("corral_workers_ended_total{{application=\"php\",cause=\"{cause}\"}}")
}

#[test]
fn each_worker_is_told_of_with_the_request_that_it_runs() {
    let site = pages();
    let server = served(&site, json!(2));
    let mut processes = server.expect_processes("\"php\" worker", 2);
    processes.sort_unstable();
    expect_states(&server, &["idle", "idle"]);
    let idle = workers(&server);
    assert_eq!(idle.keys().copied().collect::<Vec<_>>(), processes);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    for worker in idle.values() {
        let started = worker["started"].as_u64().expect("a time");
        assert!((now - 600..=now + 2).contains(&started), "{now} {worker}");
        assert_eq!((&worker["requests"], &worker["in_progress"]), (&json!(0), &json!(0)));
        assert!(worker["memory"]["rss"].as_u64() > Some(1 << 20), "{worker}");
        assert!(worker["cpu"].as_f64().is_some_and(|seconds| (0.0..60.0).contains(&seconds)), "{worker}");
        assert_eq!(worker.get("request"), None);
        if rustix::process::geteuid().is_root() {
            let (rss, pss) = (worker["memory"]["rss"].as_u64(), worker["memory"]["pss"].as_u64());
            assert!(pss > Some(0) && pss <= rss, "{worker}");
        }
    }
    let memory = |kind: &str| {
        sample(&server, &format!("corral_application_{kind}_memory_bytes{{application=\"php\"}}"))
    };
    let shares =
        eventually("all were looked at", || Some(memory("proportional")).filter(|bytes| *bytes > 0.0));
    assert!(shares < memory("resident"), "{shares}");
    let mut client =
        waiting(&server, "/users/123/orders/0b9f8a3e-1c2d-4e5f-8a9b-0c1d2e3f4a5b?wait&secret=s3cret");
    let (pid, busy) = expect_one(&server, "busy");
    assert_eq!(busy["in_progress"], 1, "{busy}");
    let request = eventually("it runs", || workers(&server)[&pid].get("request").cloned());
    assert_eq!((&request["method"], &request["path"]), (&json!("GET"), &json!("/users/:n/orders/:id")));
    assert!(request["script"].as_str().is_some_and(|script| script.ends_with("index.php")), "{request}");
    let before = request["seconds"].as_f64().expect("a time");
    eventually("time goes by", || {
        (workers(&server)[&pid]["request"]["seconds"].as_f64()? > before).then_some(())
    });
    assert!(!server.control().get(LIST).0.text().contains("s3cret"));
    site.write("go", "");
    client.read_response().expect(200).expect_body(pid.to_string());
    expect_states(&server, &["idle", "idle"]);
    assert_eq!(workers(&server)[&pid]["requests"], 1);
}

#[test]
fn a_worker_that_is_drained_ends_after_its_request_and_nothing_is_lost() {
    let site = pages();
    let server = served(&site, json!(1));
    let mut client = waiting(&server, "/?wait");
    let (pid, _) = expect_one(&server, "busy");
    assert_eq!((order(&server, pid, "drain"), order(&server, pid, "drain")), (200, 200));
    server.expect_log(&format!("process {pid} ends after its requests, as the control API was asked to"));
    // Another one serves meanwhile.
    let other = server.get("/").expect(200).text();
    assert_ne!(other, pid.to_string());
    expect_states(&server, &["idle", "leaving"]);
    assert!(is_alive(pid));
    site.write("go", "");
    client.read_response().expect(200).expect_body(pid.to_string());
    eventually("it ends", || (!is_alive(pid)).then_some(()));
    expect_states(&server, &["idle"]);
    expect_sample(&server, &ended("drained"), 1.0);
    assert_eq!(order(&server, pid, "drain"), 404, "it is gone");
    assert_eq!(server.control().get("/status/applications/php").json().get("crashes"), None);
}

#[test]
fn an_idle_worker_that_is_drained_is_replaced() {
    let site = pages();
    let server = served(&site, json!(1));
    let (pid, _) = expect_one(&server, "idle");
    assert_eq!(order(&server, pid, "drain"), 200);
    eventually("it ends", || (!is_alive(pid)).then_some(()));
    let next = eventually("another one comes", || workers(&server).into_keys().find(|next| *next != pid));
    server.get("/").expect(200).expect_body(next.to_string());
}

#[test]
fn a_worker_that_is_ended_takes_only_what_it_runs_with_it() {
    let site = pages();
    let server = served(&site, json!(1));
    let mut client = waiting(&server, "/?wait");
    let (pid, _) = expect_one(&server, "busy");
    let mut behind = waiting(&server, "/");
    assert_eq!(order(&server, pid, "end"), 200);
    client.read_response().expect(503);
    behind.read_response().expect(200);
    eventually("it is gone", || (!is_alive(pid)).then_some(()));
    server.expect_log(&format!("killing a worker: process {pid}, as the control API was asked to"));
    expect_sample(&server, &ended("ended"), 1.0);
    assert_eq!(server.control().get("/status/applications/php").json().get("crashes"), None);
    assert_eq!(sample(&server, "corral_application_crashes_total{application=\"php\"}"), 0.0);
}

/// Only workers of the application are ended, whatever number is named.
#[test]
fn other_processes_are_not_there() {
    let site = pages();
    let app = php_app(&site).script("index.php").value();
    let routes = json!([{ "action": { "pass": "applications/php" } }]);
    let server =
        daemon().config(json!({ "routes": routes, "applications": { "php": app, "other": app } })).start();
    let other = server.expect_processes("\"other\" worker", 1)[0];
    let own = server.expect_processes("\"php\" worker", 1)[0];
    let mut strangers = vec![1, std::process::id(), server.pid(), other];
    for name in ["router", "controller", "\"php\" prototype"] {
        strangers.extend(server.expect_processes(name, 1));
    }
    for pid in strangers {
        for word in ["drain", "end"] {
            assert_eq!(order(&server, pid, word), 404, "{pid}");
        }
        assert!(is_alive(pid), "{pid}");
    }
    for path in
        ["nothing/workers", "nothing/workers/1/end", "php/workers/1", "php/workers/x/end", "php/worker"]
    {
        let path = format!("/control/applications/{path}");
        assert_eq!(server.control().send(&Request::post(&path)).0.status / 100, 4, "{path}");
    }
    server.control().get(&format!("{LIST}/{own}/end")).expect_refused(405, "Method isn't allowed.");
    server.control().send(&Request::post(LIST)).expect_refused(405, "Method isn't allowed.");
    server.get("/").expect(200).expect_body(own.to_string());
}

#[test]
fn the_processes_of_a_command_are_told_of_and_replaced() {
    let command = json!({ "type": "process", "command": ["/bin/sleep", "1000"] });
    let server = daemon().config(json!({ "listeners": {}, "applications": { "php": command } })).start();
    let (pid, worker) = expect_one(&server, "busy");
    assert!(worker["memory"]["rss"].as_u64() > Some(0) && worker.get("requests").is_none(), "{worker}");
    for word in ["drain", "end"] {
        let (pid, _) = expect_one(&server, "busy");
        assert_eq!(order(&server, pid, word), 200);
        eventually("another one comes", || workers(&server).into_keys().find(|next| *next != pid));
    }
    assert!(!is_alive(pid));
    expect_sample(&server, &ended("drained"), 1.0);
    expect_sample(&server, &ended("ended"), 1.0);
    expect_sample(&server, "corral_workers{application=\"php\",state=\"busy\"}", 1.0);
}

#[test]
fn workers_are_counted_with_the_cause_of_their_end() {
    let site = pages();
    let server = served(&site, json!({ "max": 2, "spare": 1, "idle_timeout": 1 }));
    let started = "corral_workers_started_total{application=\"php\"}";
    expect_sample(&server, started, 1.0);
    expect_sample(&server, "corral_workers{application=\"php\",state=\"idle\"}", 1.0);
    // A second one comes, and leaves when there is nothing for it to do.
    let mut client = waiting(&server, "/?wait");
    expect_sample(&server, "corral_workers{application=\"php\",state=\"busy\"}", 1.0);
    server.get("/").expect(200);
    site.write("go", "");
    client.read_response().expect(200);
    expect_sample(&server, &ended("idle"), 1.0);
    assert!(sample(&server, started) >= 2.0);
    let pid = expect_one(&server, "idle").0;
    signal(pid, Signal::KILL);
    expect_sample(&server, &ended("signal"), 1.0);
    expect_one(&server, "idle");
    let before = (
        sample(&server, started),
        sample(&server, "corral_application_cpu_seconds_total{application=\"php\"}"),
    );
    assert!(before.1 > 0.0);
    server.control().send(&Request::post("/control/applications/php/restart")).0.expect(200);
    eventually("the old one has ended", || (sample(&server, &ended("restart")) >= 1.0).then_some(()));
    // Counts go on where the processes before have ended.
    assert_eq!(sample(&server, &ended("signal")), 1.0);
    assert!(sample(&server, started) > before.0);
    assert!(sample(&server, "corral_application_cpu_seconds_total{application=\"php\"}") >= before.1);
}

#[test]
fn limits_are_causes_too() {
    let site = pages();
    let app = php_app(&site).script("index.php").processes(1);
    let server = daemon().application(app.with("limits", json!({ "requests": 1, "kill_after": 1 }))).start();
    server.get("/").expect(200);
    expect_sample(&server, &ended("requests"), 1.0);
    server.get("/?wait").expect(504);
    expect_sample(&server, &ended("kill_after"), 1.0);
}

#[test]
fn what_computes_uses_a_processor() {
    let site =
        site().file("index.php", "<?php while (!file_exists('go')) { md5('x'); clearstatcache(); } echo 1;");
    let server = served(&site, json!(1));
    let mut client = waiting(&server, "/");
    let (pid, before) = expect_one(&server, "busy");
    let seconds = |worker: &Value| worker["cpu"].as_f64().unwrap_or_default();
    eventually("it computes", || (seconds(&workers(&server)[&pid]) > seconds(&before) + 0.05).then_some(()));
    let name = "corral_application_cpu_seconds_total{application=\"php\"}";
    let counted = sample(&server, name);
    assert!(counted >= 0.05, "{counted}");
    site.write("go", "");
    client.read_response().expect(200);
    assert_eq!(order(&server, pid, "end"), 200);
    eventually("it is gone", || (!is_alive(pid)).then_some(()));
    assert!(sample(&server, name) >= counted, "the time of what has ended counts");
}
