//! Commands that talk to a daemon, those that need none, and how they fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use corral_testkit::{Authority, Run, daemon, eventually, php_app, site};
use serde_json::json;

use super::{control, corral, two_answers};
use crate::tool::{Tool, text};

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

/// A pipe of the shell is a device, not a part of the configuration.
#[test]
fn a_configuration_is_set_from_the_shell_s_pipes() {
    let server = two_answers();
    let config = |status: u16| {
        let mut config = server.control().get("/config").json();
        config["routes"][0]["action"]["return"] = status.into();
        config.to_string()
    };
    corral(&server, &["config", "set", "/dev/stdin"]).input(config(202)).output();
    server.get("/a").expect(202);
    corral(&server, &["config", "set", "/proc/self/fd/0"]).input(config(203)).output();
    server.get("/a").expect(203);
    corral(&server, &["config", "set", "routes/0/action/return", "/dev/stdin"]).input("204").output();
    server.get("/a").expect(204);
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

/// An editor that changes `from` to `to`. A number that ends its line is not part of an address.
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
    unitc(&["INSERT", "/config/listeners"]).input("1").fails(&["is not an array"]);
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

/// The stand-in for the container's command asks the socket itself.
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
    kill(std::process::id()).fails(&["is not a daemon"]);
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
    let ended = edit.environment("EDITOR", &meanwhile).fails(&["changed by another client meanwhile"]);
    let kept = ended.stderr.rsplit("what you wrote is in ").next().expect("it was kept").trim().to_owned();
    fs::remove_file(kept).expect("remove it");
    server.get("/a").expect(404);
}

#[test]
fn version_and_help() {
    let version = Run::to_end(&["--version"]).expect_success();
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version:?}");
    let help = Run::to_end(&["--help"]).expect_success();
    for command in ["run", "daemon", "config", "check", "status"] {
        assert!(help.stdout.contains(command), "{help:?}");
    }
}

#[test]
fn a_file_is_checked_without_a_server() {
    let files = site()
        .file(
            "good.json",
            json!({ "listeners": { "*:80": { "pass": "routes" } },
            "routes": [{ "action": { "return": 200 } }] })
            .to_string(),
        )
        .file(
            "bad.json",
            json!({ "listeners": { "*:80": { "pass": "routes/nope" } }, "rutes": [] }).to_string(),
        )
        .file("broken.json", "{\n  \"a\": }");
    let check = |name: &str| Run::to_end(&["check", files.path(name).to_str().expect("text")]);
    check("good.json").expect_success();
    let bad = check("bad.json");
    assert!(!bad.status.success(), "{bad:?}");
    let said = bad.stdout.clone() + &bad.stderr;
    assert!(said.contains("rutes") && said.contains("routes/nope"), "all mistakes at once: {bad:?}");
    let broken = check("broken.json");
    assert!(!broken.status.success() && (broken.stdout + &broken.stderr).contains('2'), "the line");
    check("missing.json").expect_one_line(&["missing.json"]);
}

#[test]
fn config_and_status_of_a_running_daemon() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().application(php_app(&site)).start();
    let control = format!("unix:{}", server.control_socket().display());
    let corral = |arguments: &[&str]| Run::to_end(&[arguments, &["--control", &control]].concat());
    let found = corral(&["config", "get", "/applications/php/type"]).expect_success();
    assert_eq!(found.stdout.trim(), "\"php\"");
    let file = site.path("pass.json");
    fs::write(&file, "{ \"http\": { \"idle_timeout\": 77 } }").expect("write the file");
    corral(&["config", "set", "/settings", file.to_str().expect("text")]).expect_success();
    let found = corral(&["config", "get", "/settings/http/idle_timeout"]).expect_success();
    assert_eq!(found.stdout.trim(), "77");
    corral(&["config", "delete", "/settings"]).expect_success();
    let missing = corral(&["config", "get", "/settings"]);
    assert!(!missing.status.success(), "{missing:?}");
    let status = corral(&["status"]).expect_success();
    assert!(status.stdout.contains("php"), "{status:?}");
    let elsewhere = Run::to_end(&["status", "--control", "unix:/nonexistent/control.sock"]);
    elsewhere.expect_one_line(&["/nonexistent/control.sock"]);
}

/// `corral … | head`, whose reader has gone before anything is written.
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let server = two_answers();
    let site = site().file("x.yaml", "listeners: {}\n");
    let (file, folder, control) = (site.path("x.yaml"), site.root(), control(&server));
    let own =
        [&["completion", "bash"][..], &["daemon", "--help"], &["unitc"], &["unitctl", "completion", "bash"]];
    let of_files = [["run", "--print-config", &folder], ["run", "--print-config", text(&file)]];
    for arguments in own.into_iter().chain(of_files.iter().map(|command| &command[..])) {
        expect_quiet(arguments);
    }
    expect_quiet(&["check", text(&file)]);
    for command in
        [&["config", "get"][..], &["status"], &["config", "diff", text(&file)], &["certificate", "list"]]
    {
        expect_quiet(&[command, &["--control", &control]].concat());
    }
    expect_quiet(&["unitctl", "--control-socket-address", &control, "status"]);
}

/// Runs a command whose output is not read. The exit status is what the command has to say, `diff` has 1.
#[track_caller]
fn expect_quiet(arguments: &[&str]) {
    let (reader, writer) = std::io::pipe().expect("make a pipe");
    drop(reader);
    let mut command = Command::new(&corral_testkit::executables().corral);
    let ended = command.args(arguments).stdout(writer).output().expect("corral starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.is_empty() && ended.status.code().is_some_and(|code| code < 2), "{arguments:?}: {ended:?}");
}
