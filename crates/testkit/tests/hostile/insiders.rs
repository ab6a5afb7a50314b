//! A router, a controller or a reader that was taken over: it says to main what it likes. Main goes on, ends a process
//! that says what none of ours does, and starts another one. Needs root, which may take the descriptors of other
//! processes.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corral_config::plan::{AssetKind, Assets, Plan};
use corral_config::settings::LogSettings;
use corral_ipc::history::StoredConfiguration;
use corral_ipc::link::Link;
use corral_ipc::message::{
    AppId, AppStatus, Backtrace, EndCause, FailedListener, FromController, FromReader, FromRouter,
    GenerationId, RunningRequest, StartPolicy, Status, Ticket, WorkerId, WorkerState, WorkerStatus,
    WorkerUsage,
};
use corral_sys::socket::{self, Wait};
use corral_testkit::attacker::{TARRYING, can_take_links, link_of, tarry};
use corral_testkit::{
    Address, Beside, Client, ControlReply, Daemon, Request, Site, Watchdog, daemon, eventually, is_alive,
    meanwhile, private_memory, site,
};
use serde_json::json;

/// How long a flood lasts that is not ended.
const FLOOD: Duration = Duration::from_secs(2);

/// Memory that main may take for a flood.
const GROWTH: u64 = 24 << 20;

/// A line that looks like main's own, with characters that a terminal obeys.
const FORGED: &str = "no\n2026/01/01 00:00:00 [alert] forged\r\x1b[31mred";

/// More numbers than a daemon of a test gives away.
const NUMBERS: std::ops::Range<u64> = 0..40;

/// A daemon with an application and a page of the router's own, and processes that are to stay.
struct House {
    server: Daemon,
    main: u32,
    worker: u32,
    _site: Site,
}

impl House {
    fn new() -> Self {
        let site = site().file("index.php", "<?php usleep((int) ($_GET['us'] ?? 0)); echo 'here';");
        let config = json!({
            "applications": { "php": { "type": "php", "root": site.root(), "script": "index.php" } },
            "routes": [
                { "match": { "uri": "/php" }, "action": { "pass": "applications/php" } },
                { "action": { "return": 204 } },
            ],
        });
        let server = daemon().config(config).start();
        let worker = server.expect_processes("\"php\" worker", 1)[0];
        Self { main: server.pid(), worker, server, _site: site }
    }

    /// Changes the configuration until `is_it` what was waited for, while the hostile process speaks of the generation
    /// that comes.
    #[track_caller]
    fn change_while_saying(
        &self,
        link: &Link,
        message: impl Fn(GenerationId) -> FromRouter + Sync,
        what: &str,
        is_it: impl Fn(&ControlReply) -> bool,
    ) -> ControlReply {
        // Which one comes is known but for those of the start.
        let n_changes = AtomicU64::new(0);
        let speak = || {
            let next = n_changes.load(Ordering::Relaxed);
            let mut sent = (next..next + 4).map(|n| link.send(&message(GenerationId(n)), &[]));
            sent.find(io::Result::is_err).map_or(Beside::Again, |_| Beside::Done)
        };
        meanwhile(speak, || {
            eventually(what, || {
                let n = n_changes.fetch_add(1, Ordering::Relaxed);
                let setting = json!({ "http": { "max_body_size": 1_000 + n } });
                let reply = self.server.control().put("/config/settings", &setting);
                is_it(&reply).then_some(reply)
            })
        })
    }

    fn insider(&self, role: &str) -> (u32, Link) {
        let pid = self.server.expect_processes(role, 1)[0];
        (pid, link_of(pid))
    }

    /// Expects that the process of this role is ended, and that the next one serves.
    #[track_caller]
    fn expect_replaced(&self, role: &str, before: u32) {
        eventually("it is ended", || (!is_alive(before)).then_some(()));
        self.server.expect_processes(role, 1);
        self.expect_served();
    }

    #[track_caller]
    fn expect_served(&self) {
        assert_eq!(self.server.pid(), self.main);
        assert!(is_alive(self.main), "{}", self.server.log());
        eventually("both are served", || {
            let is_served = |target| self.server.get(target).status;
            (is_served("/") == 204 && is_served("/php") == 200).then_some(())
        });
        eventually("main answers", || {
            let reply = self.server.control().try_send(&Request::get("/status")).ok()?;
            (reply.0.status == 200).then_some(())
        });
    }

    /// Nobody's words are a line of their own, nor obeyed by a terminal.
    #[track_caller]
    fn expect_no_forged_line(&self) {
        let log = self.server.log();
        assert!(!log.contains('\x1b') && !log.contains('\r'), "{log}");
        assert!(!log.lines().any(|line| line.starts_with("2026/01/01 00:00:00 [alert] forged")), "{log}");
    }
}

/// Sends the same for a while, as long as main listens; says whether it does to the end.
fn flood(message: impl Fn(u64) -> FromRouter, link: &Link) -> bool {
    let end = Instant::now() + FLOOD;
    let mut n = 0;
    while Instant::now() < end {
        n += 1;
        if link.send(&message(n), &[]).is_err() {
            return false;
        }
    }
    true
}

fn words(status: Status) -> FromRouter {
    FromRouter::Status { ticket: Ticket(0), status }
}

#[test]
fn a_router_that_says_what_none_does_is_ended_and_another_one_serves() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let long = Status { applications: vec![AppStatus::default(); 1_000_000], ..Status::default() };
    let attacks =
        [FromRouter::Finished { status: Status { accepted: u64::MAX, ..Status::default() } }, words(long)];
    for message in attacks {
        let (router, link) = house.insider("router");
        link.send(&message, &[]).expect("main listens");
        house.expect_replaced("router", router);
    }
    let (router, link) = house.insider("router");
    socket::send(link.as_fd(), &[], &[], Wait::Block).expect("main listens");
    house.expect_replaced("router", router);
}

#[test]
fn descriptors_of_a_router_hold_nobody_up() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (router, link) = house.insider("router");
    let begin = Instant::now();
    let mut tarrying = tarry();
    link.send(&FromRouter::Ready, &[tarrying.as_fd()]).expect("main listens");
    tarrying.leave();
    house.expect_replaced("router", router);
    assert!(begin.elapsed() < TARRYING / 2, "{:?}", begin.elapsed());
}

#[test]
fn what_a_router_says_out_of_its_time_or_of_nobody_is_of_no_consequence() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (router, link) = house.insider("router");
    let text = || FORGED.to_owned();
    for n in NUMBERS.chain([u64::MAX]) {
        // Not those of the house.
        let (app, worker) = (AppId(n as u32 | 1 << 20), WorkerId(n as u32 | 1 << 20));
        let status = Status { accepted: u64::MAX, requests: u64::MAX, ..Status::default() };
        let cause = EndCause::Broken;
        for message in [
            FromRouter::Ready,
            FromRouter::Prepared { generation: GenerationId(n), failed: vec![] },
            FromRouter::NotPrepared { generation: GenerationId(n), reason: text() },
            FromRouter::Committed { generation: GenerationId(n) },
            FromRouter::StartWorker { app },
            FromRouter::KillWorker { app, worker, cause, reason: text() },
            FromRouter::KillWorker { app: AppId(1), worker, cause, reason: text() },
            FromRouter::WorkerDismissed { app, worker, cause },
            FromRouter::WorkerDismissed { app: AppId(1), worker, cause },
            FromRouter::Workers { ticket: Ticket(n), app, workers: vec![forged_worker(); 10] },
            FromRouter::Workers { ticket: Ticket(n), app: AppId(1), workers: vec![forged_worker()] },
            FromRouter::RetireWorker { app, worker },
            FromRouter::RetireWorker { app: AppId(1), worker },
            FromRouter::AppNotTaken { app, reason: text() },
            FromRouter::AppUnused { app },
            FromRouter::Status { ticket: Ticket(n), status },
        ] {
            link.send(&message, &[]).expect("main listens");
        }
    }
    house.expect_served();
    house.expect_no_forged_line();
    assert_eq!(house.server.expect_processes("router", 1), [router]);
    assert!(is_alive(house.worker));
    house.server.control().put("/config/settings", &json!({ "http": { "max_body_size": 7 } })).expect_done();
}

/// A worker that does not exist, with a path that no router would tell.
fn forged_worker() -> WorkerStatus {
    let words = || FORGED.repeat(100);
    let request = RunningRequest {
        method: words(),
        path: words(),
        script: words(),
        time: Duration::from_secs(u64::MAX),
        backtrace: Some(Backtrace { text: words(), time: Duration::MAX }),
    };
    let usage =
        WorkerUsage { started: Some(Duration::MAX), cpu: Some(Duration::MAX), ..WorkerUsage::default() };
    WorkerStatus {
        pid: 1,
        requests: Some(u64::MAX),
        in_progress: u32::MAX,
        request: Some(request),
        usage,
        ..WorkerStatus::new(WorkerId(u32::MAX), WorkerState::Idle)
    }
}

/// Which processes there are is for main to say, whatever a router tells of them.
#[test]
fn a_router_invents_no_workers() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (_, link) = house.insider("router");
    let speak = || {
        let message = |ticket| {
            let (ticket, workers) = (Ticket(ticket), vec![forged_worker(); 3]);
            FromRouter::Workers { ticket, app: AppId(1), workers }
        };
        let mut sent = (0..100).map(|ticket| link.send(&message(ticket), &[]));
        sent.find(io::Result::is_err).map_or(Beside::Again, |_| Beside::Done)
    };
    meanwhile(speak, || {
        for _ in 0..20 {
            let list = house.server.control().get("/control/applications/php/workers").json();
            let numbers: Vec<_> = list.as_object().expect("an object").keys().cloned().collect();
            assert_eq!(numbers, [house.worker.to_string()], "{list:#}");
        }
    });
    let end = Request::post("/control/applications/php/workers/1/end");
    assert_eq!(house.server.control().send(&end).0.status, 404);
    house.expect_served();
}

#[test]
fn a_router_may_refuse_and_is_quoted_in_few_clean_words() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (_, link) = house.insider("router");
    let reason = format!("{FORGED}{}", "x".repeat(64 << 10));
    let refuse = |generation| FromRouter::NotPrepared { generation, reason: reason.clone() };
    let reply = house.change_while_saying(&link, refuse, "it is refused", |reply| reply.0.status == 500);
    assert!(reply.0.body.len() < 32 << 10, "{} bytes", reply.0.body.len());
    house.expect_served();
    house.expect_no_forged_line();
}

#[test]
fn a_router_cannot_serve_more_listeners_than_there_are() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (router, link) = house.insider("router");
    let failed = vec![FailedListener { address: "*:1".to_owned(), reason: FORGED.to_owned() }; 1_000];
    let prepare = |generation| FromRouter::Prepared { generation, failed: failed.clone() };
    house.change_while_saying(&link, prepare, "it is ended", |_| !is_alive(router));
    house.expect_replaced("router", router);
    house.server.expect_log("cannot serve more listeners than there are: killing it");
    house.expect_no_forged_line();
}

#[test]
fn a_retired_router_speaks_of_its_own_applications_only_and_cannot_break_the_sums() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let n_threads = |n: u32| {
        house.server.control().put("/config/settings", &json!({ "listen_threads": n })).expect_done()
    };
    for (n, message) in [
        (
            3,
            FromRouter::Finished {
                status: Status { accepted: u64::MAX, requests: u64::MAX, ..Status::default() },
            },
        ),
        (2, FromRouter::AppUnused { app: AppId(u32::MAX) }),
        (
            3,
            FromRouter::Finished {
                status: Status { accepted: u64::MAX, requests: u64::MAX, ..Status::default() },
            },
        ),
    ] {
        let (old, link) = house.insider("router");
        // Keeps it from finishing.
        let mut unfinished = house.server.connect();
        unfinished.write("POST /php HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1");
        house.server.get("/").expect(204);
        n_threads(n);
        match message {
            FromRouter::AppUnused { .. } => {
                // One of the numbers is the new router's application.
                for app in (1..100).map(AppId) {
                    if link.send(&FromRouter::AppUnused { app }, &[]).is_err() {
                        break;
                    }
                }
                eventually("it is ended", || (!is_alive(old)).then_some(()));
                house.server.expect_log("speaks of an application that is not its own: killing it");
            }
            message => link.send(&message, &[]).expect("main listens"),
        }
        house.expect_served();
        drop(unfinished);
        house.server.expect_processes("router", 1);
    }
    house.expect_served();
}

#[test]
fn a_flood_of_a_router_holds_nobody_up_and_costs_little() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    let (_, link) = house.insider("router");
    let before = private_memory(house.main).unwrap();
    let floods: [&(dyn Fn(u64) -> FromRouter + Sync); 4] = [
        // Answered each time.
        &|n| FromRouter::StartWorker { app: AppId(n as u32 | 1 << 20) },
        &|_| FromRouter::AppUnused { app: AppId(1) },
        &|_| words(Status { applications: vec![AppStatus::default(); 1000], ..Status::default() }),
        &|n| FromRouter::KillWorker {
            app: AppId(1),
            worker: WorkerId(n as u32 | 1 << 20),
            cause: EndCause::Memory,
            reason: FORGED.to_owned(),
        },
    ];
    for message in floods {
        let watchdog = Watchdog::of(&house.server);
        let _ = flood(message, &link);
        watchdog.expect_prompt();
        let now = private_memory(house.main).unwrap();
        assert!(now < before + GROWTH, "main has grown from {before} to {now} bytes");
    }
    house.expect_served();
}

fn apply(generation: u64) -> FromController {
    let log = LogSettings::default();
    let plan = Plan {
        listeners: vec![],
        applications: vec![],
        background: vec![],
        access_logs: vec![],
        listen_threads: None,
        log,
    };
    FromController::Apply {
        generation: GenerationId(generation),
        plan,
        document: b"{}".to_vec(),
        assets: Assets::default(),
        store: false,
        start_policy: StartPolicy::Everything,
    }
}

#[test]
fn a_controller_cannot_break_main_nor_those_that_come_after_it() {
    if !can_take_links() {
        return;
    }
    let house = House::new();
    for number in [0, 1, u64::MAX, u64::MAX / 2] {
        let (controller, link) = house.insider("controller");
        link.send(&apply(number), &[]).expect("main listens");
        house.expect_replaced("controller", controller);
    }
    let (controller, link) = house.insider("controller");
    let mut messages = vec![FromController::Listening, FromController::KeepStoredAside];
    for name in ["", ".", "..", "../../../tmp/x", "a\0b", FORGED, &"x".repeat(300)] {
        let (name, ticket) = (name.to_owned(), Ticket(u64::MAX));
        messages.push(FromController::RestartApp { ticket, name: name.clone() });
        let kind = AssetKind::Certificate;
        messages.push(FromController::StoreAsset {
            ticket,
            kind,
            name: name.clone(),
            bytes: Some(b"x".to_vec()),
        });
        messages.push(FromController::StoreAsset { ticket, kind, name, bytes: None });
    }
    messages.extend((0..1000).map(|n| FromController::Status { ticket: Ticket(n) }));
    messages.extend((0..1000).map(|n| FromController::OpenLog { ticket: Ticket(n) }));
    for (id, len) in [(0, 0), (7, 1 << 20), (7, 1), (3, 1), (8, 17 << 20), (9, FORGED.len())] {
        let bytes = FORGED.bytes().cycle().take(len).collect();
        let configuration = StoredConfiguration { id, bytes };
        messages.push(FromController::StoreHistory { ticket: Ticket(1), configuration });
    }
    messages.into_iter().for_each(|message| link.send(&message, &[]).expect("main listens"));
    house.expect_served();
    house.expect_no_forged_line();
    // What is uploaded has an end, as the next one is told all of it.
    let bytes = vec![0; 60 << 20];
    for n in 0..3 {
        let (ticket, kind, name) = (Ticket(n), AssetKind::Script, format!("{n}.js"));
        let message = FromController::StoreAsset { ticket, kind, name, bytes: Some(bytes.clone()) };
        link.send(&message, &[]).expect("main listens");
    }
    house.expect_served();
    house.server.kill(house.server.expect_processes("controller", 1)[0]);
    house.expect_replaced("controller", controller);
    house.server.control().put("/config/settings", &json!({ "http": { "max_body_size": 7 } })).expect_done();
}

#[test]
fn a_reader_whose_files_are_no_configuration_changes_nothing() {
    if !can_take_links() {
        return;
    }
    let address = Address::fresh();
    let site = site().file(
        "site.json",
        json!({ "listeners": { address.to_string(): { "pass": "routes" } },
            "routes": [{ "action": { "return": 204 } }] })
        .to_string(),
    );
    let server =
        daemon().argument("--config").argument(&format!("{}/site.json", site.root())).start_unconfigured();
    let main = server.pid();
    let get = || Some(Client::try_connect(address.socket()).ok()?.get("/").expect(204));
    eventually("it serves", get);
    let reader = server.expect_processes("reader", 1)[0];
    let link = link_of(reader);
    let loaded = |document: &[u8]| FromReader::Loaded {
        document: document.to_vec(),
        inserted: vec![],
        assets: Assets::default(),
        variables: vec![FORGED.to_owned()],
    };
    for message in [
        loaded(b""),
        loaded(b"\xff{]"),
        loaded(b"{\"listeners\": 1}"),
        FromReader::Unusable { problems: vec![] },
        FromReader::Unusable { problems: vec![FORGED.to_owned(); 3] },
    ] {
        link.send(&message, &[]).expect("main listens");
        get().expect("it serves");
        assert!(is_alive(main) && server.pid() == main);
    }
    let log = server.log();
    assert!(!log.contains('\x1b') && !log.contains("\n2026/01/01 00:00:00 [alert] forged"), "{log}");
    server.control().get("/status").0.expect(200);
}
