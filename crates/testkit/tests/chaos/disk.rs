//! Disks without room, and such that cannot be written to: what cannot be stored is said, nothing that was is spoilt,
//! everything that needs no room goes on, and all is as before when there is room again. Needs root.

use std::fs;

use corral_testkit::{Request, Signal, SmallDisk, daemon, eventually, signal, site};
use serde_json::{Value, json};

use super::site::{Busy, N_WORKERS, WORKER};

fn stored(disk: &SmallDisk) -> Value {
    let text = fs::read_to_string(disk.path("conf.json")).expect("there is a whole one at any time");
    serde_json::from_str(&text).expect("JSON")
}

fn warning(busy: &Busy, n: usize) -> String {
    busy.change_routes(n).json()["warning"].as_str().unwrap_or_default().to_owned()
}

/// A change while the state directory is in this condition, and what comes of it afterwards.
fn check_state(break_it: impl Fn(&SmallDisk), mend: impl Fn(&SmallDisk), reason: &str) {
    let busy = Busy::start();
    let Some(disk) = SmallDisk::over(&busy.server.path("state"), 64) else { return };
    assert_eq!(warning(&busy, 1), "", "there is room");
    let before = stored(&disk);
    break_it(&disk);
    let warning = warning(&busy, 2);
    assert!(warning.contains("in force, but not stored") && warning.contains(reason), "{warning}");
    busy.server.expect_log("failed to store current configuration");
    let status = || busy.server.control().get("/status").json()["config"]["last_error"].clone();
    assert!(status().as_str().is_some_and(|error| error.contains(reason)), "{}", status());
    assert_eq!(stored(&disk), before);
    assert!(!disk.path("conf.new").exists());
    let script = Request::new("PUT", "/js_modules/m").body("export default {}");
    busy.server.control().send(&script).expect_refused(500, "Failed to store script.");
    signal(busy.server.pid(), Signal::USR2);
    busy.server.expect_log("upgrade: the current configuration is not stored");
    busy.await_more();
    mend(&disk);
    eventually("it is stored after all", || status().is_null().then_some(()));
    assert_eq!(stored(&disk), busy.server.control().get("/config").json());
    busy.server.expect_log("has been stored at last");
    busy.server.control().send(&script).0.expect(200);
    let (php, log) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.is_empty(), "{:?}", php.failures);
    assert_eq!(log.matches("failed to store current configuration").count(), 1, "it is said once\n{log}");
}

#[test]
fn a_change_that_cannot_be_stored_says_so_and_is_stored_later() {
    check_state(SmallDisk::fill, SmallDisk::free, "No space left on device");
}

#[test]
fn a_read_only_state_directory_is_no_obstacle_to_changes() {
    check_state(|disk| disk.set_read_only(true), |disk| disk.set_read_only(false), "Read-only file system");
}

#[track_caller]
fn expect_whole_lines(log: &str, is_begin: impl Fn(&str) -> bool) {
    let torn: Vec<_> = log.lines().filter(|line| !is_begin(line)).collect();
    assert!(torn.is_empty(), "{torn:?}");
}

#[test]
fn a_full_disk_for_the_log_ends_nobody() {
    let site = site().writable_folder("disk");
    let Some(disk) = SmallDisk::over(&site.path("disk"), 32) else { return };
    let path = disk.path("log");
    let log = || fs::read_to_string(&path).expect("text");
    let text = path.to_str().expect("text");
    let busy = Busy::start_with(daemon().argument("--log").argument(text), &json!({}));
    disk.fill();
    for _ in 0..20 {
        // Each is several lines, of main and of the router.
        busy.server.kill(busy.server.expect_processes(WORKER, N_WORKERS)[0]);
        busy.php.await_more(5);
    }
    let length = log().len();
    busy.restart_application();
    signal(busy.server.pid(), Signal::USR1);
    busy.await_more();
    assert_eq!(log().len(), length, "it was full");
    disk.free();
    busy.restart_application();
    eventually("lines appear again", || (log().len() > length).then_some(()));
    let main = busy.server.pid();
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(
        php.failures.len() <= 20 && php.failures.iter().all(|it| it.contains(" 503 ")),
        "{:?}",
        php.failures
    );
    let log = log();
    assert!(log.contains(&format!(" {main}#{main} ")) && !log.contains("panicked"), "{log}");
    // The line that was torn by the end of the room is followed by a whole one.
    let year = &log[.."2026/".len()];
    expect_whole_lines(&log, |line| {
        year.starts_with(line) || (line.starts_with(year) && line.matches(year).count() == 1)
    });
}

#[test]
fn a_full_disk_for_the_access_log_costs_its_entries_alone() {
    let site = site().writable_folder("disk");
    let Some(disk) = SmallDisk::over(&site.path("disk"), 32) else { return };
    let busy = Busy::start();
    let settings = json!({ "path": disk.path("access.log"), "format": "begin $request_line $status end" });
    busy.server.control().put("/config/access_log", &settings).expect_done();
    let log = || fs::read_to_string(disk.path("access.log")).expect("text");
    busy.server.expect_log("write to the access log: No space left on device");
    busy.await_more();
    fs::File::options()
        .write(true)
        .open(disk.path("access.log"))
        .and_then(|file| file.set_len(0))
        .expect("empty it");
    eventually("entries appear again", || (log().lines().count() > 100).then_some(()));
    expect_whole_lines(&log(), |line| line.starts_with("begin ") || line.is_empty());
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.is_empty(), "{:?}", php.failures);
}

#[test]
fn bodies_that_cannot_be_stored_are_refused_until_there_is_room() {
    let busy = Busy::start();
    let Some(disk) = SmallDisk::over(&busy.server.path("tmp"), 4096) else { return };
    let send = |n| busy.server.send(&Request::post("/length.php").body("x".repeat(n)));
    // Nothing is stored before, as what an answered request gives back a moment later would be room.
    disk.fill();
    send(1_000_000).expect(503);
    busy.server.expect_log("request refused with 503: store the body: No space left on device");
    send(10_000).expect(200).expect_body("10000");
    busy.await_more();
    disk.free();
    send(1_000_000).expect(200).expect_body("1000000");
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.is_empty(), "{:?}", php.failures);
}

#[test]
fn responses_that_cannot_be_stored_wait_for_their_clients() {
    let busy = Busy::start();
    let Some(disk) = SmallDisk::over(&busy.server.path("tmp"), 4096) else { return };
    disk.fill();
    let mut slow = busy.server.connect();
    slow.write(Request::get("/long.php").encode());
    busy.server.expect_log("store a response: No space left on device");
    busy.await_more();
    let response = slow.read_response().expect(200);
    assert_eq!(response.body.len(), 50_000_000);
    disk.free();
    assert_eq!(busy.server.get("/long.php").expect(200).body.len(), 50_000_000);
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.is_empty(), "{:?}", php.failures);
}
