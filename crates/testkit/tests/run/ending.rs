//! The end of `corral run`: what causes it, and what does not.

use std::process::{Command, Stdio};

use corral_testkit::{
    Address, Client, Signal, Site, descendants, eventually, executables, is_alive, signal, site,
};

use crate::serve;
use crate::terminal::Terminal;

fn page() -> Site {
    site().file("index.html", "page")
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let site = page();
    let mut terminal = Terminal::start(&site, &[]);
    let mut client = terminal.client();
    client.get("/").expect(200).expect_body("page");
    let processes = terminal.processes();
    assert!(processes.len() > 2, "{processes:?}");
    terminal.close();
    eventually("no process is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn a_terminal_that_is_closed_ends_what_serves_configuration_files() {
    let address = Address::fresh();
    let text = format!("listeners:\n  '{address}': {{pass: routes}}\nroutes:\n  - action: {{return: 201}}\n");
    let site = site().file("site.yaml", text.clone());
    let path = site.path("site.yaml").display().to_string();
    let mut terminal = Terminal::command(address, &["run", &path]);
    terminal.client().get("/").expect(201);
    let processes = terminal.processes();
    // As long as there is a terminal, this reads the files again.
    site.write("site.yaml", text.replace("201", "202"));
    signal(processes[0], Signal::HUP);
    eventually("it follows", || (terminal.client().get("/").status == 202).then_some(()));
    terminal.close();
    eventually("no process is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn a_hang_up_ends_it_without_a_terminal_too() {
    let site = page();
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200);
    let processes: Vec<_> = run.processes().iter().map(|process| process.pid).collect();
    signal(run.pid(), Signal::HUP);
    eventually("no process is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn nohup_keeps_it_alive() {
    let (site, address) = (page(), Address::fresh());
    let mut nohup = Command::new("nohup")
        .arg(&executables().corral)
        .args(["run", &site.root(), "--listen", &address.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nohup is installed");
    let connect = || Client::try_connect(address.socket()).ok();
    eventually("it serves", connect).get("/").expect(200);
    let processes = descendants(nohup.id());
    signal(nohup.id(), Signal::HUP);
    for _ in 0..20 {
        eventually("it still serves", connect).get("/").expect(200);
    }
    assert!(nohup.try_wait().expect("it is our child").is_none());
    signal(nohup.id(), Signal::TERM);
    assert!(nohup.wait().expect("it is our child").success());
    eventually("no process is left", || processes.iter().all(|process| !is_alive(process.pid)).then_some(()));
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    let site = site().file("index.php", "<?php echo 'x';");
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200);
    assert!(run.interrupt().status.success());
    let left = std::fs::read_dir(site.path("")).expect("the site is there").count();
    assert_eq!(left, 1, "nothing is written into the site");
}
