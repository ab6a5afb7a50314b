//! SIGUSR2: another main process takes over while the old one finishes.

use std::fs;
use std::path::Path;

use corral_testkit::{
    Address, Client, Daemon, Load, Request, Run, Signal, Site, daemon, descendants, eventually, executables,
    is_alive, php_app, signal, site,
};
use serde_json::json;

const SLOW: &str = "<?php usleep(1500000); echo 'done';";

fn php_site() -> Site {
    site().file("index.php", "<?php echo 'x';").file("slow.php", SLOW).file("a.txt", "x")
}

fn wait_for_end(old: u32) {
    eventually("the old process ends", || (!is_alive(old)).then_some(()));
}

#[test]
fn socket_files_and_the_pid_file_stay_with_the_one_that_serves() {
    let site = php_site();
    let mut server = daemon().start_unconfigured();
    let path = server.path("run/site.sock");
    server
        .control()
        .put(
            "/config",
            &json!({
                "listeners": { format!("unix:{}", path.display()): { "pass": "applications/php" } },
                "applications": { "php": { "type": "php", "root": site.root() } },
            }),
        )
        .expect_done();
    let old = server.upgrade();
    wait_for_end(old);
    Client::try_connect_unix(&path).expect("it listens").get("/").expect(200).expect_text("x");
    server.control().put("/config/listeners", &json!({})).expect_done();
    assert!(!path.exists(), "the new owner removes it");
    assert_eq!(server.pid_in_file(), Some(server.pid()));
    signal(server.pid(), Signal::TERM);
    wait_for_end(server.pid());
    assert!(!server.control_socket().exists() && server.pid_in_file().is_none(), "nothing is left behind");
}

/// Everything goes on, and the next attempt may be a better one.
#[track_caller]
fn expect_unchanged(server: &Daemon, pid: u32, client: &mut Client) {
    server.expect_log("could not take over");
    assert_eq!(server.pid_in_file(), Some(pid));
    client.get("/").expect(200).expect_text("x").expect_no_field("Connection");
    eventually("the control API answers again", || {
        server.control().try_send(&Request::get("/config")).ok().map(drop)
    });
    server.get("/").expect(200).expect_text("x");
    server.expect_processes("router", 1);
    let mains =
        descendants(std::process::id()).into_iter().filter(|process| process.name.starts_with("main v"));
    assert_eq!(mains.map(|process| process.pid).collect::<Vec<_>>(), [pid]);
}

#[test]
fn an_executable_that_cannot_take_over_changes_nothing() {
    let site = php_site();
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("corral");
    place(&executables().corral, &executable);
    let modules = executables().corral.parent().expect("it is in a folder").display().to_string();
    let mut server = daemon()
        .executable(&executable)
        .argument("--modulesdir")
        .argument(&modules)
        .application(php_app(&site))
        .start();
    let mut client = server.connect();
    client.get("/").expect(200);
    place(Path::new("/bin/false"), &executable);
    let pid = server.pid();
    signal(pid, Signal::USR2);
    expect_unchanged(&server, pid, &mut client);
    place(&executables().corral, &executable);
    let old = server.upgrade();
    wait_for_end(old);
    server.get("/").expect(200).expect_text("x");
}

/// Replaces an executable as a package manager does.
fn place(source: &Path, target: &Path) {
    let new = target.with_extension("new");
    fs::copy(source, &new).expect("copy the executable");
    fs::rename(new, target).expect("replace the executable");
}

#[test]
fn a_configuration_that_does_not_work_any_more_changes_nothing() {
    let (good, gone) = (php_site(), php_site());
    let server = daemon().application(php_app(&good)).start();
    let lost = json!({ "type": "php", "root": gone.root() });
    server.control().put("/config/applications/lost", &lost).expect_done();
    let mut client = server.connect();
    client.get("/").expect(200);
    drop(gone);
    signal(server.pid(), Signal::USR2);
    server.expect_log("application \"lost\"");
    expect_unchanged(&server, server.pid(), &mut client);
}

#[test]
fn the_command_says_how_it_went() {
    let site = php_site();
    let mut server = daemon().application(php_app(&site)).start();
    let old = server.pid();
    let pid_file = server.path("run/pid").display().to_string();
    let done = Run::to_end(&["upgrade", "--pid", &pid_file]).expect_success();
    server.adopt_successor();
    let new = server.pid();
    assert_eq!(done.stdout, format!("process {new} serves; process {old} finishes what it has begun\n"));
    wait_for_end(old);
    server.get("/").expect(200).expect_text("x");
    drop(site);
    let failed = Run::to_end(&["upgrade", "--pid", &pid_file]);
    // It has been seen to begin and to end, whatever time that took.
    let told = format!("process {new} goes on: the new process could not take over");
    assert!(!failed.status.success() && failed.stderr.contains(&told), "{}", failed.stderr);
    let control = server.control_socket().display().to_string();
    let failed = Run::to_end(&["upgrade", "--pid", &pid_file, "--control", &control]);
    assert!(!failed.status.success() && failed.stderr.contains("application \"php\""), "{}", failed.stderr);
    let told = eventually("the status tells", || {
        let status = server.control().try_send(&Request::get("/status")).ok()?.json();
        let told = status["daemon"]["last_error"].as_str()?.to_owned();
        Some(told).filter(|text| text.contains("could not take over"))
    });
    assert!(told.contains("application \"php\""), "{told}");
    let missing = Run::to_end(&["upgrade", "--pid", "/no/such/file"]);
    assert!(!missing.status.success() && missing.stderr.contains("/no/such/file"), "{}", missing.stderr);
}

/// A change may take minutes, and an upgrade begins behind it.
#[test]
fn the_command_waits_for_a_change_that_goes_on() {
    let once =
        "<?php $mark = __DIR__ . '/marks/slowly'; if (file_exists($mark)) { unlink($mark); sleep(6); }";
    let site = php_site().file("preload.php", once).writable_folder("marks").file("marks/slowly", "");
    let mut server = daemon().application(php_app(&site)).start();
    let preload = site.path("preload.php");
    let app = php_app(&site).admin("opcache.preload", preload.to_str().expect("UTF-8"));
    let (old, pid_file) = (server.pid(), server.path("run/pid").display().to_string());
    let control = server.control_socket().display().to_string();
    std::thread::scope(|scope| {
        let change =
            scope.spawn(|| server.control().put("/config/applications/slow", &app.value()).expect_done());
        eventually("it loads", || (!site.path("marks/slowly").exists()).then_some(()));
        let done = Run::to_end(&["upgrade", "--pid", &pid_file, "--control", &control]).expect_success();
        assert!(done.stdout.contains(&format!("process {old} finishes")), "{done:#?}");
        change.join().expect("the change is made");
    });
    server.adopt_successor();
    assert_eq!(server.control().get("/config/applications/slow/type").json(), "php");
    wait_for_end(old);
}

/// Most programs end at the signal that asks for an upgrade.
#[test]
fn the_command_leaves_alone_what_is_no_daemon() {
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    let site = site().file("pid", other.id().to_string());
    let path = site.path("pid").display().to_string();
    let refused = Run::to_end(&["upgrade", "--pid", &path]);
    assert!(is_alive(other.id()), "{}", refused.stderr);
    refused.expect_one_line(&[&format!("process {}, which \"{path}\" names, is not a daemon", other.id())]);
    other.kill().expect("it is ours");
    other.wait().expect("it is ours");
    Run::to_end(&["upgrade", "--pid", &path]).expect_one_line(&["is not a daemon"]);
}

/// Applications may take minutes to load in the new process; until then the old one must go on in every respect.
#[test]
fn a_router_that_dies_while_the_new_process_starts_is_replaced() {
    let site = php_site().file("preload.php", "<?php if (file_exists(__DIR__ . '/slowly')) sleep(5);");
    let preload = site.path("preload.php");
    let app = php_app(&site).admin("opcache.preload", preload.to_str().expect("UTF-8"));
    let mut server = daemon().application(app).start();
    site.write("slowly", "");
    let old = server.pid();
    signal(old, Signal::USR2);
    server.expect_log("is to take over");
    let router = server.expect_processes("router", 1)[0];
    server.kill(router);
    eventually("it serves again", || {
        let mut client = Client::try_connect(server.address().socket()).ok()?;
        client.try_send(&Request::get("/")).ok().filter(|response| response.status == 200)
    });
    assert_eq!(server.pid_in_file(), Some(old), "the new process still starts");
    server.adopt_successor();
    server.get("/").expect(200).expect_text("x");
    wait_for_end(old);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn no_request_is_lost_by_upgrades() {
        let site = php_site();
        let share = json!({
            "share": format!("{}$uri", site.root()), "types": ["text/*"],
            "fallback": { "pass": "applications/php" },
        });
        let app = json!({ "type": "php", "root": site.root(), "processes": 2 });
        let config = json!({ "routes": [{ "action": share }], "applications": { "php": app } });
        let mut server = daemon().config(config).start();
        let address = server.address().socket();
        let loads = [Load::start(address, "/", 12), Load::start(address, "/a.txt", 12)];
        for _ in 0..2 {
            let old = server.upgrade();
            loads.iter().for_each(|load| load.await_more(50));
            wait_for_end(old);
            loads.iter().for_each(|load| load.await_more(50));
        }
        for tally in loads.map(Load::stop) {
            assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
        }
        server.expect_processes("router", 1);
        server.expect_processes("\"php\" worker", 2);
        assert_eq!(server.control().get("/config").json()["applications"]["php"]["processes"], 2);
    }

    #[test]
    fn what_was_begun_is_finished_by_the_old_process() {
        let site = php_site();
        let mut server = daemon().application(php_app(&site)).start();
        let [mut idle, mut busy] = [(); 2].map(|()| server.connect());
        idle.get("/").expect(200).expect_no_field("Connection");
        busy.write(Request::get("/slow.php").encode());
        eventually("the slow request runs", || {
            let status = server.control().get("/status").json();
            (status["applications"]["php"]["requests"]["active"] == 1).then_some(())
        });
        let old = server.upgrade();
        assert!(is_alive(old), "it has not finished");
        idle.get("/").expect(200).expect_text("x").expect_field("Connection", "close");
        busy.read_response().expect(200).expect_text("done").expect_field("Connection", "close");
        wait_for_end(old);
        server.get("/").expect(200).expect_text("x");
    }

    /// The request that holds the first process ends only when the processes after it have been replaced themselves.
    #[test]
    fn a_main_process_that_ends_leaves_those_after_it_alone() {
        let gate = "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); \
        clearstatcache(); }";
        let site = php_site().file("held.php", gate);
        let mut server = daemon().application(php_app(&site)).start();
        let mut held = server.begin(&Request::get("/held.php"));
        eventually("the request runs", || {
            let status = server.control().get("/status").json();
            (status["applications"]["php"]["requests"]["active"] == 1).then_some(())
        });
        let first = server.upgrade();
        let second = server.upgrade();
        wait_for_end(second);
        let processes = server.processes();
        site.write("gate", "");
        held.read_response().expect(200);
        wait_for_end(first);
        server.get("/").expect(200).expect_text("x");
        assert!(
            is_alive(server.pid()) && processes.iter().all(|process| is_alive(process.pid)),
            "{}",
            server.log()
        );
    }

    #[test]
    fn configuration_files_are_read_by_the_new_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("site.json");
        let address = Address::fresh();
        let say = |text: &str| {
            let action = json!({ "return": 200, "response_headers": { "X-Text": text } });
            let listeners = json!({ address.to_string(): { "pass": "routes" } });
            let config = json!({ "listeners": listeners, "routes": [{ "action": action }] });
            fs::write(&file, config.to_string()).expect("write the configuration");
        };
        say("first");
        let path = file.display().to_string();
        let mut server = daemon().argument("--config").argument(&path).start_unconfigured();
        let get = || Client::connect(address.socket()).get("/").expect(200);
        get().expect_field("X-Text", "first");
        say("second");
        let old = server.upgrade();
        wait_for_end(old);
        get().expect_field("X-Text", "second");
    }
}
