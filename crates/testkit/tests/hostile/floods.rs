//! As much as an application can say and print, and nothing at all.

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use corral_channel::WorkerEnd;
use corral_ipc::message::{Exit, FromPrototype, WorkerId};
use corral_sys::socket::{self, Wait};
use corral_testkit::{Beside, Watchdog, eventually, meanwhile, private_memory};

use crate::attack::{ask, begin, begin_with};

/// How long a flood lasts that is not ended.
const FLOOD: Duration = Duration::from_secs(3);

/// Memory that main may take for a flood.
const GROWTH: u64 = 16 << 20;

#[test]
fn workers_that_nobody_has_asked_for_cost_no_memory() {
    let mut attack = begin();
    let main = attack.server.pid();
    let before = private_memory(main).unwrap();
    let watchdog = Watchdog::of(&attack.server);
    let forked =
        FromPrototype::Forked { worker: WorkerId(u32::MAX), pid: 1, concurrency: None, files: false };
    let (_, memory) = WorkerEnd::create(&corral_channel::WorkerBell::create(1).unwrap().0).unwrap();
    let end = Instant::now() + FLOOD;
    while Instant::now() < end && attack.prototype.try_say(&forked, &[memory.as_fd()]) {}
    assert!(Instant::now() < end, "main goes on listening");
    attack.expect_given_up();
    watchdog.expect_prompt();
    assert!(private_memory(main).unwrap() < before + GROWTH);
}

#[test]
fn a_flood_of_messages_that_change_nothing_holds_nobody_up() {
    let attack = begin();
    let main = attack.server.pid();
    let before = private_memory(main).unwrap();
    let watchdog = Watchdog::of(&attack.server);
    let end = Instant::now() + FLOOD;
    let mut n = 0;
    while Instant::now() < end {
        n += 1;
        let exited = FromPrototype::Exited { worker: WorkerId(n), exit: Exit::Code(0) };
        assert!(attack.prototype.try_say(&exited, &[]));
    }
    watchdog.expect_prompt();
    attack.expect_unharmed();
    assert!(private_memory(main).unwrap() < before + GROWTH);
}

#[test]
fn a_flood_does_not_end_with_the_prototype_s_process() {
    let mut attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    let link = attack.prototype.link.as_fd().try_clone_to_owned().unwrap();
    // `Exited { worker: 1, exit: Code(0) }`, until main closes its end.
    let flood = || match socket::send(link.as_fd(), &[0, 5, 1, 0, 0], &[], Wait::Block) {
        Ok(_) => Beside::Again,
        Err(_) => Beside::Done,
    };
    meanwhile(flood, || {
        attack.prototype.end();
        attack.prototype = attack.attacker.prototype();
        watchdog.expect_prompt();
    });
    attack.expect_served();
}

#[test]
fn a_main_that_is_not_listened_to_does_not_wait() {
    let attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    let _bell = attack.prototype.ready();
    // The prototype is asked for workers, and says nothing: requests for them can wait.
    let waiting: Vec<_> = (0..20).map(|_| ask(&attack.server, "hostile")).collect();
    thread::sleep(FLOOD);
    watchdog.expect_prompt();
    attack.expect_unharmed();
    drop(waiting);
}

#[test]
fn what_one_prints_holds_up_neither_main_nor_the_lines_of_others() {
    let mut attack = begin_with(&["hostile", "quiet"]);
    attack.expect_served();
    let _waits = ask(&attack.server, "quiet");
    let quiet = attack.attacker.prototype();
    for line in ["\n", "x\n", &format!("{}\n", "long ".repeat(100))] {
        let watchdog = Watchdog::of(&attack.server);
        let flood = line.repeat(1000 / line.len());
        let end = Instant::now() + FLOOD;
        let mut n = 0;
        while Instant::now() < end {
            // More than a pipe holds, all the time.
            (0..50).for_each(|_| attack.prototype.print(&flood));
            n += 1;
            quiet.print(&format!("here is {n} of {}\n", line.len()));
            let said = format!("\"quiet\": here is {n} of {}\n", line.len());
            let begin = Instant::now();
            eventually("the other one's line is logged", || {
                attack.server.log().contains(&said).then_some(())
            });
            assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        }
        watchdog.expect_prompt();
    }
}

const FORGED: &str = "2026/11/22 18:00:00 [alert] 1#1 process 7 exited on signal 9 (router)";

/// A reason as long as a message can be.
fn forgery() -> String {
    format!("begin\n{FORGED}\r\n\u{1b}[2J\u{1b}[31mred\u{202e}\n{}\n{FORGED}\nend", "x".repeat(31_000))
}

#[test]
fn a_reason_is_cut_and_forges_no_line() {
    let mut attack = begin();
    for _ in 0..3 {
        attack.prototype.say(&FromPrototype::Failed { reason: forgery() }, &[]);
        attack.prototype.end();
        attack.client.read_response().expect(503);
        attack.client = ask(&attack.server, "hostile");
        attack.prototype = attack.attacker.prototype();
    }
    let _bell = attack.prototype.ready();
    let worker = attack.asked_again();
    attack.prototype.say(&FromPrototype::ForkFailed { worker, reason: forgery() }, &[]);
    attack.client.read_response().expect(503);
    let log = attack.server.log();
    assert!(log.contains("bytes left out"), "{log}");
    assert!(log.lines().all(|line| !line.starts_with(FORGED)), "{log}");
    let prefixed = log.lines().filter(|line| line.contains(FORGED));
    for line in prefixed {
        assert!(line.contains("#") && line.contains(&format!("   {FORGED}")), "{line}");
    }
    assert!(!log.contains('\u{1b}') && !log.contains('\u{202e}') && !log.contains('\r'));
    let status = attack.server.control().get("/status");
    assert!(status.0.body.len() < 64 * 1024, "{} bytes", status.0.body.len());
}

#[test]
fn what_is_printed_forges_no_line() {
    let attack = begin();
    attack.prototype.print(&format!("old\r{FORGED}\u{1b}[2J\n{FORGED}\nend of it\n"));
    attack.server.expect_log("\"hostile\": end of it");
    let log = attack.server.log();
    assert!(log.lines().all(|line| !line.starts_with(FORGED)), "{log}");
    assert!(
        log.contains(&format!("\"hostile\": {FORGED}\n")) && !log.contains('\u{1b}') && !log.contains('\r')
    );
}

#[test]
fn nonsense_is_the_last_that_main_hears() {
    let mut attack = begin();
    for seed in 1..=8_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let nonsense: Vec<u8> = (0..seed * 300)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8 | 0x80
            })
            .collect();
        assert!(attack.prototype.say_bytes(&nonsense, &[]));
        attack.expect_given_up();
    }
    attack.expect_served();
}
