//! Sites in a container as `docker run --read-only --tmpfs /tmp` makes one: root in namespaces of its own, as process
//! 1, without a home, a terminal and an environment. The file system is read only but for the site.

use std::process::Command;

use corral_testkit::{Address, Client, Run, Signal, Site, eventually, executables, signal, site};
use serde_json::json;

/// Whether namespaces can be made; without root they need what not every machine permits.
fn skips() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can make namespaces everywhere");
    }
    !is_root
}

/// Mounts the site where it can be written to, folders for temporary files, and nothing else.
const CONTAINER: &str = "mount --make-rprivate / && mount --bind \"$SITE\" /mnt && for folder in $TEMPORARY; do \
    mount -t tmpfs tmpfs $folder || exit; done && mount -o remount,bind,ro / && cd / && \
    exec env -i PATH=/usr/local/bin:/usr/bin:/bin \"$@\"";

/// Starts `corral` in a container with the site in `/mnt`.
fn contained(site: &Site, temporary: &str, arguments: &[&str]) -> Run {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "setsid", "--wait"]);
    command.args(["sh", "-c", CONTAINER, "sh"]).arg(&executables().corral).args(arguments);
    command.env("SITE", site.root()).env("TEMPORARY", temporary);
    Run::spawn(&mut command)
}

/// Serves a site in a container, and says what the path `/` answers.
#[track_caller]
fn check(name: &str, site: &Site, more: &[&str]) {
    let address = Address::fresh();
    let listen = address.to_string();
    let mut run = contained(site, "/tmp", &[&["run", "/mnt", "--listen", &listen], more].concat());
    run.expect_output(&format!("http://{listen}"));
    let mut client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    let response = client.get("/");
    assert_eq!(
        (response.status, &*response.text()),
        (200, "written"),
        "{name}\n{}{}",
        run.stdout(),
        run.stderr()
    );
    let note = "this is a container, so the application runs as root; --user nobody";
    assert!(run.stdout().contains(note), "{name}: {}", run.stdout());
    stop(run, Signal::TERM);
}

/// Ends it from outside, as `docker stop` does.
#[track_caller]
fn stop(run: Run, by: Signal) {
    let main = run.processes().into_iter().find(|process| process.name.starts_with("main v"));
    signal(main.expect("it runs").pid, by);
    run.ended().expect_success();
}

const PYTHON: &str = "import os, sqlite3\n\ndef application(environ, start_response):\n    connection = \
    sqlite3.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'db.sqlite3'))\n    \
    connection.execute('create table if not exists a (b)')\n    connection.commit()\n    start_response('200 OK', \
    [])\n    return [b'written']\n";

const FLASK: &str = "import pathlib\nfrom flask import Flask\n\napp = Flask(__name__)\n\n@app.route('/')\ndef \
    page():\n    pathlib.Path(app.root_path, 'written').touch()\n    return 'written'\n";

const FASTAPI: &str = "import pathlib\nfrom fastapi import FastAPI\nfrom fastapi.responses import \
    PlainTextResponse\n\napp = FastAPI()\n\n@app.get('/', response_class=PlainTextResponse)\ndef page():\n    \
    pathlib.Path(__file__).with_name('written').touch()\n    return 'written'\n";

const NODE: &str = "require('http').createServer((q, r) => { require('fs').writeFileSync(__dirname + '/written', ''); \
    r.end('written'); }).listen(process.env.PORT);";

const RACK: &str = "run ->(env) { File.write(File.join(__dir__, 'written'), ''); [200, {}, ['written']] }\n";

const PSGI: &str = "use File::Basename; my $here = dirname(__FILE__); sub { open(my $f, '>', \"$here/written\") or die \
    $!; [200, [], ['written']] }";

const PHP: &str = "<?php $db = new PDO('sqlite:' . __DIR__ . '/db.sqlite3'); $db->exec('create table if not exists a \
    (b)'); echo 'written';";

const MOJOLICIOUS: &str = "#!/usr/bin/perl\nuse Mojolicious::Lite -signatures;\nget '/' => sub ($c) { \
    $c->app->home->child('written')->touch; $c->render(text => 'written') };\napp->start;\n";

#[test]
fn applications_write_beside_themselves() {
    if skips() {
        return;
    }
    for (name, file, content) in [
        ("php", "index.php", PHP),
        ("front controller", "public/index.php", PHP),
        ("wsgi", "wsgi.py", PYTHON),
        ("flask", "app.py", FLASK),
        ("fastapi", "main.py", FASTAPI),
        ("rack", "config.ru", RACK),
        ("psgi", "app.psgi", PSGI),
        ("node", "server.js", NODE),
        ("mojolicious", "shop.pl", MOJOLICIOUS),
    ] {
        check(name, &site().file(file, content), &[]);
    }
    let procfile = site().file("web.js", NODE).file("Procfile", "web: node web.js\n");
    check("procfile", &procfile, &[]);
    check("command", &site().file("web.js", NODE), &["--command", "node web.js"]);
}

#[test]
fn files_are_served_without_a_word_about_users() {
    if skips() {
        return;
    }
    let (site, address) = (site().file("index.html", "page"), Address::fresh());
    let run = contained(&site, "/tmp", &["run", "/mnt", "--listen", &address.to_string()]);
    let mut client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    client.get("/").expect(200).expect_body("page");
    assert!(!run.stdout().contains("note:"), "{}", run.stdout());
    stop(run, Signal::TERM);
}

#[test]
fn another_user_is_respected_there() {
    if skips() {
        return;
    }
    let (site, address) = (site().file("wsgi.py", PYTHON), Address::fresh());
    let listen = address.to_string();
    let run = contained(&site, "/tmp", &["run", "/mnt", "--listen", &listen, "--user", "nobody"]);
    let mut client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    client.get("/").expect(500);
    stop(run, Signal::TERM);
}

#[test]
fn without_any_place_for_temporary_files_the_remedy_is_said() {
    if skips() {
        return;
    }
    let site = site().file("index.html", "page");
    contained(&site, "", &["run", "/mnt", "--port", "9"]).ended().expect_one_line(&[
        "/tmp",
        "Read-only",
        "TMPDIR",
    ]);
}

#[test]
fn a_daemon_needs_no_more_than_two_folders() {
    if skips() {
        return;
    }
    let address = Address::fresh();
    let config = json!({
        "listeners": { address.to_string(): { "pass": "applications/app" } },
        "applications": { "app": { "type": "python", "path": "/mnt", "module": "wsgi", "user": "root" } },
    });
    let site = site().file("wsgi.py", PYTHON).file("site.json", config.to_string());
    let arguments = ["daemon", "--no-daemon", "--config", "/mnt/site.json"];
    let run = contained(&site, "/run /var/tmp", &arguments);
    let mut client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    client.get("/").expect(200).expect_body("written");
    stop(run, Signal::QUIT);
}
