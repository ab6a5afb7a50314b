//! The beginning and the end: what runs then, and what is left.

use corral_testkit::{daemon, eventually, is_alive, php_app, site};
use serde_json::json;

use super::{PROTOTYPE, WORKER, php, php_site};

#[test]
fn the_processes_are_the_ones_of_the_design() {
    let site = php_site();
    let server = php(&site, 2);
    let workers = server.expect_processes(WORKER, 2);
    let prototype = server.expect_processes(PROTOTYPE, 1)[0];
    server.expect_processes("router", 1);
    server.expect_processes("controller", 1);
    let all = server.processes();
    assert_eq!(all.len(), 5, "{all:?}");
    for process in &all {
        let parent = if workers.contains(&process.pid) { prototype } else { server.pid() };
        assert_eq!(process.parent, parent, "{process:?}");
    }
    if rustix::process::geteuid().is_root() {
        assert!(all.iter().all(|process| process.uid != 0), "only main keeps its privileges: {all:?}");
    }
}

#[test]
fn stopping_leaves_nothing_behind() {
    let site = php_site();
    let mut server = php(&site, 2);
    let (control, pid_file) = (server.control_socket(), server.path("run/pid"));
    assert_eq!(std::fs::read_to_string(&pid_file).expect("a pid file").trim(), server.pid().to_string());
    assert!(server.stop().success());
    assert!(!control.exists(), "the control socket is removed");
    assert!(!pid_file.exists(), "the pid file is removed");
    let left: Vec<_> = std::fs::read_dir(server.path("tmp")).expect("the folder is there").collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(corral_testkit::Client::try_connect(server.address().socket()).is_err());
}

#[test]
fn stopping_with_requests_in_progress_ends_in_time() {
    let site = site().file("index.php", "<?php sleep(60);").file("ok.php", "<?php echo 'ok';");
    let mut server = daemon().application(php_app(&site).processes(2)).start();
    server.get("/ok.php").expect(200);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the request is being run", || {
        (server.control().get("/status/applications/php/requests/active").json() == 1).then_some(())
    });
    server.stop();
}

#[test]
fn the_configuration_survives_a_restart() {
    let site = php_site();
    let mut server = php(&site, 1);
    let before = server.control().get("/config").json();
    server.stop();
    server.restart();
    assert_eq!(server.control().get("/config").json(), before);
    server.get("/").expect(200);
}

#[test]
fn an_unusable_state_is_reported_and_does_not_stop_the_daemon() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    server.stop();
    std::fs::write(server.path("state/conf.json"), "{ not json").expect("damage the state");
    server.restart();
    server.expect_log("failed to restore previous configuration");
    assert_eq!(server.control().get("/config/listeners").json(), json!({}));
}

/// The pid file may name a process that was killed, or another one that has its number by now.
#[test]
fn files_that_a_killed_main_process_leaves_are_in_nobody_s_way() {
    let site = php_site();
    let mut server = php(&site, 1);
    for pid in [None, Some(std::process::id()), Some(1)] {
        let (main, others) = (server.pid(), server.processes());
        corral_testkit::signal(main, corral_testkit::Signal::KILL);
        server.wait_for_end();
        eventually("the others follow", || others.iter().all(|process| !is_alive(process.pid)).then_some(()));
        assert_eq!(server.pid_in_file(), Some(main));
        assert!(server.control_socket().exists());
        if let Some(pid) = pid {
            std::fs::write(server.path("run/pid"), format!("{pid}\n")).expect("write the pid file");
        }
        server.restart();
        assert_eq!(server.pid_in_file(), Some(server.pid()));
        server.get("/").expect(200);
    }
    server.upgrade();
    server.get("/").expect(200);
}

#[test]
fn a_pid_file_that_another_daemon_has_written_stays() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let path = server.path("run/pid");
    let other = daemon().argument("--pid").argument(path.to_str().expect("text")).start_unconfigured();
    assert_eq!(server.pid_in_file(), Some(other.pid()), "the last one is right");
    server.stop();
    assert_eq!(server.pid_in_file(), Some(other.pid()));
}

#[test]
fn a_second_daemon_with_the_same_control_socket_does_not_start() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let socket = server.control_socket();
    let address = format!("unix:{}", socket.display());
    let folder = site().writable_folder("state").writable_folder("tmp");
    let path = |name: &str| folder.path(name).display().to_string();
    let (state, temp, pid) = (path("state"), path("tmp"), path("pid"));
    let arguments = ["--control", &address, "--statedir", &state, "--tmpdir", &temp, "--pid", &pid];
    let output = std::process::Command::new(&corral_testkit::executables().corral)
        .args(["daemon", "--no-daemon"])
        .args(arguments)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("another daemon serves it"), "{text}");
    assert!(text.contains(socket.to_str().expect("text")), "{text}");
    assert!(!folder.path("pid").exists(), "nobody is misled");
    server.get("/").expect(200);
    assert_eq!(server.control().get("/config/routes/0/action/return").json(), 200);
}

/// The stored configuration is not to blame for routers that die.
#[test]
fn routers_that_die_at_the_start_cost_no_configuration() {
    let site = php_site();
    let mut server = php(&site, 2);
    let before = server.control().get("/config").json();
    server.stop();
    let killer = std::thread::spawn(|| {
        let mut killed = Vec::new();
        while killed.len() < 3 {
            let router = eventually("another router is started", || {
                let all = corral_testkit::descendants(std::process::id()).into_iter();
                all.filter(|process| process.name == "router")
                    .map(|router| router.pid)
                    .find(|pid| !killed.contains(pid))
            });
            corral_testkit::signal(router, corral_testkit::Signal::KILL);
            killed.push(router);
        }
    });
    server.restart();
    killer.join().expect("they were killed");
    assert_eq!(server.control().get("/config").json(), before);
    eventually("it serves", || {
        let mut client = server.connect();
        client.try_send(&corral_testkit::Request::get("/")).ok().filter(|response| response.status == 200)
    });
    assert!(!server.log().contains("failed to apply"), "{}", server.log());
    server.expect_processes(WORKER, 2);
}
