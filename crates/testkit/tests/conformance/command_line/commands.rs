//! Section 1.2, the options of `unitd`, and the commands that talk to a daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use corral_testkit::{Authority, Daemon, PATIENCE, daemon, eventually, php_app, site, within};
use serde_json::json;

use crate::tool::{Tool, text};

fn unitd(arguments: &[&str]) -> Tool {
    Tool::called("unitd", arguments)
}

/// A command that asks `server`.
fn corral(server: &Daemon, arguments: &[&str]) -> Tool {
    Tool::new(arguments).environment("CORRAL_CONTROL", &control(server))
}

fn control(server: &Daemon) -> String {
    format!("unix:{}", server.control_socket().display())
}

fn two_answers() -> Daemon {
    daemon().routes(json!([{ "match": { "uri": "/a" }, "action": { "return": 201 } }, { "action": { "return": 404 } }])).start()
}

/// Options of `unitd` that take a value.
const WITH_VALUE: &[&str] = &[
    "--control",
    "--control-mode",
    "--control-user",
    "--control-group",
    "--user",
    "--group",
    "--pid",
    "--log",
    "--modulesdir",
    "--statedir",
    "--tmpdir",
];

#[test]
fn help_is_on_standard_output() {
    for option in ["-h", "--help"] {
        let help = unitd(&[option]).output();
        for name in ["--version", "--no-daemon"].iter().chain(WITH_VALUE) {
            assert!(help.contains(name), "{name} is not in {help}");
        }
    }
}

#[test]
fn version_is_on_standard_error() {
    let ended = unitd(&["--version"]).run();
    assert!(ended.success && ended.stdout.is_empty(), "{ended:#?}");
    assert!(ended.stderr.starts_with("unit version: 1.35.0\n"), "{ended:#?}");
    assert!(ended.stderr.contains("configured as ./configure "), "{ended:#?}");
    assert!(ended.stderr.contains("--control=unix:/var/run/control.unit.sock"), "{ended:#?}");
}

#[test]
fn mistakes_end_the_start() {
    for name in WITH_VALUE.iter().chain(&["--modules", "--state", "--tmp"]) {
        unitd(&[name]).fails(&[&format!("option \"{name}\" requires ")]);
    }
    unitd(&["--nonsense"]).fails(&["unknown option \"--nonsense\", try \"unitd -h\""]);
    unitd(&["--log=/dev/null"]).fails(&["unknown option \"--log=/dev/null\""]);
    unitd(&["stray"]).fails(&["unknown option \"stray\""]);
    unitd(&["--control", "localhost", "--no-daemon"]).fails(&["localhost"]);
    unitd(&["--control-mode", "rw"]).fails(&["--control-mode"]);
}

/// Whoever only changes the name in a start command has options and no subcommand.
#[test]
fn options_alone_start_the_daemon() {
    let corral = |arguments: &[&str]| Tool::called("corral", arguments);
    corral(&["--no-daemon", "--nonsense"])
        .fails(&["unknown option \"--nonsense\", try \"corral daemon -h\""]);
    assert!(corral(&["--help"]).output().contains("Usage: corral <COMMAND>"));
}

#[test]
fn a_daemon_goes_to_the_background_and_makes_its_folders() {
    let site = site();
    let [control, pid, log, state] =
        ["run/a/control", "run/b/pid", "log", "state"].map(|name| site.path(name));
    let ended = unitd(&[
        "--control",
        &format!("unix:{}", control.display()),
        "--control-mode",
        "0660",
        "--pid",
        text(&pid),
        "--log",
        text(&log),
        "--state",
        text(&state),
        "--tmp",
        "/tmp",
    ])
    .run();
    assert!(ended.success, "{ended:#?}");
    assert!(ended.stderr.contains("option \"--state\" is deprecated; use \"--statedir\""), "{ended:#?}");
    assert!(ended.stderr.contains("option \"--tmp\" is deprecated; use \"--tmpdir\""), "{ended:#?}");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let number = fs::read_to_string(&pid).expect("it is there");
    let pid_number: u32 = number.trim_end_matches('\n').parse().expect("a number and a line end");
    let modes = (mode(&control), mode(&log), mode(control.parent().expect("a folder")));
    let answer = Tool::called("unitc", &["/config"]).environment("UNIT_CTRL", text(&control)).run();
    corral_testkit::signal(pid_number, corral_testkit::Signal::TERM);
    eventually("it ends", || (!corral_testkit::is_alive(pid_number)).then_some(()));
    assert_eq!(modes, (0o660, 0o600, 0o755));
    assert!(number.ends_with('\n') && answer.success, "{answer:#?}");
    assert!(!pid.exists() && !control.exists(), "nothing is left");
}

/// Scripts wait for the socket and then signal the process that the file names.
#[test]
fn who_sees_the_control_socket_finds_the_process() {
    for mode in [&[][..], &["--no-daemon"]] {
        let site = site();
        let [control, pid, log, state] =
            ["run/control", "run/pid", "log", "state"].map(|name| site.path(name));
        let address = format!("unix:{}", control.display());
        let mut arguments = vec!["--control", &address, "--pid", text(&pid), "--log", text(&log)];
        arguments.extend(["--statedir", text(&state), "--tmpdir", "/tmp"]);
        arguments.extend(mode);
        std::thread::scope(|scope| {
            scope.spawn(|| unitd(&arguments).run());
            while !control.exists() {
                std::thread::yield_now();
            }
            let number = fs::read_to_string(&pid).expect("it is there before the socket");
            let number = number.trim_end_matches('\n').parse().expect("a number and a line end");
            eventually("it answers", || UnixStream::connect(&control).ok());
            corral_testkit::signal(number, corral_testkit::Signal::TERM);
            eventually("it ends", || (!corral_testkit::is_alive(number)).then_some(()));
        });
    }
}

/// Neither its socket nor its pid file is touched.
#[test]
fn a_second_daemon_at_the_same_socket_changes_nothing() {
    let server = two_answers();
    let path = |name: &str| server.path(name).display().to_string();
    for mode in [&[][..], &["--no-daemon"]] {
        let (control, pid, state) = (control(&server), path("run/pid"), path("second"));
        let arguments = ["--control", &control, "--pid", &pid, "--statedir", &state, "--tmpdir", "/tmp"];
        let ended = unitd(&[&arguments[..], mode].concat()).run();
        assert!(!ended.success && ended.stderr.contains("another daemon serves it"), "{ended:#?}");
        assert_eq!(server.pid_in_file(), Some(server.pid()));
        server.control().get("/config").0.expect(200);
    }
}

#[test]
fn a_daemon_without_root_says_what_it_cannot_do() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return; // every other test is one of this
    }
    let site = site().writable_folder("run");
    let [control, pid, log, state] =
        ["run/control", "run/pid", "run/log", "run/state"].map(|name| site.path(name));
    let control = format!("unix:{}", control.display());
    let options = [
        ("--control", &*control),
        ("--pid", text(&pid)),
        ("--log", text(&log)),
        ("--statedir", text(&state)),
    ];
    let mut command = std::process::Command::new(&corral_testkit::executables().corral);
    command.args(["daemon", "--no-daemon"]).args(options.iter().flat_map(|(name, value)| [*name, *value]));
    let mut child = command.uid(65_534).gid(65_534).spawn().expect("corral starts");
    let refused = within(PATIENCE, || {
        let app = r#"{"applications": {"a": {"type": "php", "root": "/", "user": "root"}}}"#;
        let ended = Tool::new(&["config", "set", "--control", &control]).input(app).run();
        ended.stderr.contains("Failed to apply").then_some(ended)
    });
    corral_testkit::signal(child.id(), corral_testkit::Signal::TERM);
    child.wait().expect("it is our child");
    let log = fs::read_to_string(&log).unwrap_or_default();
    let refused = refused.unwrap_or_else(|| panic!("the API does not answer\n{log}"));
    assert!(refused.stderr.contains("start the daemon as root"), "{refused:?}");
    let warning = log.lines().find(|line| line.contains("[warn]")).unwrap_or_default();
    assert!(warning.contains("not started as root"), "{log}");
}

#[test]
fn unreachable_daemons_are_explained() {
    Tool::new(&["status", "--control", "/nonexistent/control"])
        .fails(&["/nonexistent/control", "corral daemon"]);
    Tool::new(&["config", "get", "--control", "nonsense"]).fails(&["nonsense", "unix:PATH"]);
}

#[test]
fn what_cannot_be_set_is_explained() {
    let site = site().file("x.yaml", "listeners: {}\nroutes: []\n");
    let server = two_answers();
    let set = |arguments: &[&str]| corral(&server, &[&["config", "set"], arguments].concat());
    let yaml = site.path("x.yaml");
    set(&[text(&yaml)]).fails(&["Invalid JSON", "corral config apply ", "x.yaml"]);
    set(&["routes/0/action/return", "204"])
        .fails(&["read \"204\"", "printf '%s' '204' | corral config set 'routes/0/action/return'"]);
    set(&["settings/log", "-"])
        .input("{}")
        .fails(&["Value doesn't exist: the configuration has no \"settings\" yet; set that to {\"log\": …}"]);
    corral(&server, &["config", "get", "routes/9"]).fails(&["\"/routes\" has no \"9\""]);
    corral(&server, &["config", "delete", "settings"]).fails(&["the configuration has no \"settings\""]);
    set(&["nonexistent.json"]).fails(&["read \"nonexistent.json\"", "No such file"]);
}

#[test]
fn files_are_compared_and_applied() {
    let server = two_answers();
    let site = site();
    let mut config = server.control().get("/config").json();
    site.write("same.json", config.to_string());
    assert_eq!(corral(&server, &["config", "diff", text(&site.path("same.json"))]).output(), "");
    config["routes"][0]["action"]["return"] = json!(202);
    site.write("other.json", config.to_string());
    let ended = corral(&server, &["config", "diff", text(&site.path("other.json"))]).run();
    assert_eq!(ended.stdout, "- /routes/0/action/return: 201\n+ /routes/0/action/return: 202\n");
    assert!(!ended.success, "{ended:#?}");
    corral(&server, &["config", "apply", text(&site.path("other.json"))]).output();
    server.get("/a").expect(202);
    site.write("bad.yaml", "listeners: {}\nrutes: []\n");
    corral(&server, &["config", "apply", text(&site.path("bad.yaml"))])
        .fails(&["bad.yaml:2:1: /rutes: ", "Did you mean \"routes\"?"]);
    server.get("/a").expect(202);
}

/// An editor that changes `from` to `to`. A number that ends its line is no part of an address.
fn editor(from: &str, to: &str) -> String {
    format!("sed -i s/{from}/{to}/")
}

#[test]
fn the_configuration_is_edited() {
    let server = two_answers();
    let edit = |editor: &str| corral(&server, &["config", "edit"]).environment("EDITOR", editor);
    assert!(edit("true").output().contains("nothing was changed"));
    edit(&editor("201$", "203")).output();
    server.get("/a").expect(203);
    let part = corral(&server, &["config", "edit", "routes/0"]).environment("VISUAL", &editor("203$", "204"));
    part.environment("EDITOR", "false").output();
    server.get("/a").expect(204);
    let refused =
        edit(&editor("routes", "rutes")).fails(&["Unknown parameter \"rutes\"", "what you wrote is in "]);
    let kept = refused.stderr.rsplit("what you wrote is in ").next().expect("it was found").trim().to_owned();
    assert!(fs::read_to_string(&kept).expect("it was kept").contains("rutes"));
    fs::remove_file(kept).expect("remove it");
    edit("false").fails(&["the editor false ended with"]);
    server.get("/a").expect(204);
}

#[test]
fn applications_are_restarted_by_name() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let before = server.get("/").text();
    corral(&server, &["restart", "php"]).output();
    eventually("another process answers", || (server.get("/").text() != before).then_some(()));
    corral(&server, &["restart", "none"]).fails(&["there is no application \"none\""]);
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(Tool::new(&["completion", shell]).output().contains("corral"), "{shell}");
    }
    let site = site();
    Tool::new(&["man", text(&site.path("man"))]).output();
    for page in ["corral.1", "corral-config.1", "corral-config-edit.1", "corral-status.1"] {
        let page = fs::read_to_string(site.path("man").join(page)).expect(page);
        assert!(page.contains(".TH"), "{page}");
    }
}

/// The options that a help text lists, each at the beginning of a line.
fn listed_options(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split_whitespace().take(2).map(|word| word.trim_end_matches(',')));
    let name = |word: &str| word.split(['=', '[']).next().unwrap_or(word).to_owned();
    words.filter(|word| word.starts_with("--")).map(name).collect()
}

/// The subcommands that a help text lists.
fn listed_commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty()).filter(|line| !line.starts_with("    "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// A command with all of its subcommands; `page` is the name of its manual page.
#[track_caller]
fn expect_described(arguments: &[&str], page: &str, folder: &std::path::Path, shells: &[String]) -> usize {
    let help = Tool::new(&[arguments, &["--help"]].concat()).output();
    let manual = fs::read_to_string(folder.join(format!("{page}.1"))).expect(page).replace('\\', "");
    let options = listed_options(&help);
    for option in &options {
        assert!(manual.contains(option), "{option} is not in the manual page of {page}: {manual}");
        for script in shells.iter().filter(|_| option != "--help") {
            let fish = format!("-l {}", option.trim_start_matches('-'));
            assert!(script.contains(option) || script.contains(&fish), "{option} of {page} is not completed");
        }
    }
    let commands = listed_commands(&help);
    let nested = commands.iter().filter(|command| *command != "help").map(|command| {
        expect_described(&[arguments, &[command]].concat(), &format!("{page}-{command}"), folder, shells)
    });
    options.len() + nested.sum::<usize>()
}

#[test]
fn manual_pages_and_completions_know_all_options() {
    let site = site();
    Tool::new(&["man", text(&site.path("man"))]).output();
    let shells = ["bash", "zsh", "fish"].map(|shell| Tool::new(&["completion", shell]).output());
    let help = Tool::new(&["--help"]).output();
    let mut n_options = 0;
    for command in listed_commands(&help) {
        // Its arguments are another command's.
        if !matches!(&*command, "help" | "entrypoint") {
            n_options +=
                expect_described(&[&command], &format!("corral-{command}"), &site.path("man"), &shells);
        }
    }
    assert!(n_options > 60, "only {n_options} options were found");
    for option in ["--control-token-file", "--config-writable", "--no-daemon"] {
        assert!(
            listed_options(&Tool::new(&["daemon", "--help"]).output()).iter().any(|listed| listed == option)
        );
    }
}

#[test]
fn the_status_has_a_form_for_programs() {
    let server = two_answers();
    let status = corral(&server, &["status", "--json"]).output();
    let status: serde_json::Value = serde_json::from_str(&status).expect("it is JSON");
    assert_eq!(status["daemon"]["pid"], server.pid());
    assert_eq!(status["listeners"][server.address().to_string()], json!({ "state": "up" }));
    let words = corral(&server, &["status"]).output();
    let listener = format!("listener      {}\n", server.address());
    for part in ["daemon        corral ", &*listener, " per second on average\n"] {
        assert!(words.contains(part), "{part:?} is not in {words}");
    }
}

#[test]
fn unitc_chooses_the_method() {
    let server = two_answers();
    let unitc =
        |arguments: &[&str]| Tool::called("unitc", arguments).environment("UNIT_CTRL", &control(&server));
    assert_eq!(unitc(&["/config/routes/0/action/return"]).output(), "201\n");
    assert!(
        unitc(&["/config/routes/0/action/return"]).input("202").output().contains("Reconfiguration done.")
    );
    server.get("/a").expect(202);
    let site = site().file("step.json", "{\"action\": {\"return\": 206}}");
    unitc(&[text(&site.path("step.json")), "/config/routes/1"]).output();
    server.get("/b").expect(206);
    unitc(&["INSERT", "/config/routes"])
        .input("{\"match\": {\"uri\": \"/c\"}, \"action\": {\"return\": 207}}")
        .output();
    server.get("/c").expect(207);
    unitc(&["post", "/config/routes"]).input("{\"action\": {\"return\": 208}}").output();
    assert_eq!(unitc(&["/config/routes/3/action/return"]).output(), "208\n");
    unitc(&["DELETE", "/config/routes/0"]).output();
    server.get("/c").expect(206);
    unitc(&["EDIT", "/config/routes/0/action"]).environment("EDITOR", &editor("202", "209")).output();
    server.get("/a").expect(209);
    assert_eq!(unitc(&["-f", "YAML", "/config/routes/0/action"]).output(), "return: 209\n");
    assert_eq!(unitc(&["-q", "/config"]).output(), "");
    let missing = unitc(&["/config/nope"]).run();
    assert!(!missing.success && missing.stdout.contains("Value doesn't exist."), "{missing:#?}");
    unitc(&["INSERT", "/config/listeners"]).input("1").fails(&["is no array"]);
    assert!(Tool::new(&["unitc", "--help"]).output().contains("INSERT"));
}

#[test]
fn unitctl_s_usual_commands() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let address = control(&server);
    let unitctl = |arguments: &[&str]| {
        Tool::called("unitctl", &[&["-s", &address, "-w", "3", "-t", "1"], arguments].concat())
    };
    let instances = unitctl(&["instances", "-f", "json"]).output();
    assert!(instances.contains(&format!("\"pid\":{}", server.pid())), "{instances}");
    assert!(instances.contains(&address), "{instances}");
    assert!(unitctl(&["listeners", "-f", "json"]).output().contains(&server.address().to_string()));
    assert!(unitctl(&["status", "-f", "text"]).output().contains("requests.total: "));
    assert!(unitctl(&["apps", "list", "-f", "yaml"]).output().starts_with("php:\n"));
    let before = server.get("/").text();
    unitctl(&["apps", "restart", "php"]).output();
    eventually("another process answers", || (server.get("/").text() != before).then_some(()));
    unitctl(&["execute", "-m", "put", "-p", "/config/settings", "-f", "-"])
        .input("{\"http\":{\"idle_timeout\":77}}")
        .output();
    assert_eq!(unitctl(&["execute", "-p", "/config/settings/http/idle_timeout"]).output(), "77\n");
    let export = unitctl(&["export"]).output();
    let folder = corral_testkit::site().file("conf.json", export.replace("77", "78"));
    unitctl(&["import", text(&folder.path(""))]).output();
    assert_eq!(unitctl(&["execute", "-p", "/config/settings/http/idle_timeout"]).output(), "78\n");
    unitctl(&["edit"]).environment("EDITOR", &editor("78", "79")).output();
    assert_eq!(server.control().get("/config/settings/http/idle_timeout").json(), 79);
    let archive = folder.path("export.tar");
    unitctl(&["export", "-f", text(&archive)]).output();
    assert!(fs::metadata(&archive).expect("it is there").len() > 512);
    assert!(unitctl(&["completion", "bash"]).output().contains("unitctl"));
    unitctl(&["status", "-f", "xml"]).fails(&["xml"]);
    Tool::called("unitctl", &["-s", "unix:/nonexistent/control", "status"]).fails(&["/nonexistent/control"]);
}

/// What asks the container is a stand-in that asks the socket itself.
#[test]
fn unitc_asks_containers() {
    let server = two_answers();
    let site = site().file(
        "docker",
        "#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'exec -i web curl' ] || exit 9\nshift 3\nexec \"$@\"\n",
    );
    let docker = site.path("docker");
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).expect("make it a program");
    let place = format!("docker://web{}", server.control_socket().display());
    let unitc = |arguments: &[&str]| Tool::called("unitc", arguments).environment("DOCKER", text(&docker));
    assert_eq!(unitc(&[&place, "/config/routes/0/action/return"]).output(), "201\n");
    unitc(&[&place, "/config/routes/0/action/return"]).input("202").output();
    server.get("/a").expect(202);
    let other = place.replace("web", "other");
    unitc(&[&other, "/config"]).fails(&["docker", "other"]);
    unitc(&["docker://--privileged/x", "/config"]).fails(&["docker://CONTAINER/PATH"]);
}

#[test]
fn unitctl_ends_daemons_and_no_other_processes() {
    let mut server = two_answers();
    let kill = |pid: u32| Tool::called("unitctl", &["instances", "kill", &pid.to_string()]);
    kill(std::process::id()).fails(&["is no daemon"]);
    kill(server.pid()).output();
    assert!(server.wait_for_end().success());
    let new = ["instances", "new", "127.0.0.1:8001", "/srv/app", "unit:wasm"];
    Tool::called("unitctl", &new).fails(&["corral daemon", "docker run"]);
}

#[test]
fn uploads_are_listed_shown_replaced_and_removed() {
    let server = two_answers();
    let authority = Authority::new("Test");
    let site = site()
        .file("one.pem", authority.server("one", &["www.example.org"]).pem())
        .file("two.pem", authority.server("two", &["www.example.org"]).pem())
        .file("ca.pem", authority.bundle().certificate)
        .file("bad.pem", "no certificate")
        .file("half.js", "export default { half")
        .file("good.js", "export default { hello() { return 'hello' } }");
    let file = |name: &str| site.path(name).display().to_string();
    let certificate = |arguments: &[&str]| corral(&server, &[&["certificate"], arguments].concat());
    assert_eq!(certificate(&["list"]).output(), "");
    certificate(&["put", "www/a", &file("one.pem")]).output();
    assert!(certificate(&["list"]).output().starts_with("www/a\tone\tuntil "));
    certificate(&["put", "www/a", &file("two.pem")]).fails(&["Certificate already exists"]);
    certificate(&["put", "www/a", &file("two.pem"), "--replace"]).output();
    assert!(certificate(&["show", "www/a"]).output().contains("\"two\""));
    certificate(&["put", "b", &file("bad.pem")]).fails(&["Invalid certificate"]);
    certificate(&["put", "b", "/nonexistent.pem"]).fails(&["/nonexistent.pem"]);
    certificate(&["put", "ca", &file("ca.pem")]).fails(&["no private key"]);
    certificate(&["put", "ca", &file("ca.pem"), "--ca"]).output();
    certificate(&["delete", "www/a"]).output();
    certificate(&["show", "www/a"]).fails(&["Certificate doesn't exist"]);
    let module = |arguments: &[&str]| corral(&server, &[&["js-module"], arguments].concat());
    module(&["put", "greet", &file("good.js")]).output();
    assert_eq!(module(&["list"]).output(), "greet\n");
    assert!(module(&["show", "greet"]).output().contains("hello"));
    module(&["put", "half", &file("half.js")]).fails(&["Invalid JS module"]);
    module(&["put", "other", &file("good.js"), "--ca"]).fails(&["--ca"]);
    module(&["delete", "greet"]).output();
}

#[test]
fn a_change_by_somebody_else_is_not_overwritten() {
    let server = two_answers();
    let meanwhile = format!(
        "'{}' unitc -q DELETE /config/routes/0; sed -i s/404/410/",
        corral_testkit::executables().corral.display()
    );
    let edit = corral(&server, &["config", "edit"]).environment("UNIT_CTRL", &control(&server));
    let ended = edit.environment("EDITOR", &meanwhile).fails(&["changed by somebody else meanwhile"]);
    let kept = ended.stderr.rsplit("what you wrote is in ").next().expect("it was kept").trim().to_owned();
    fs::remove_file(kept).expect("remove it");
    server.get("/a").expect(404);
}
