//! Configuration from files: `--config`, `--watch`, SIGHUP, and `corral check` (beyond Unit).

use std::fs;
use std::os::unix::fs::symlink;

use corral_testkit::{
    Authority, Builder, Client, Daemon, Request, Run, Signal, Site, TlsClient, daemon, eventually, signal,
    site,
};
use serde_json::json;

use crate::tool::{Tool, text};

/// A configuration that answers every request with `status`, at the daemon's own address.
fn answers(status: u16) -> String {
    format!("listeners:\n  '${{env:SITE}}': {{pass: routes}}\nroutes:\n  - action: {{return: {status}}}\n")
}

/// A daemon that reads `path` of the site; its variable `SITE` is an address that is free.
pub(crate) fn reading(site: &Site, path: &str) -> (Builder, corral_testkit::Address) {
    let address = corral_testkit::Address::fresh();
    let path = site.path(path);
    let builder = daemon().argument("--config").argument(text(&path));
    (builder.environment("SITE", &address.to_string()), address)
}

#[track_caller]
fn expect_status(address: corral_testkit::Address, status: u16) {
    eventually(&format!("{address} answers {status}"), || {
        let mut client = Client::try_connect(address.socket()).ok()?;
        (client.get("/").status == status).then_some(())
    });
}

fn start(site: &Site, path: &str, more: &[&str]) -> (Daemon, corral_testkit::Address) {
    let (builder, address) = reading(site, path);
    let builder = more.iter().fold(builder, |builder, argument| builder.argument(argument));
    (builder.start_unconfigured(), address)
}

#[test]
fn a_yaml_file_is_the_configuration() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &[]);
    expect_status(address, 201);
    let config = server.control().get("/config").json();
    assert_eq!(config["listeners"][address.to_string()], json!({ "pass": "routes" }));
    assert!(!server.path("state/conf.json").exists(), "files are not stored");
}

#[test]
fn a_folder_is_merged_and_filled_in() {
    let site = site()
        .file(
            "conf/10-listeners.json",
            "{ // who\n \"listeners\": { \"${env:SITE}\": { \"pass\": \"routes\" }, }, }",
        )
        .file(
            "conf/20-routes.yaml",
            "routes:\n  - action:\n      return: ${env:STATUS}\n      location: ${file:../word}\n",
        )
        .file("conf/README", "not a configuration")
        .file("word", "https://example.com/there\n");
    let (builder, address) = reading(&site, "conf");
    let server = builder.environment("STATUS", "307").start_unconfigured();
    expect_status(address, 307);
    let reply = Client::connect(address.socket()).get("/").expect(307);
    reply.expect_field("Location", "https://example.com/there");
    let step = server.control().get("/config/routes/0/action").json();
    assert_eq!(step, json!({ "return": "${env:STATUS}", "location": "${file:../word}" }));
}

#[test]
fn a_file_that_is_not_utf8_is_refused_with_its_place() {
    let site = site().file("site.json", b"{\n \"access_log\": \"/x\xff\"}");
    let path = site.path("site.json");
    Tool::new(&["check", text(&path)]).fails(&["site.json:2:", "not valid UTF-8"]);
}

#[test]
fn hangup_reads_the_files_again() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &[]);
    expect_status(address, 201);
    site.write("site.yaml", answers(202));
    signal(server.pid(), Signal::HUP);
    expect_status(address, 202);
}

#[test]
fn a_bad_file_changes_nothing_and_all_its_problems_are_logged() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &[]);
    expect_status(address, 201);
    site.write(
        "site.yaml",
        format!("{}lisners: {{}}\nsettings:\n  http: {{idle_timeout: soon}}\n", answers(202)),
    );
    signal(server.pid(), Signal::HUP);
    let name = site.path("site.yaml");
    server.expect_log(&format!("{}:5:1: /lisners: Unknown parameter \"lisners\".", name.display()));
    server.expect_log(&format!("{}:7:10: /settings/http/idle_timeout: ", name.display()));
    server.expect_log("what ran before still runs");
    expect_status(address, 201);
    site.write("site.yaml", answers(203));
    signal(server.pid(), Signal::HUP);
    expect_status(address, 203);
}

#[test]
fn changes_are_noticed_with_watch() {
    let site = site().file("one/site.yaml", answers(201)).file("two/site.yaml", answers(202));
    symlink("one", site.path("data")).expect("make the link");
    let (server, address) = start(&site, "data/site.yaml", &["--watch"]);
    expect_status(address, 201);
    // As Kubernetes exchanges a ConfigMap.
    symlink("two", site.path("data.new")).expect("make the link");
    fs::rename(site.path("data.new"), site.path("data")).expect("exchange the link");
    expect_status(address, 202);
    // As an editor writes.
    site.write("two/site.yaml", "listeners: {");
    server.expect_log("data/site.yaml:");
    let last_error = || server.control().get("/status").json()["config"]["last_error"].clone();
    let told = eventually("the status tells", || last_error().as_str().map(str::to_owned));
    assert!(told.contains("data/site.yaml:"), "{told}");
    site.write("two/site.yaml", answers(203));
    expect_status(address, 203);
    assert!(last_error().is_null(), "{}", last_error());
}

#[test]
fn the_api_reads_and_does_not_change() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &[]);
    let control = server.control();
    for (path, body) in
        [("/config", json!({})), ("/config/routes", json!([])), ("/certificates/a", json!(""))]
    {
        let detail = control.put(path, &body).expect_refused(403, "The configuration is read-only.");
        assert!(detail.contains("site.yaml") && detail.contains("--config-writable"), "{detail}");
    }
    control.delete("/config").expect_refused(403, "The configuration is read-only.");
    assert_eq!(control.get("/config/routes/0/action/return").json(), 201);
    eventually("no connection is at work", || {
        (control.get("/status/connections/active").json() == 0).then_some(())
    });
    expect_status(address, 201);
}

#[test]
fn the_api_changes_when_it_may_until_the_files_are_read_again() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &["--config-writable"]);
    server.control().put("/config/routes/0/action/return", &json!(205)).expect_done();
    expect_status(address, 205);
    signal(server.pid(), Signal::HUP);
    expect_status(address, 201);
}

#[test]
fn a_controller_that_is_replaced_knows_the_files() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) = start(&site, "site.yaml", &[]);
    expect_status(address, 201);
    server.kill(
        server.named("corral: controller").first().copied().unwrap_or_else(|| server.named("controller")[0]),
    );
    eventually("the API answers and still refuses", || {
        let put = Request::new("PUT", "/config").body("{}");
        server.control().try_send(&put).ok().filter(|reply| reply.0.status == 403)
    });
    site.write("site.yaml", answers(202));
    signal(server.pid(), Signal::HUP);
    expect_status(address, 202);
}

#[test]
fn a_bad_file_at_the_start_is_told_with_its_places() {
    let site = site().file(
        "site.json",
        "{\n  \"listeners\": { \"*:80\": { \"pass\": \"routes/none\" } },\n  \"rutes\": []\n}",
    );
    let (file, control) = (site.path("site.json"), format!("unix:{}", site.path("control").display()));
    let run = Run::to_end(&[
        "daemon",
        "--no-daemon",
        "--config",
        text(&file),
        "--control",
        &control,
        "--pid",
        text(&site.path("pid")),
        "--statedir",
        text(&site.path("state")),
    ]);
    assert!(!run.status.success(), "{run:#?}");
    for place in [
        ":2:28: /listeners/*:80/pass: ",
        ":3:3: /rutes: Unknown parameter \"rutes\". Did you mean \"routes\"?",
    ] {
        let expected = format!("{}{place}", file.display());
        assert!(run.stderr.contains(&expected), "{expected} is not in {run:#?}");
    }
    let missing = Run::to_end(&[
        "daemon",
        "--no-daemon",
        "--config",
        "/nonexistent.yaml",
        "--control",
        &control,
        "--pid",
        text(&site.path("pid")),
    ]);
    assert!(missing.stderr.contains("/nonexistent.yaml: it does not exist"), "{missing:#?}");
    Run::to_end(&["daemon", "--watch"]).expect_one_line(&["--watch", "needs \"--config\""]);
    Run::to_end(&["daemon", "--config"]).expect_one_line(&["option \"--config\" requires file or directory"]);
}

#[test]
fn a_state_directory_is_not_needed() {
    let site = site().file("site.yaml", answers(201));
    let (server, address) =
        start(&site, "site.yaml", &["--statedir", "/dev/null/state", "--pid", "/dev/null/pid"]);
    expect_status(address, 201);
    server.expect_log("nothing is stored: create the state directory /dev/null/state");
}

#[test]
fn without_files_hangup_is_ignored() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    signal(server.pid(), Signal::HUP);
    server.expect_log("signal HUP received, ignored");
    server.get("/").expect(201);
}

/// Warnings are about configurations that are valid, but probably not what is meant.
#[test]
fn warnings_are_no_errors_unless_asked_for() {
    let site = site().file(
        "site.yaml",
        "listeners: {'unix:@check': {pass: routes}}\nroutes:\n  - match: {uri: '^/api'}\n    action: {share: /no/such$uri}\n\
         applications:\n  blog: {type: http, executable: /no/program}\n",
    );
    let run = |arguments: &[&str]| {
        Tool::new(&[&["check", "site.yaml"], arguments].concat()).folder(&site.path("")).run()
    };
    let warned = run(&[]);
    assert!(warned.success && warned.stdout.contains("the configuration is valid"), "{warned:#?}");
    for line in [
        "warning: site.yaml:3:13: /routes/0/match/uri: ",
        "\"~^/api\"",
        "warning: site.yaml:4:14: /routes/0/action/share: \"/no/such\" does not exist.",
        "/applications/blog: Nothing passes requests to this application.",
        "/applications/blog: \"/no/program\" does not exist.",
    ] {
        assert!(warned.stderr.contains(line), "{line:?} is not in {warned:#?}");
    }
    assert_eq!(warned.stderr.lines().count(), 4, "{warned:#?}");
    let strict = run(&["--strict"]);
    assert_eq!((strict.code, &strict.stderr), (Some(3), &warned.stderr), "{strict:#?}");
}

#[track_caller]
fn check(site: &Site, path: &str, expected: Result<(), &[&str]>) {
    let run = Tool::new(&["check", path]).folder(&site.path("")).environment("SITE", "127.0.0.1:1").run();
    assert_eq!(run.success, expected.is_ok(), "{run:#?}");
    for line in expected.err().unwrap_or_default() {
        assert!(run.stderr.contains(line), "{line:?} is not in {run:#?}");
    }
}

#[test]
fn check_says_the_same_without_a_daemon() {
    let site = site()
        .file("good.yaml", answers(200))
        .file(
            "bad.yaml",
            "listeners:\n  localhost: {pass: routes}\nroutes:\n  - action:\n      share: /x\n      indexx: a\n",
        )
        .file("broken.json", "{\n  \"a\": }")
        .file("unset.yaml", "access_log: ${env:CORRAL_NOT_SET}\n")
        .file("many/a.json", "{\"routes\": []}")
        .file("many/b.yaml", "\nroutes: []\n")
        .file("empty/README", "");
    check(&site, "good.yaml", Ok(()));
    check(
        &site,
        "bad.yaml",
        Err(&[
            "bad.yaml:2:3: /listeners/localhost: ",
            "bad.yaml:6:7: /routes/0/action/indexx: ",
            "Did you mean \"index\"?",
        ]),
    );
    check(&site, "broken.json", Err(&["broken.json:2:8: "]));
    check(
        &site,
        "unset.yaml",
        Err(&["unset.yaml:1:13: The environment variable \"CORRAL_NOT_SET\" is not set"]),
    );
    check(&site, "many", Err(&["many/b.yaml:2:9: \"/routes\" is set here and at many/a.json:1:12."]));
    check(&site, "empty", Err(&["empty: there is no configuration in this folder"]));
    check(&site, "missing.yaml", Err(&["missing.yaml: it does not exist"]));
}

#[test]
fn a_folder_beside_other_files_may_be_empty() {
    let site = site().file("good.yaml", answers(200)).file("conf.d/README", "").file("more.d/README", "");
    let check = |paths: &[&str]| {
        Tool::new(&[&["check"], paths].concat())
            .folder(&site.path(""))
            .environment("SITE", "127.0.0.1:1")
            .run()
    };
    let run = check(&["good.yaml", "conf.d"]);
    assert!(run.success, "{run:#?}");
    let run = check(&["conf.d", "more.d"]);
    for folder in ["conf.d", "more.d"] {
        let line = format!("{folder}: there is no configuration in this folder");
        assert!(!run.success && run.stderr.contains(&line), "{run:#?}");
    }
}

#[test]
fn the_example_is_a_configuration() {
    let folder = format!("{}/../../examples/files", env!("CARGO_MANIFEST_DIR"));
    Tool::new(&["check", &folder]).output();
    let address = corral_testkit::Address::fresh();
    let builder = daemon().argument("--config").argument(&folder);
    let server = builder.environment("SITE_LISTEN", &address.to_string()).start_unconfigured();
    expect_status(address, 404);
    let shown = server.control().get("/config/settings/http/idle_timeout").json();
    assert_eq!(shown, "${env:SITE_IDLE_TIMEOUT:-60}");
}

#[test]
fn assets_beside_the_files_are_known() {
    let listener = "listeners:\n  '*:443': {pass: routes, tls: {certificate: NAME}}\nroutes: []\n";
    let site = site()
        .file("any.yaml", listener)
        .file("with/there.yaml", listener.replace("NAME", "www.example.org"))
        .file("with/not.yaml", listener)
        .file("with/certificates/www.example.org.pem", "");
    check(&site, "any.yaml", Ok(()));
    check(&site, "with/there.yaml", Ok(()));
    check(&site, "with/not.yaml", Err(&["with/not.yaml:2:33: /listeners/*:443/tls/certificate"]));
    let authority = Authority::new("Test");
    let (own, other) = (authority.server("a", &["a.test"]), authority.server("b", &["b.test"]));
    site.write("with/certificates/www.example.org.pem", format!("{}{}", own.certificate, other.key));
    let reason = "certificates/www.example.org.pem: the private key does not belong to the first certificate";
    check(&site, "with/there.yaml", Err(&[reason]));
}

#[test]
fn tls_works_with_certificates_beside_the_files() {
    let authority = Authority::new("Test");
    let bundle = |name: &str| authority.server(name, &["www.example.org"]);
    let listener = "listeners:\n  '${env:SITE}':\n    pass: routes\n    tls: {certificate: www}\nroutes:\n- action: \
        {return: 201}\n";
    let first = bundle("first");
    let site = site().file("site.yaml", listener).file("certificates/www.pem", first.pem());
    let (server, address) = start(&site, "site.yaml", &[]);
    let shown = || {
        let mut client =
            Client::connect_tls(address.socket(), &TlsClient::new(&authority), "www.example.org");
        client.get("/").expect(201);
        server.control().get("/certificates/www/chain/0/subject/common_name").json()
    };
    assert_eq!(shown(), "first");
    site.write("certificates/www.pem", bundle("second").pem());
    signal(server.pid(), Signal::HUP);
    eventually("the new certificate is in force", || (shown() == "second").then_some(()));
    site.write("certificates/www.pem", "no certificate");
    signal(server.pid(), Signal::HUP);
    server.expect_log("the configuration files are invalid: /listeners/");
    assert_eq!(shown(), "second");
}
