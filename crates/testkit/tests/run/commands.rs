//! Programs that a Procfile or `--command` starts, whatever else is in the folder.

use corral_testkit::{Address, Run, Site, site};
use serde_json::Value;

use crate::serve;

const SERVER: &str =
    "require('http').createServer((q, r) => r.end(process.argv[2] || 'none')).listen(process.env.PORT)";

/// A folder that would be found to be an application of Python, and one of PHP.
fn ambiguous() -> Site {
    site().file("web.js", SERVER).file("app.py", "app = 1\n").file("public/index.php", "<?php echo 'php';")
}

#[test]
fn a_procfile_says_what_serves() {
    let site = ambiguous().file("Procfile", "release: false\nweb: node web.js procfile\n");
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("procfile");
    assert!(run.stdout().contains("started by \"node web.js procfile\""), "{}", run.stdout());
}

#[test]
fn a_command_says_what_serves() {
    let site = ambiguous().file("Procfile", "web: node web.js procfile\nworker: echo worker; sleep 60\n");
    let (mut run, mut client) = serve(&site, &["--command", "node web.js 'a command'"]);
    client.get("/").expect(200).expect_body("a command");
    run.expect_output("\"worker\": worker");
    assert!(run.interrupt().status.success());
}

/// Commands of a Procfile in the folder below, which is the one that is served.
#[test]
fn a_procfile_in_the_only_project_below_has_its_other_lines_run() {
    let site = site()
        .file("shop/web.js", SERVER)
        .file("shop/Procfile", "web: node web.js below\nworker: echo worker; sleep 60\n");
    let (mut run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("below");
    run.expect_output("\"worker\": worker");
}

/// Heroku's servers for PHP are what this server is in the place of.
#[test]
fn a_procfile_for_a_server_of_php_is_passed_over() {
    let site = site()
        .file("Procfile", "web: vendor/bin/heroku-php-apache2 public/\n")
        .file("public/index.php", "<?php echo 'php';");
    serve(&site, &["--workers", "1"]).1.get("/").expect(200).expect_body("php");
}

#[test]
fn the_programs_of_a_project_s_virtual_environment_are_found() {
    let site =
        site().file(".venv/pyvenv.cfg", "").file("Procfile", "web: served web\nworker: served worker\n");
    let printed = Run::to_end(&["run", &site.root(), "--print-config"]).expect_success();
    let config: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    for line in
        [&config["applications"]["site"]["arguments"][1], &config["applications"]["worker"]["command"][2]]
    {
        let begin = "PATH=\"$PWD/node_modules/.bin:$PWD/.venv/bin:$PATH\"; ";
        assert!(line.as_str().is_some_and(|line| line.starts_with(begin)), "{line}");
    }
}

#[test]
fn a_command_that_cannot_be_is_refused() {
    let site = ambiguous();
    let root = site.root();
    let run = |more: &[&str]| Run::to_end(&[&["run", &root, "--port", "1"], more].concat());
    for more in
        [&["--command", ""][..], &["--command", "x", "--static"], &["--command", "x", "--worker", "y.php"]]
    {
        let outcome = run(more);
        assert!(!outcome.status.success() && outcome.stderr.contains("--command"), "{more:?}: {outcome:?}");
    }
    let file = site.path("app.py").display().to_string();
    Run::to_end(&["run", &file, "--command", "x"]).expect_one_line(&["name the folder"]);
    let address = Address::fresh().to_string();
    let failed = Run::to_end(&["run", &root, "--listen", &address, "--command", "no-such-program --x"]);
    assert!(!failed.status.success() && failed.stderr.contains("no-such-program"), "{failed:?}");
}
