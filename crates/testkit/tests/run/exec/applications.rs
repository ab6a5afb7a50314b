//! Applications of all types: the folder and the programs of each, and those that no command runs as.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use corral_testkit::{Run, component, daemon, executables, site};
use serde_json::{Value, json};

use super::{exec, idle, is_root, printed, server};

/// The folder of a command as `app`.
#[track_caller]
fn folder_of(app: &Value) -> String {
    let server = server(&json!({ "app": app }));
    printed(&server, "pwd -P")
}

fn text(path: &Path) -> String {
    fs::canonicalize(path).expect("it is there").into_os_string().into_string().expect("text")
}

#[test]
fn a_command_begins_where_the_code_is() {
    let site = site()
        .file("shop/public/index.php", "<?php")
        .file("shop/composer.json", "{}")
        .file("plain/index.php", "<?php")
        .file("django/wsgi.py", "def application(environ, start): pass")
        .file("rack/config.ru", "run ->(env) { [200, {}, []] }")
        .file("psgi/app.psgi", "sub { [200, [], []] }");
    let php = |root: &str| json!({ "type": "php", "root": site.path(root) });
    assert_eq!(folder_of(&php("shop/public")), text(&site.path("shop")));
    assert_eq!(folder_of(&php("plain")), text(&site.path("plain")));
    let mut moved = php("plain");
    moved["working_directory"] = json!(site.path("shop"));
    assert_eq!(folder_of(&moved), text(&site.path("shop")));
    let python = json!({ "type": "python", "path": site.path("django"), "module": "wsgi" });
    assert_eq!(folder_of(&python), text(&site.path("django")));
    let ruby = json!({ "type": "ruby", "script": site.path("rack/config.ru") });
    assert_eq!(folder_of(&ruby), text(&site.path("rack")));
    let perl = json!({ "type": "perl", "script": site.path("psgi/app.psgi") });
    assert_eq!(folder_of(&perl), text(&site.path("psgi")));
}

/// Programs have no code that the daemon knows of: commands begin where they do.
#[test]
fn a_command_beside_a_program_begins_where_that_does() {
    let site = site().file("scripts/hello", "#!/bin/sh\n");
    let none = json!({ "max": 1, "spare": 0 });
    let folder = site.path("scripts");
    let http =
        json!({ "type": "http", "executable": "/bin/true", "processes": none, "working_directory": folder });
    let cgi = json!({ "type": "cgi", "root": folder, "working_directory": folder });
    for app in [http, cgi, idle(json!({ "working_directory": folder }))] {
        assert_eq!(folder_of(&app), text(&folder));
    }
}

#[test]
fn a_component_has_no_commands() {
    let app = json!({ "type": "wasm-wasi-component", "component": component("probe") });
    let server = server(&json!({ "app": app }));
    Run::spawn(&mut exec(&server, &["app", "ls"]))
        .ended()
        .expect_one_line(&["application \"app\"", "WebAssembly"]);
}

#[test]
fn a_virtual_environment_is_active() {
    let site = site().file("wsgi.py", "def application(environ, start): pass");
    let made = std::process::Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(site.path("venv"))
        .status();
    assert!(made.expect("python3 is installed").success());
    let app = json!({ "type": "python", "path": site.root(), "home": site.path("venv"), "module": "wsgi" });
    let server = server(&json!({ "app": app }));
    let prefix = printed(&server, "python -c 'import sys; print(sys.prefix)'; echo $VIRTUAL_ENV");
    let venv = site.path("venv");
    assert_eq!(prefix, format!("{0}\n{0}", venv.display()));
}

#[test]
fn mistakes_are_explained() {
    let site = site().file("index.php", "<?php");
    let php = json!({ "type": "php", "root": site.root(), "processes": { "max": 1, "spare": 0 } });
    let server = server(&json!({ "shop": php }));
    Run::spawn(&mut exec(&server, &["nope", "ls"]))
        .ended()
        .expect_one_line(&["no application \"nope\"", "\"shop\""]);
    Run::spawn(&mut exec(&server, &["shop"]))
        .ended()
        .expect_one_line(&["no command", "corral exec shop -- php artisan migrate"]);
    let elsewhere = &["--control", "127.0.0.1:9", "shop", "ls"];
    Run::spawn(&mut exec(&server, elsewhere))
        .ended()
        .expect_one_line(&["127.0.0.1:9", "is not a control socket of this machine"]);
    let nowhere = &["--control", "/nonexistent/control", "shop", "ls"];
    Run::spawn(&mut exec(&server, nowhere)).ended().expect_one_line(&["/nonexistent/control"]);
}

/// A port does not tell which user asks, so that nothing is answered there.
#[test]
fn what_a_command_is_run_with_is_told_on_unix_sockets_alone() {
    let server = daemon()
        .config(json!({ "listeners": {}, "applications": { "app": idle(json!({})) } }))
        .control_on_port()
        .start();
    let reply = server.control().get("/control/applications/app/exec");
    assert!(reply.expect_refused(403, "No command can be run.").contains("Unix socket"));
}

/// A document of before that cannot be used as it is: the rest is served, and this says why it is not.
#[test]
fn an_application_that_cannot_be_started_says_why() {
    let mut server = server(&json!({ "app": idle(json!({})) }));
    let mut document = server.control().get("/config").json();
    server.stop();
    document["applications"]["app"] = json!({ "type": "php 1.0", "root": "/nonexistent" });
    fs::write(server.path("state/conf.json"), document.to_string()).expect("change the state");
    server.restart();
    Run::spawn(&mut exec(&server, &["app", "ls"])).ended().expect_one_line(&["application \"app\""]);
}

#[test]
fn namespaces_are_like_the_application_s() {
    let namespaces =
        json!({ "pid": true, "mount": true, "network": true, "uname": true, "credential": true });
    let server = server(&json!({ "app": idle(json!({ "isolation": { "namespaces": namespaces } })) }));
    let own =
        |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}")).expect("ours").display().to_string();
    for kind in ["pid", "mnt", "net", "uts", "user"] {
        assert_ne!(printed(&server, &format!("readlink /proc/self/ns/{kind}")), own(kind), "{kind}");
    }
    let seen = printed(&server, "ls /proc | grep -c '^[0-9]'");
    assert!(seen.parse::<u32>().expect("a number") < 8, "{seen}");
    // The first process of a namespace is deaf to signals, so that the command must not be it.
    assert_ne!(printed(&server, "echo $$"), "1");
}

#[test]
fn the_root_is_the_application_s() {
    if !is_root() {
        return;
    }
    let shell = fs::read("/bin/sh").expect("there is a shell");
    let site = site().file("bin/sh", shell).file("srv/www/index.php", "<?php").writable_folder("");
    fs::set_permissions(site.path("bin/sh"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let isolation = json!({ "rootfs": site.root() });
    let app = json!({ "type": "php", "root": "/srv/www", "user": "4001", "isolation": isolation });
    let server = server(&json!({ "app": app }));
    let script = "pwd; [ -e /bin/sh ] && [ ! -e /etc/passwd ] && echo apart";
    assert_eq!(printed(&server, script), "/srv/www\napart");
}

#[test]
fn files_are_those_that_the_application_may_reach() {
    let site = site().file("in", "in").file("out", "out");
    let reach = json!({ "read": ["/usr", "/bin", "/lib", "/lib64", "/etc", site.path("in")], "write": [] });
    let server = server(&json!({ "app": idle(json!({ "isolation": { "filesystem": reach } })) }));
    let script = format!(
        "cat {}; cat {} 2>/dev/null || echo ' kept'",
        site.path("in").display(),
        site.path("out").display()
    );
    assert_eq!(printed(&server, &script), "in kept");
}

/// A service manager may give the daemon mounts of its own, as `PrivateTmp=` does.
#[test]
fn mounts_are_those_of_the_daemon() {
    if !is_root() {
        return;
    }
    let site = site().writable_folder("private");
    let private = site.path("private");
    let start = format!(
        "#!/bin/sh\nexec unshare --mount --propagation private sh -c 'mount -t tmpfs none \"$0\" && echo inside \
        >\"$0/where\" && exec {} \"$@\"' {} \"$@\"\n",
        executables().corral.display(),
        private.display(),
    );
    site.write("start", start);
    fs::set_permissions(site.path("start"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let app = idle(json!({ "working_directory": private }));
    let config = json!({ "listeners": {}, "applications": { "app": app } });
    let server = daemon().executable(&site.path("start")).config(config).start();
    assert!(!private.join("where").exists());
    assert_eq!(printed(&server, "cat where"), "inside");
    let mut elsewhere = exec(&server, &["-w", "private", "app", "cat", "where"]);
    assert_eq!(Run::spawn(elsewhere.current_dir(site.path(""))).ended().expect_success().stdout, "inside\n");
}
