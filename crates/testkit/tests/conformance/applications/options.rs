//! Options that applications of all languages have (section 20). How processes come and go is in `lifecycle`,
//! what scripts see of it in `php`.

use corral_testkit::{Daemon, Site, assert_says, daemon, eventually, php_app, site};
use serde_json::{Value, json};

const REFUSED: &str = "Invalid configuration.";

/// A daemon with nothing in it, and an application that is right.
struct Bench {
    server: Daemon,
    site: Site,
}

impl Bench {
    fn new() -> Self {
        let site = site().file("index.php", "<?php echo 'x';");
        Self { server: daemon().start_unconfigured(), site }
    }

    fn with(&self, option: &str, value: Value) -> Value {
        let mut app = json!({ "type": "php", "root": self.site.root(), "processes": { "spare": 0 } });
        app[option] = value;
        json!({ "applications": { "app": app } })
    }

    #[track_caller]
    fn check_right(&self, option: &str, value: Value) {
        self.server.control().put("/config", &self.with(option, value)).expect_done();
    }

    #[track_caller]
    fn check_wrong(&self, option: &str, value: Value, detail: &str) {
        let reply = self.server.control().put("/config", &self.with(option, value));
        assert_says(&reply.expect_refused(400, REFUSED), detail);
    }
}

/// Options: applications.{N}.processes, applications.{N}.processes.max, applications.{N}.processes.spare,
/// applications.{N}.processes.idle_timeout
#[test]
fn numbers_of_processes_are_checked() {
    let bench = Bench::new();
    for right in [
        json!(1),
        json!("auto"),
        json!({}),
        json!({ "max": 3 }),
        json!({ "max": 1_000, "spare": 0 }),
        json!({ "idle_timeout": 0 }),
        json!({ "idle_timeout": 2_147_483 }),
    ] {
        bench.check_right("processes", right);
    }
    let check = |value, detail| bench.check_wrong("processes", value, detail);
    check(json!(0), "The \"processes\" number must be equal to or greater than 1.");
    check(
        json!(1_000_001),
        "The \"processes\" number must not exceed 1000000: each is a process of the system.",
    );
    check(json!({ "max": 0 }), "The \"max\" number must be equal to or greater than 1.");
    check(
        json!({ "max": 1_000_001 }),
        "The \"max\" number must not exceed 1000000: each is a process of the system.",
    );
    check(json!({ "spare": -1 }), "The \"spare\" number must not be negative.");
    check(json!({ "max": 2, "spare": 3 }), "The \"spare\" number must be less than or equal to \"max\".");
    check(json!({ "spare": 2 }), "The \"spare\" number must be less than or equal to \"max\".");
    check(json!({ "idle_timeout": -1 }), "The \"idle_timeout\" number must not be negative.");
    check(json!({ "idle_timeout": 2_147_484 }), "The \"idle_timeout\" number must not exceed 2147483.");
    check(json!("many"), "The \"processes\" string must be \"auto\".");
    check(json!({ "min": 1 }), "Unknown parameter \"min\".");
}

/// An application that keeps no idle workers is not started, and so not tested, before its first request.
///
/// Options: applications.{N}.processes.spare
#[test]
fn without_spare_processes_nothing_is_started_before_it_is_needed() {
    let site = site();
    let app = json!({ "type": "php", "root": site.path("later"), "processes": { "max": 2, "spare": 0 } });
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let figures = || server.control().get("/status/applications/app").json();
    assert_eq!(figures()["processes"], json!({ "running": 0, "starting": 0, "idle": 0 }));
    assert_eq!(figures().get("last_error"), None);
    server.expect_processes("\"app\" prototype", 0);
    server.get("/").expect(503);
    let figures = figures();
    assert!(figures["last_error"].as_str().is_some_and(|error| error.contains("later")), "{figures}");
    site.write("later/index.php", "<?php echo 'here';");
    eventually("it is tried again", || (server.get("/").status == 200).then_some(()));
    server.get("/").expect(200).expect_body("here");
}

/// Each costs nothing before it is used.
#[test]
fn there_may_be_many_applications() {
    let site = site().file("index.php", "<?php echo 'x';");
    let app = json!({ "type": "php", "root": site.root(), "processes": { "spare": 0 } });
    let apps: serde_json::Map<_, _> = (0..999).map(|n| (format!("app-{n}"), app.clone())).collect();
    let config =
        json!({ "applications": apps, "routes": [{ "action": { "pass": "applications/app-998" } }] });
    let server = daemon().config(config).start();
    server.get("/").expect(200).expect_body("x");
    assert_eq!(server.processes().iter().filter(|process| process.name.contains("app-")).count(), 2);
    let long = "x".repeat(1024 * 1024);
    server
        .control()
        .put("/config/applications", &json!({ long.as_str(): app, "app-998": app }))
        .expect_done();
    server.get("/").expect(200).expect_body("x");
}

/// Options: applications.{N}.limits.memory, applications.{N}.limits.memory.soft, applications.{N}.limits.memory.hard
#[test]
fn bounds_on_memory_are_checked() {
    let bench = Bench::new();
    for right in
        [json!(1), json!({}), json!({ "soft": 1, "hard": 1 }), json!({ "hard": 99_999_999_999_999_u64 })]
    {
        bench.check_right("limits", json!({ "memory": right }));
    }
    let check = |memory, detail| bench.check_wrong("limits", json!({ "memory": memory }), detail);
    check(json!(0), "The \"memory\" number must be equal to or greater than 1.");
    check(json!({ "soft": 0 }), "The \"soft\" number must be equal to or greater than 1.");
    check(json!({ "hard": -1 }), "The \"hard\" number must be equal to or greater than 1.");
    check(
        json!({ "hard": 1.5 }),
        "The \"hard\" value must be an integer number, but not a fractional number.",
    );
    check(
        json!("64M"),
        "The \"memory\" value must be either an integer number or an object, but not a string.",
    );
    check(json!({ "soft": 2, "hard": 1 }), "The \"soft\" number must be less than or equal to \"hard\".");
    check(json!({ "max": 1 }), "Unknown parameter \"max\".");
}

/// Unit takes negative limits, with undefined results; no configuration can depend on that.
///
/// Options: applications.{N}.limits.timeout, applications.{N}.limits.requests, applications.{N}.limits.shm
#[test]
fn limits_are_checked() {
    let bench = Bench::new();
    bench.check_right("limits", json!({}));
    bench.check_right("limits", json!({ "timeout": 0, "requests": 0, "shm": 104_857_600 }));
    bench.check_right("limits", json!({ "timeout": 99_999_999_999_u64, "requests": 99_999_999_999_u64 }));
    for name in ["timeout", "requests", "shm"] {
        let detail = format!("The \"{name}\" number must not be negative.");
        bench.check_wrong("limits", json!({ name: -1 }), &detail);
    }
}

/// Options: applications.{N}.limits.requests_jitter, applications.{N}.limits.kill_after, applications.{N}.limits.slow,
/// applications.{N}.limits.queue, applications.{N}.limits.queue_timeout, applications.{N}.limits.concurrency
#[test]
fn limits_beyond_unit_are_checked() {
    let bench = Bench::new();
    for name in ["kill_after", "slow", "queue_timeout"] {
        bench.check_right("limits", json!({ name: 0 }));
        bench.check_right("limits", json!({ name: 2_147_483 }));
        let detail = format!("The \"{name}\" number must not exceed 2147483.");
        bench.check_wrong("limits", json!({ name: 2_147_484 }), &detail);
    }
    for name in ["queue", "concurrency"] {
        bench.check_right("limits", json!({ name: 0 }));
        bench.check_right("limits", json!({ name: 1_000_000 }));
        let detail = format!(
            "The \"{name}\" number must not exceed 1000000: each request takes memory of the router."
        );
        bench.check_wrong("limits", json!({ name: 1_000_001 }), &detail);
    }
    for name in ["kill_after", "slow", "queue", "queue_timeout", "concurrency"] {
        let detail = format!("The \"{name}\" number must not be negative.");
        bench.check_wrong("limits", json!({ name: -1 }), &detail);
        let detail = format!("The \"{name}\" value must be an integer number, but not a fractional number.");
        bench.check_wrong("limits", json!({ name: 0.5 }), &detail);
    }
    for right in [json!(0), json!(0.25), json!(1)] {
        bench.check_right("limits", json!({ "requests": 10, "requests_jitter": right }));
    }
    let detail = "The \"requests_jitter\" number must be between 0 and 1.";
    for wrong in [json!(-0.1), json!(1.1), json!(50)] {
        bench.check_wrong("limits", json!({ "requests_jitter": wrong }), detail);
    }
}

/// Options: applications.{N}.environment.{VAR}
#[test]
fn names_and_values_of_the_environment_are_checked() {
    let bench = Bench::new();
    bench.check_right("environment", json!({ "A": "", "b c": "d=e" }));
    let check = |value, detail| bench.check_wrong("environment", value, detail);
    check(json!({ "": "a" }), "The environment name must not be empty.");
    check(json!({ "a\0": "a" }), "The environment name must not contain null character.");
    check(json!({ "a=b": "a" }), "The environment name must not contain '=' character.");
    check(json!({ "A": 1 }), "The \"A\" environment value must be a string.");
    check(json!({ "A": "a\0" }), "The \"A\" environment value must not contain null character.");
}

/// Options: applications.{N}.type
#[test]
fn the_type_names_a_module_that_is_there() {
    let bench = Bench::new();
    let version = bench.server.control().get("/status/modules/php/version").json();
    let version = version.as_str().expect("there is one PHP").to_owned();
    let major = version.split('.').next().expect("a version has parts");
    for right in ["php".to_owned(), format!("php {major}"), format!("php{major}"), format!("php {version}")] {
        bench.check_right("type", json!(right));
    }
    for wrong in ["php 4", "pehape", ""] {
        let detail =
            format!("The module to run \"{wrong}\" is not found among the available application modules.");
        bench.check_wrong("type", json!(wrong), &detail);
    }
    let nothing = json!({ "applications": { "app": {} } });
    let reply = bench.server.control().put("/config", &nothing);
    assert_eq!(reply.expect_refused(400, REFUSED), "Application must have the \"type\" property set.");
}

/// Options: applications.{N}.user, applications.{N}.group
#[test]
fn workers_run_as_the_user_and_the_group_that_are_named() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let site = site().file("index.php", "<?php echo json_encode([posix_getuid(), posix_getgid()]);");
    let app = php_app(&site).with("user", json!("nobody")).with("group", json!("daemon"));
    let server = daemon().application(app).start();
    let found = server.get("/").expect(200).json();
    assert_eq!(found, json!([id("/etc/passwd", "nobody"), id("/etc/group", "daemon")]));
}

fn id(file: &str, name: &str) -> u32 {
    let text = std::fs::read_to_string(file).expect("the system has users");
    let line = text.lines().find(|line| line.split(':').next() == Some(name)).expect("everybody has it");
    line.split(':').nth(2).and_then(|id| id.parse().ok()).expect("the third field is the number")
}

/// Options: applications.{N}.user, applications.{N}.group, applications.{N}.working_directory
#[test]
fn what_cannot_be_put_in_force_is_refused_with_its_reason() {
    let bench = Bench::new();
    for (option, value) in
        [("user", "no-such-user"), ("group", "no-such-group"), ("working_directory", "/no/such/folder")]
    {
        let mut config = bench.with(option, json!(value));
        config["applications"]["app"]["processes"] = json!(1);
        let reply = bench.server.control().put("/config", &config);
        let detail = reply.expect_refused(500, "Failed to apply new configuration.");
        assert!(detail.contains(value) && detail.contains("app"), "{option}: {detail}");
        assert_eq!(bench.server.control().get("/config/applications").json(), json!({}));
    }
}

/// The first target is that of an application that is passed to without one.
///
/// Options: applications.{N}.targets.{N}.root
#[test]
fn targets_are_checked() {
    let bench = Bench::new();
    let root = bench.site.root();
    let put = |app: Value, pass: &str| {
        let config = json!({ "routes": [{ "action": { "pass": pass } }], "applications": { "app": app } });
        bench.server.control().put("/config", &config)
    };
    let app = json!({ "type": "php", "targets": { "a": { "root": root } }, "processes": { "spare": 0 } });
    for pass in ["applications/app", "applications/app/a"] {
        put(app.clone(), pass).expect_done();
    }
    let detail = put(app.clone(), "applications/app/b").expect_refused(400, REFUSED);
    assert_eq!(detail, "Request \"pass\" points to invalid location \"applications/app/b\".");
    for twin in ["root", "script", "index"] {
        let mut app = app.clone();
        app[twin] = json!("/");
        let detail = put(app, "applications/app").expect_refused(400, REFUSED);
        assert_eq!(
            detail,
            format!("The \"{twin}\" option is mutually exclusive with the \"targets\" object.")
        );
    }
    let many: serde_json::Map<_, _> = (0..255).map(|n| (n.to_string(), json!({ "root": root }))).collect();
    let detail =
        put(json!({ "type": "php", "targets": many }), "applications/app").expect_refused(400, REFUSED);
    assert_eq!(detail, "The \"targets\" object must not contain more than 254 members.");
}

/// An application may have any name that is not empty.
///
/// Options: applications
#[test]
fn names_of_applications_are_free() {
    let site = site().file("index.php", "<?php echo 'x';");
    for name in ["a/b", "über", "a b", "%2F"] {
        let encoded = name.replace('%', "%25").replace('/', "%2F");
        let config = json!({
            "routes": [{ "action": { "pass": format!("applications/{encoded}") } }],
            "applications": { name: { "type": "php", "root": site.root() } },
        });
        daemon().config(config).start().get("/").expect(200).expect_body("x");
    }
}
