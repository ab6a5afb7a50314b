//! Applications that mean harm, one after the other, beside a site that is served: whatever they say to main, the site
//! does not notice.

use std::time::{Duration, Instant};

use corral_ipc::message::{Exit, FromPrototype, WorkerId};
use corral_testkit::attacker::Prototype;
use corral_testkit::{Attacker, Client, Daemon, Watchdog, is_alive};

use super::duration;

/// Each is attacked from once, as one that fails is started again ever later.
const N_APPLICATIONS: usize = 10;

fn names() -> Vec<String> {
    (0..N_APPLICATIONS).map(|n| format!("hostile{n}")).collect()
}

/// Processes that are none of its own, by numbers that it may guess.
fn strangers(server: &Daemon) -> Vec<u32> {
    let own = ["router", "controller"].iter().flat_map(|name| server.named(name));
    [0, 1, server.pid(), std::process::id(), u32::MAX].into_iter().chain(own).collect()
}

/// Says what no prototype should.
fn attack(prototype: &Prototype, n: usize, server: &Daemon) {
    let forked = |worker, pid| FromPrototype::Forked { worker, pid, concurrency: None, files: false };
    match n % 5 {
        0 => {
            prototype.say_bytes(&[0xff; 600], &[]);
        }
        1 => {
            let _bell = prototype.ready();
            strangers(server).into_iter().all(|pid| prototype.try_say(&forked(WorkerId(1), pid), &[]));
        }
        2 => {
            let reason = "2026/01/01 [alert] main: forged\n\u{1b}[2J".repeat(500);
            prototype.try_say(&FromPrototype::Failed { reason }, &[]);
        }
        3 => {
            let _bell = prototype.ready();
            let exited =
                |worker| FromPrototype::Exited { worker: WorkerId(worker), exit: Exit::Signal(i32::MIN) };
            (0..20_000).all(|worker| prototype.try_say(&exited(worker), &[]));
        }
        // Nothing at all, and the end.
        _ => {}
    }
}

#[test]
fn hostile_applications_hurt_nobody_else() {
    let attacker = Attacker::new(env!("CARGO_BIN_EXE_attacker"));
    let names = names();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let server = attacker.daemon().config(attacker.config(&names)).start();
    let own = || ["router", "controller"].map(|name| server.expect_processes(name, 1));
    let before = own();
    let watchdog = Watchdog::of(&server);
    let begun = Instant::now();
    let mut clients: Vec<Client> = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let mut client = server.connect();
        client.write(format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        clients.push(client);
        let prototype = attacker.prototype();
        attack(&prototype, n, &server);
        drop(prototype);
        // They are spread over the time that a case lasts.
        let rest = (duration() * (n as u32 + 1) / N_APPLICATIONS as u32).saturating_sub(begun.elapsed());
        std::thread::sleep(rest.min(Duration::from_secs(5)));
    }
    watchdog.expect_prompt();
    assert_eq!(own(), before, "{}", server.log());
    assert!(is_alive(server.pid()));
    assert!(!server.log().contains("panicked"), "{}", server.log());
    server.get("/").expect(204);
}
