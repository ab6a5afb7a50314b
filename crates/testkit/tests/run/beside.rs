//! Commands beside a site: the further lines of a Procfile, and Laravel's queue and schedule.

use std::fs;

use corral_testkit::{Address, Request, Run, Signal, Site, eventually, is_alive, signal, site};
use serde_json::Value;

use crate::serve;
use crate::terminal::Terminal;

/// Says what it is and where, and ends when it is told.
const WORKER: &str = r#"#!/bin/sh
trap 'echo "end $$" >>out/journal; exit 0' TERM
echo "begin $$" >>out/journal
echo "works in $(pwd) with $*"
echo "trouble" >&2
while :; do sleep 0.05; done
"#;

fn procfile(lines: &str) -> Site {
    site()
        .file("web.js", "require('http').createServer((q, r) => r.end('web')).listen(process.env.PORT);")
        .file("worker.sh", WORKER)
        .file("Procfile", format!("web: node web.js\nrelease: touch out/released\n{lines}"))
        .writable_folder("out")
}

/// The numbers of processes that have said so, once there are `n`.
#[track_caller]
fn numbers(site: &Site, word: &str, n: usize) -> Vec<u32> {
    eventually(&format!("{n} times {word:?}"), || {
        let journal = fs::read_to_string(site.path("out/journal")).unwrap_or_default();
        let numbers: Vec<_> =
            journal.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect();
        (numbers.len() >= n).then_some(numbers)
    })
}

/// The control socket of `corral run`.
#[track_caller]
fn control(run: &Run) -> String {
    let stdout = run.stdout();
    let control = stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is told");
    control.to_owned()
}

#[track_caller]
fn corral(run: &Run, command: &str, words: &[&str]) -> String {
    Run::to_end(&[&[command, "--control", &control(run)], words].concat()).expect_success().stdout
}

#[test]
fn the_lines_of_a_procfile_run_beside_the_site() {
    let site = procfile("worker: sh worker.sh --fast\nclock: sh worker.sh \"two words\"\n");
    let (mut run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("web");
    assert!(run.stdout().contains("beside: worker, clock\n"), "{}", run.stdout());
    let begun = numbers(&site, "begin ", 2);
    let folder = site.root();
    run.expect_output(&format!("\"worker\": works in {folder} with --fast"));
    run.expect_output(&format!("\"clock\": works in {folder} with two words"));
    run.expect_output("\"worker\": trouble");
    assert!(!site.path("out/released").exists(), "a release is none of its business");
    assert!(run.interrupt().status.success());
    assert_eq!(numbers(&site, "end ", 2).len(), begun.len(), "each was told");
}

/// The shell is told alone, and hands it on to the command that runs.
#[test]
fn a_line_of_several_commands_is_told_to_end() {
    let site = procfile("worker: cd . && A='1' sh worker.sh; echo after >>out/journal\n");
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("web");
    let begun = numbers(&site, "begin ", 1);
    assert!(run.interrupt().status.success());
    assert_eq!(numbers(&site, "end ", 1), begun);
    let journal = fs::read_to_string(site.path("out/journal")).expect("it was written");
    assert!(!journal.contains("after"), "what follows does not run: {journal}");
}

#[test]
fn a_worker_that_is_killed_is_started_again() {
    let site = procfile("worker: sh worker.sh\n");
    let (run, mut client) = serve(&site, &[]);
    let first = numbers(&site, "begin ", 1)[0];
    signal(first, Signal::KILL);
    let second = numbers(&site, "begin ", 2)[1];
    assert!(first != second && !is_alive(first));
    client.get("/").expect(200);
    assert!(run.interrupt().status.success());
    assert!(!is_alive(second));
}

#[test]
fn a_worker_is_restarted_with_the_code_of_the_site() {
    let site = procfile("worker: sh worker.sh\n");
    let (run, mut client) = serve(&site, &["--watch"]);
    client.get("/").expect(200).expect_body("web");
    let first = numbers(&site, "begin ", 1)[0];
    site.write("web.js", "require('http').createServer((q, r) => r.end('new')).listen(process.env.PORT);");
    eventually("the site is new", || {
        (client.try_send(&Request::get("/")).ok()?.body == b"new").then_some(())
    });
    assert_eq!(numbers(&site, "end ", 1), [first]);
    numbers(&site, "begin ", 2);
    assert!(run.interrupt().status.success());
}

/// A command that does not run does not keep the site from being served, and says why.
#[test]
fn a_command_that_fails_is_shown_and_the_site_served() {
    let site = procfile("worker: no-such-program --x\n");
    let (mut run, mut client) = serve(&site, &[]);
    run.expect_output("\"worker\": ");
    run.expect_output("no-such-program: ");
    client.get("/").expect(200).expect_body("web");
    assert!(run.interrupt().status.success());
}

#[test]
fn ctrl_c_at_a_terminal_ends_the_workers_in_order() {
    let site = procfile("worker: sh worker.sh\n");
    let mut terminal = Terminal::start(&site, &[]);
    terminal.client().get("/").expect(200).expect_body("web");
    let begun = numbers(&site, "begin ", 1);
    terminal.expect("worker");
    let processes = terminal.processes();
    terminal.interrupt();
    assert_eq!(numbers(&site, "end ", 1), begun, "it was told, once");
    eventually("nothing is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

/// A project of Laravel's shape, with something in place of `artisan` that says what it is asked for.
fn laravel() -> Site {
    let artisan = "<?php file_put_contents('out/' . strtr($argv[1], ':', '-'), getmypid());\n\
                   echo \"artisan $argv[1]\\n\";\n\
                   if ($argv[1] === 'queue:work') { for (;;) { usleep(50_000); } }\n";
    site()
        .file("artisan", artisan)
        .file("public/index.php", "<?php echo 'laravel';")
        .file("vendor/laravel/framework/composer.json", "{}")
        .file("composer.json", "{}")
        .writable_folder("out")
}

#[test]
fn laravel_s_queue_and_schedule_run_when_they_are_asked_for() {
    let site = laravel();
    let (mut run, mut client) = serve(&site, &["--background"]);
    client.get("/").expect(200).expect_body("laravel");
    assert!(run.stdout().contains("beside: queue, scheduler\n"), "{}", run.stdout());
    run.expect_output("\"queue\": artisan queue:work");
    corral(&run, "start", &["scheduler"]);
    run.expect_output("\"scheduler\": artisan schedule:run");
    let config: Value =
        serde_json::from_str(&corral(&run, "config", &["get", "applications"])).expect("JSON");
    assert_eq!(config["scheduler"]["schedule"], "* * * * *");
    // A command by hand is run where theirs are.
    assert_eq!(corral(&run, "exec", &["site", "php", "artisan", "migrate"]), "artisan migrate\n");
    let queue =
        eventually("its number", || fs::read_to_string(site.path("out/queue-work")).ok()?.parse().ok());
    assert!(is_alive(queue));
    assert!(run.interrupt().status.success());
    assert!(!is_alive(queue));
}

#[test]
fn laravel_s_queue_and_schedule_are_only_offered_otherwise() {
    let site = laravel();
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("laravel");
    assert!(run.stdout().contains("--background starts them"), "{}", run.stdout());
    assert!(run.interrupt().status.success());
    assert!(!site.path("out/queue-work").exists());
    // Another folder has nothing of the kind, and says so.
    let plain = corral_testkit::site().file("index.php", "<?php echo 'plain';");
    let (run, _client) = serve(&plain, &["--background"]);
    assert!(run.stdout().contains("note: there is no Laravel here"), "{}", run.stdout());
    assert!(run.interrupt().status.success());
}

/// The last one of two lines with one name counts, as in tools for Procfiles, and is named once.
#[test]
fn lines_of_one_name_are_one_command() {
    let site = procfile("worker: false\nworker: sh worker.sh --second\n");
    let address = Address::fresh().to_string();
    let printed =
        Run::to_end(&["run", &site.root(), "--listen", &address, "--print-config"]).expect_success();
    let config: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert!(config["applications"]["worker"]["command"].to_string().contains("--second"), "{config:#}");
    let (run, _client) = serve(&site, &[]);
    assert!(run.stdout().contains("beside: worker\n"), "{}", run.stdout());
}
