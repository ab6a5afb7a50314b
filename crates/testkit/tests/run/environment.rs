//! The user's environment, as applications see it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use corral_testkit::{Address, Client, Run, eventually, executables, signal, site};

use crate::serve;

const SHOW: &str = "<?php echo getenv('HOME'), ' ', getenv('USER');";

fn entry(uid: u32) -> (String, String) {
    let output =
        Command::new("getent").args(["passwd", &uid.to_string()]).output().expect("getent is installed");
    let line = String::from_utf8(output.stdout).expect("it is text");
    let words: Vec<_> = line.trim().split(':').collect();
    (words[5].to_owned(), words[0].to_owned())
}

#[test]
fn home_and_user_are_those_of_the_folder_s_owner() {
    let site = site().file("index.php", SHOW);
    let mut uid = rustix::process::geteuid().as_raw();
    if uid == 0 {
        uid = 65534;
        chown(site.root(), Some(uid), Some(uid)).expect("root may do that");
    }
    let (home, user) = entry(uid);
    serve(&site, &["--workers", "1"]).1.get("/").expect(200).expect_body(format!("{home} {user}"));
}

/// `.env` of Symfony and Laravel gives way to what `$_SERVER` has.
#[test]
fn variables_of_the_shell_reach_scripts_in_all_ways() {
    let site = site().file("index.php", "<?php echo getenv('APP_ENV'), ' ', $_SERVER['APP_ENV'] ?? 'none';");
    let address = Address::fresh();
    let mut corral = Command::new(&executables().corral)
        .args(["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"])
        .env("APP_ENV", "prod")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("corral starts");
    let mut client = eventually("it serves", || Client::try_connect(address.socket()).ok());
    client.get("/").expect(200).expect_body("prod prod");
    signal(corral.id(), corral_testkit::Signal::TERM);
    assert!(corral.wait().expect("it is our child").success());
}

/// As in a container, without a login.
#[test]
fn they_are_there_even_if_nobody_has_set_them() {
    let (site, address) = (site().file("index.php", SHOW), Address::fresh());
    let own = rustix::process::geteuid().as_raw();
    let uid = if own == 0 { 65534 } else { own };
    let mut corral = Command::new(&executables().corral)
        .args(["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"])
        .args(["--user", &uid.to_string()])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("corral starts");
    let mut client = eventually("it serves", || Client::try_connect(address.socket()).ok());
    let (home, user) = entry(uid);
    client.get("/").expect(200).expect_body(format!("{home} {user}"));
    signal(corral.id(), corral_testkit::Signal::TERM);
    assert!(corral.wait().expect("it is our child").success());
}

/// A virtual environment whose packages have one module.
fn virtual_environment(folder: &Path, said: &str) {
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(folder).status();
    assert!(made.expect("python3 is installed").success());
    let packages =
        fs::read_dir(folder.join("lib")).expect("it has one").flatten().next().expect("it has one");
    let module = packages.path().join("site-packages/told.py");
    fs::write(module, format!("WORD = '{said}'\n")).expect("write a module");
}

const IMPORT: &str = "import told\n\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    \
    return [told.WORD.encode()]\n";

/// The one that is activated, the one whose interpreter is first in `PATH`, the project's own: in this order.
#[test]
fn the_virtual_environment_of_the_shell_is_used() {
    let site = site().file("wsgi.py", IMPORT);
    let folders = corral_testkit::site();
    let [active, first] = ["active", "first"].map(|name| folders.path(name));
    virtual_environment(&site.path(".venv"), "own");
    virtual_environment(&active, "active");
    virtual_environment(&first, "first");
    let path = format!("{}:/usr/bin:/bin", first.join("bin").display());
    let run = |variables: &[(&str, &str)]| {
        let address = Address::fresh();
        let mut command = Command::new(&executables().corral);
        command.args(["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"]);
        command.env_remove("VIRTUAL_ENV").envs(variables.iter().copied());
        let mut run = Run::spawn(&mut command);
        run.expect_output(&format!("http://{address}"));
        let said = Client::connect(address.socket()).get("/").expect(200).text();
        assert!(run.stdout().contains("virtual environment: "), "{}", run.stdout());
        said
    };
    let active = active.display().to_string();
    assert_eq!(run(&[("VIRTUAL_ENV", &active), ("PATH", &path)]), "active");
    assert_eq!(run(&[("PATH", &path)]), "first");
    assert_eq!(run(&[("VIRTUAL_ENV", "/nonexistent"), ("PATH", "/usr/bin:/bin")]), "own");
}

/// A version manager of Node.js has its own in a folder at the beginning of `PATH`.
#[test]
fn programs_are_found_by_the_path_of_the_shell() {
    let folders = site().file(
        "bin/node",
        "#!/bin/sh\nexec python3 -c \"import http.server, os, sys\nclass Said(http.server.BaseHTTPRequestHandler):\n    \
         def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n        \
         self.wfile.write(b'own node')\nhttp.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), \
         Said).serve_forever()\"\n",
    );
    fs::set_permissions(folders.path("bin/node"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let site = site().file("package.json", r#"{"scripts": {"start": "node server.js"}}"#);
    let address = Address::fresh();
    let path = format!("{}:/usr/bin:/bin", folders.path("bin").display());
    let mut command = Command::new(&executables().corral);
    command.args(["run", &site.root(), "--listen", &address.to_string()]).env("PATH", path);
    let mut run = Run::spawn(&mut command);
    run.expect_output(&format!("http://{address}"));
    Client::connect(address.socket()).get("/").expect(200).expect_body("own node");
}
