//! The processes of an application: what they run in, how many there are, and how they are replaced.

use corral_testkit::{Load, Request, eventually, is_alive};
use serde_json::{Value, json};

use crate::at_once::meet;
use crate::runtime::{AtOnce, Runtime, with};

pub(crate) fn environment(runtime: &Runtime) {
    let server = runtime.serve_with(json!({ "environment": { "COLOUR": "blue", "TZ": "Asia/Tokyo" } }));
    server.get("/environment?COLOUR").expect(200).expect_body("blue");
    server.get("/environment?TZ").expect(200).expect_body("Asia/Tokyo");
}

pub(crate) fn working_directory(runtime: &Runtime) {
    let elsewhere = corral_testkit::site();
    let server = runtime.serve_with(json!({ "working_directory": elsewhere.root() }));
    server.get("/cwd").expect(200).expect_body(elsewhere.root());
}

pub(crate) fn user(runtime: &Runtime) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root may do this");
        return;
    }
    let server = runtime.serve_with(json!({ "user": "daemon", "group": "bin" }));
    server.get("/user").expect(200).expect_body("1 2");
}

pub(crate) fn output(runtime: &Runtime) {
    let server = runtime.serve();
    server.get("/log").expect(200);
    server.expect_log("\"app\": said to standard error");
    server.expect_log("said to standard output");
}

/// In place of a process id.
const UNKNOWN: &str = "unknown";

pub(crate) fn several(runtime: &Runtime) {
    // A process that takes several requests must not take all.
    let one = match runtime.at_once {
        AtOnce::Several { ref one, .. } => one.clone(),
        AtOnce::One => json!({}),
    };
    let server = runtime.serve_with(with(one, "processes", json!(4)));
    // One that runs as many requests as come does not wait for those that start.
    eventually("all have started", || {
        let status = server.control().get("/status/applications/app").json();
        (status["processes"]["idle"] == 4).then_some(())
    });
    let pids = meet(&server);
    // A process that cannot know its own number has shown by meeting that there are as many.
    assert!(pids.len() == 4 || pids.contains(UNKNOWN), "{pids:?}");
}

/// Each is told of with the request that it runs. One that is drained ends behind that, and another takes its place.
pub(crate) fn one_by_one(runtime: &Runtime) {
    let server = runtime.serve();
    let list = || server.control().get("/control/applications/app/workers").json();
    let mut client = server.begin(&Request::get("/stream?secret"));
    client.read_until_text("first");
    let (pid, worker) = eventually("it is busy", || {
        let list = list();
        let (pid, worker) = list.as_object()?.iter().find(|(_, worker)| worker["state"] == "busy")?;
        Some((pid.parse::<u32>().ok()?, worker.clone()))
    });
    let request = &worker["request"];
    assert_eq!((&request["method"], &request["path"]), (&json!("GET"), &json!("/stream")), "{worker}");
    assert!(worker["memory"]["rss"].as_u64() > Some(0) && worker["cpu"].is_number(), "{worker}");
    assert!(worker["started"].is_u64(), "{worker}");
    let drain = Request::post(&format!("/control/applications/app/workers/{pid}/drain"));
    server.control().send(&drain).0.expect(200);
    eventually("another one takes its place", || {
        let list = list();
        let mut others = list.as_object()?.iter().filter(|(other, _)| **other != pid.to_string());
        others.any(|(_, worker)| worker["state"] == "idle").then_some(())
    });
    assert!(is_alive(pid), "it has a request");
    server.site.write("go", "");
    client.read_until_text("second");
    drop(client);
    eventually("it ends", || (!is_alive(pid)).then_some(()));
}

pub(crate) fn restart_under_load(runtime: &Runtime) {
    restart_under_load_with(runtime, json!({}));
    if let AtOnce::Several { ref four, .. } = runtime.at_once {
        restart_under_load_with(runtime, four.clone());
    }
}

fn restart_under_load_with(runtime: &Runtime, options: Value) {
    let server = runtime.serve_with(with(options, "processes", json!(2)));
    let load = Load::start(server.address().socket(), "/slow?3", 6);
    for _ in 0..2 {
        load.await_more(20);
        let before = server.get("/pid").expect(200).text().parse::<u32>().ok();
        server.control().get("/control/applications/app/restart").0.expect(200);
        eventually("the old one has ended", || before.is_none_or(|pid| !is_alive(pid)).then_some(()));
    }
    load.await_more(20);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
}
