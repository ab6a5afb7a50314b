//! The configurations that were in force: noted with their authors, kept over restarts, and put in force again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use corral_testkit::{Daemon, Request, SmallDisk, daemon, eventually};
use serde_json::{Value, json};

use crate::tool::Tool;

fn server() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

fn history(server: &Daemon) -> Vec<Value> {
    server.control().get("/config/history").json().as_array().expect("a list").clone()
}

fn ids(server: &Daemon) -> Vec<u64> {
    history(server).iter().map(|entry| entry["id"].as_u64().expect("a number")).collect()
}

fn set_status(server: &Daemon, status: u16) {
    server.control().put("/config/routes/0/action/return", &json!(status)).expect_done();
}

fn undo(server: &Daemon, id: u64) {
    server.control().send(&Request::post(&format!("/config/history/{id}"))).expect_done();
}

#[test]
fn the_history_outlives_restarts_and_upgrades() {
    let mut server = server();
    set_status(&server, 201);
    let before = history(&server);
    assert_eq!(before[0]["changed"], json!(["/routes/0/action/return"]));
    assert!(before[0]["author"].as_str().is_some_and(|author| author.ends_with(", by the control socket")));
    server.stop();
    server.restart();
    assert_eq!(history(&server), before, "what was stored is what was in force");
    server.upgrade();
    assert_eq!(history(&server), before);
    server.kill(server.expect_processes("controller", 1)[0]);
    eventually("another controller answers", || (history(&server) == before).then_some(()));
    undo(&server, before[1]["id"].as_u64().expect("a number"));
    server.get("/").expect(200);
    server.stop();
    server.restart();
    server.get("/").expect(200);
    let after = history(&server);
    assert_eq!((after.len(), &after[1..]), (before.len() + 1, &with_none_in_force(before)[..]));
}

fn with_none_in_force(mut entries: Vec<Value>) -> Vec<Value> {
    entries.iter_mut().for_each(|entry| entry["in_force"] = json!(false));
    entries
}

#[test]
fn files_of_the_history_are_the_owner_s_alone_and_bounded() {
    let server = server();
    for status in 300..420 {
        set_status(&server, status);
    }
    let folder = server.path("state/history");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> =
        fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 100);
    assert!(files.iter().all(|path| mode(path) == 0o600));
    assert_eq!(ids(&server).len(), 100);
    let oldest = *ids(&server).last().expect("there are some");
    let reply = server.control().send(&Request::post(&format!("/config/history/{}", oldest - 1)));
    reply.expect_refused(404, "Value doesn't exist.");
}

#[test]
fn broken_files_of_the_history_are_left_out() {
    let mut server = server();
    for status in [201, 202, 203] {
        set_status(&server, status);
    }
    let before = ids(&server);
    server.stop();
    let file = |id: u64| server.path(&format!("state/history/{id:010}"));
    fs::write(file(before[1]), "{\"id\": ").expect("write");
    fs::write(file(before[2]), [0xff; 100]).expect("write");
    fs::write(server.path("state/history/notes"), "mine").expect("write");
    fs::create_dir(file(77)).expect("make a folder");
    let broken = format!("configuration {} of the history is skipped", before[1]);
    server.restart();
    server.expect_log(&broken);
    server.expect_log("\"notes\" in the folder \"history\" is skipped");
    let rest: Vec<_> = before.iter().copied().filter(|id| !before[1..3].contains(id)).collect();
    assert_eq!(ids(&server), rest);
    set_status(&server, 204);
    assert!(ids(&server)[0] > before[0], "no number is given twice");
    assert_eq!(fs::read_to_string(server.path("state/history/notes")).expect("it is there"), "mine");
}

#[test]
fn a_full_disk_stops_no_change() {
    let server = server();
    let Some(disk) = SmallDisk::over(&server.path("state"), 64) else { return };
    set_status(&server, 201);
    disk.fill();
    let reply = server.control().put("/config/routes/0/action/return", &json!(202));
    reply.0.expect(200);
    server.get("/").expect(202);
    server.expect_log("the configuration in force is not stored in the history");
    assert_eq!(history(&server)[0]["in_force"], true);
    undo(&server, ids(&server)[1]);
    server.get("/").expect(201);
    disk.free();
    set_status(&server, 203);
    let newest = ids(&server)[0];
    assert!(disk.path(&format!("history/{newest:010}")).exists());
}

#[test]
fn changes_at_once_are_all_in_the_history() {
    let server = server();
    let before = ids(&server).len();
    thread::scope(|scope| {
        for n in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let step = json!({ "match": { "uri": format!("/{n}") }, "action": { "return": 204 } });
                let append = Request::post("/config/routes?comment=at%20once").body(step.to_string());
                server.control().send(&append).expect_done();
            });
        }
    });
    let all = history(&server);
    assert_eq!(all.len(), before + 8);
    assert!(all[..8].iter().all(|entry| entry["comment"] == "at once"));
    let newest = server.control().get(&format!("/config/history/{}", all[0]["id"])).json();
    assert_eq!(newest["config"], server.control().get("/config").json());
}

#[test]
fn an_undo_does_not_overwrite_another_change() {
    let server = server();
    set_status(&server, 201);
    let seen = history(&server);
    set_status(&server, 202);
    let tag = seen[0]["tag"].as_str().expect("a tag");
    let late = Request::post(&format!("/config/history/{}", seen[1]["id"])).field("If-Match", tag);
    server.control().send(&late).expect_refused(412, "Precondition failed.");
    server.get("/").expect(202);
}

#[test]
fn commands_list_and_undo() {
    let server = server();
    let control = server.control_address();
    let run = |arguments: &[&str]| Tool::new(&[arguments, &["--control", &control]].concat());
    let set = run(&["config", "set", "routes/0/action/return", "-", "--comment", "ein Versuch: ä&b"]);
    set.input("201").output();
    let list = run(&["config", "history"]).output();
    let first = list.lines().next().expect("a line");
    assert!(first.starts_with('*') && first.contains("/routes/0/action/return"), "{list}");
    assert!(first.contains("\"ein Versuch: ä&b\""), "{list}");
    assert_eq!(list.lines().filter(|line| line.starts_with('*')).count(), 1);
    assert!(run(&["config", "undo", "--comment", "back"]).output().contains("Reconfiguration done."));
    server.get("/").expect(200);
    run(&["config", "undo"]).output();
    server.get("/").expect(201);
    let oldest = ids(&server).last().expect("there is one").to_string();
    let shown = run(&["config", "history", &oldest]).output();
    assert!(shown.contains("\"config\""), "{shown}");
    run(&["config", "undo", "9999"]).fails(&["Value doesn't exist", "corral config history"]);
    let in_force = ids(&server)[0].to_string();
    run(&["config", "undo", &in_force]).fails(&["in force already"]);
    // Each change has one line in the log, with its author.
    let lines = server.log();
    let undone: Vec<_> = lines.lines().filter(|line| line.contains("POST /config/history/")).collect();
    assert_eq!(undone.len(), 2, "{lines}");
    assert!(undone[0].contains("by the control socket") && undone[0].ends_with(" (back)"), "{undone:?}");
}

/// The text of a reference is not what it stood for.
#[test]
fn references_that_files_do_not_have_any_more_are_not_put_in_force() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (path, key) = (folder.path().join("site.json"), folder.path().join("key"));
    fs::write(&key, "s3cret").expect("write the key");
    let write = |key: &str| {
        let app =
            json!({ "type": "process", "command": ["/bin/sleep", "1000"], "environment": { "KEY": key } });
        fs::write(&path, json!({ "applications": { "a": app } }).to_string()).expect("write the file");
    };
    write(&format!("${{file:{}}}", key.display()));
    let text = path.to_str().expect("text");
    let server =
        daemon().argument("--config").argument(text).argument("--config-writable").start_unconfigured();
    let first = ids(&server)[0];
    write("plain");
    Tool::new(&["reload", "--control", &server.control_address()]).output();
    eventually("the files are in force", || (ids(&server)[0] > first).then_some(()));
    let back = Request::post(&format!("/config/history/{first}"));
    let why = server.control().send(&back).expect_refused(400, "Invalid configuration.");
    assert!(why.contains("${file:") && !why.contains("s3cret"), "{why}");
    let in_force = server.control().get("/config/applications/a/environment/KEY").json();
    assert_eq!(in_force, json!("plain"));
}

/// A configuration of files has the history too; going back is for the files.
#[test]
fn configuration_files_are_an_author() {
    let folder = tempfile::tempdir().expect("make a folder");
    let path = folder.path().join("site.json");
    let write = |status: u16| {
        let config = json!({ "settings": { "http": { "server_version": status == 200 } }, "routes": [] });
        fs::write(&path, config.to_string()).expect("write the file");
    };
    write(200);
    let text = path.to_str().expect("text");
    let server = daemon().argument("--config").argument(text).start_unconfigured();
    write(201);
    let control = server.control_address();
    Tool::new(&["reload", "--control", &control]).output();
    let all = eventually("the files are in force", || {
        let all = history(&server);
        (all.len() == 2).then_some(all)
    });
    assert!(all.iter().all(|entry| entry["author"] == "configuration files"), "{all:?}");
    assert_eq!(all[0]["changed"], json!(["/settings/http/server_version"]));
    let back = Request::post(&format!("/config/history/{}", all[1]["id"]));
    server.control().send(&back).expect_refused(403, "The configuration is read-only.");
}
