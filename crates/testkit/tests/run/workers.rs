//! PHP scripts that stay in memory: those that are named, and those that packages bring.

use corral_testkit::{Address, Client, Run, Site, site};

use crate::serve;

/// Counts its requests.
const COUNTER: &str = "<?php require 'word.php'; $n = 0;\n\
    while (corral_handle_request(function () use (&$n) {\n    \
        echo WORD, ' ', ++$n, ' ', $_SERVER['REQUEST_URI'], ' ', $_SERVER['APP_RUNTIME'] ?? '-', ' ', \
        isset($_SERVER['APP_BASE_PATH']) ? basename($_SERVER['APP_PUBLIC_PATH']) : '-';\n\
    })) {}\n";
const WORD: &str = "<?php const WORD = 'first';";

fn counter() -> Site {
    site().file("public/worker.php", COUNTER).file("public/word.php", WORD).file("public/a.css", "a{}")
}

#[track_caller]
fn check_counts(client: &mut Client, rest: &str) {
    for n in 1..4 {
        client.get("/page?x").expect(200).expect_body(format!("first {n} /page?x {rest}"));
    }
}

#[test]
fn a_script_that_is_named_stays_in_memory() {
    let site = counter();
    let (mut run, mut client) = serve(&site, &["--worker", "public/worker.php", "--workers", "1"]);
    run.expect_output("public/worker.php stays in memory\n");
    check_counts(&mut client, "- -");
    client.get("/a.css").expect(200).expect_body("a{}");
    client.get("/word.php").expect(200).expect_body("first 4 /word.php - -");
    assert!(run.interrupt().status.success());
}

#[test]
fn changed_code_of_a_worker_is_served_from_the_next_request_on() {
    let site = counter();
    let (run, mut client) = serve(&site, &["--worker", "public/worker.php", "--workers", "1", "--watch"]);
    client.get("/").expect(200).expect_body("first 1 / - -");
    for word in ["second", "third"] {
        site.write("public/word.php", format!("<?php const WORD = '{word}';"));
        let text = client.get("/").expect(200).text();
        assert!(text.starts_with(word), "{text}\n{}{}", run.stdout(), run.stderr());
    }
    site.write("public/word.php", "<?php const WORD = ;");
    let text = client.get("/").expect(200).text();
    assert!(text.starts_with("third"), "the old one goes on: {text}");
    site.write("public/word.php", "<?php const WORD = 'mended';");
    let text = client.get("/").expect(200).text();
    assert!(text.starts_with("mended"), "{text}\n{}{}", run.stdout(), run.stderr());
    assert!(run.interrupt().status.success());
}

const OCTANE: &str = r#"{"packages": [{"name": "a/b"}, {"name": "laravel/octane", "version": "v2.8.1"}]}"#;
const SYMFONY: &str = r#"{"packages": [{"name": "runtime/frankenphp-symfony", "version": "0.2.0"}]}"#;

fn octane() -> Site {
    counter()
        .file("composer.lock", OCTANE)
        .file("public/index.php", "<?php echo 'classic';")
        .file("public/frankenphp-worker.php", COUNTER)
}

#[test]
fn octane_is_found_by_itself() {
    let site = octane();
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("public/frankenphp-worker.php stays in memory by Laravel Octane; --no-worker");
    check_counts(&mut client, "- public");
    let (run, mut client) = serve(&site, &["--workers", "1", "--no-worker"]);
    assert!(!run.stdout().contains("memory"), "{}", run.stdout());
    client.get("/page").expect(200).expect_body("classic");
}

#[test]
fn octane_without_its_script_is_told_how_to_get_it() {
    let site = site().file("composer.lock", OCTANE).file("public/index.php", "<?php echo 'classic';");
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("public/frankenphp-worker.php is missing, which `php artisan octane:install");
    client.get("/page").expect(200).expect_body("classic");
}

#[test]
fn symfony_s_runtime_is_found_by_itself() {
    let index = COUNTER.replace("<?php ", "<?php /* vendor/autoload_runtime.php */ ");
    let site = counter().file("composer.lock", SYMFONY).file("public/index.php", index);
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("public/index.php stays in memory by Symfony's runtime");
    check_counts(&mut client, r"Runtime\FrankenPhpSymfony\Runtime -");
}

#[test]
fn the_printed_configuration_has_the_worker() {
    let print = |site: &Site, more: &[&str]| {
        let printed =
            Run::to_end(&[&["run", &site.root(), "--print-config"], more].concat()).expect_success();
        serde_json::from_str::<serde_json::Value>(&printed.stdout).expect("it is JSON")
    };
    let named = print(&counter(), &["--worker", "public/worker.php"]);
    let script = named["applications"]["site"]["worker"]["script"].as_str().expect("it is there").to_owned();
    assert!(script.ends_with("/public/worker.php"), "{script}");
    let found = print(&octane(), &[]);
    let variables = &found["applications"]["site"]["worker"]["env"];
    assert_eq!(variables["LARAVEL_OCTANE"], "1");
    assert!(print(&octane(), &["--no-worker"])["applications"]["site"]["worker"].is_null());
}

#[test]
fn a_script_that_is_not_there_is_named() {
    let site = counter();
    Run::to_end(&["run", &site.root(), "--worker", "worker.php"])
        .expect_one_line(&["worker.php", "--worker names one below the folder"]);
    let quits = site.file("quits.php", "<?php echo 'bye';");
    let listen = Address::fresh().to_string();
    let outcome = Run::to_end(&["run", &quits.root(), "--worker", "quits.php", "--listen", &listen]);
    assert!(!outcome.status.success(), "{outcome:?}");
    assert!(outcome.stderr.contains("before it called corral_handle_request()"), "{outcome:?}");
}
