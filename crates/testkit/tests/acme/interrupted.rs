//! Daemons that end in the middle of an order, and state that outlives them.

use std::time::Duration;

use corral_testkit::pebble::{Front, Options, When};
use corral_testkit::{Signal, eventually, is_alive, signal};
use serde_json::json;

use crate::ordering::Ordering;

/// Requests of an order, by the beginnings of their paths at pebble.
const STEPS: &[&str] =
    &["/dir", "/sign-me-up", "/order-plz", "/authZ/", "/chalZ/", "/my-order/", "/finalize-order/", "/certZ/"];

#[test]
fn certificates_outlive_a_restart() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": ["a.example.org", "b.example.org"] }));
    ordering.expect_valid("a.example.org");
    ordering.expect_valid("b.example.org");
    let client = ordering.pebble.client();
    let leaf = ordering.leaf(&client, "a.example.org");
    ordering.pebble.stop();
    ordering.server.stop();
    ordering.server.restart();
    assert_eq!(ordering.leaf(&client, "a.example.org"), leaf, "nobody is asked");
    assert_eq!(ordering.status("b.example.org")["state"], "valid");
}

#[test]
fn certificates_outlive_each_process() {
    let ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    let client = ordering.pebble.client();
    let leaf = ordering.leaf(&client, "a.example.org");
    for process in ["controller", "router"] {
        let [pid] = ordering.server.expect_processes(process, 1)[..] else { unreachable!("there is one") };
        ordering.server.kill(pid);
        ordering.expect_valid("a.example.org");
        eventually("it is served again", || {
            let client =
                corral_testkit::Client::try_connect_tls(ordering.https.socket(), &client, "a.example.org")
                    .ok()?;
            let served = client.tls().peer_certificates().expect("a certificate")[0].to_vec();
            assert_eq!(served, leaf);
            Some(())
        });
    }
    assert_eq!(ordering.n_issued(), 1);
}

#[test]
fn certificates_outlive_an_upgrade() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    let client = ordering.pebble.client();
    let leaf = ordering.leaf(&client, "a.example.org");
    let old = ordering.server.upgrade();
    eventually("the old process ends", || (!is_alive(old)).then_some(()));
    assert_eq!(ordering.leaf(&client, "a.example.org"), leaf);
    ordering.order(&json!({ "names": ["a.example.org", "b.example.org"] }));
    ordering.expect_valid("b.example.org");
    assert_eq!(ordering.n_issued(), 2);
}

/// A failure is known after a restart, which does not ask the authority in a hurry.
#[test]
fn pauses_outlive_a_restart() {
    let mut ordering =
        Ordering::start(Options { blocked: vec!["a.example.org".to_owned()], ..Options::default() });
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.await_status("a.example.org", "it fails", |status| status["state"] == "failed");
    eventually("the reason is kept", || (!ordering.records("order-").is_empty()).then_some(()));
    ordering.server.stop();
    ordering.server.restart();
    let status = ordering.await_status("a.example.org", "it failed", |status| status["state"] == "failed");
    assert!(status["last_error"].as_str().unwrap().starts_with("the authority does not issue"), "{status}");
}

/// An authority whose requests can be held, and the daemon that asks it through the front.
struct Held {
    ordering: Ordering,
    front: Front,
}

impl Held {
    #[track_caller]
    fn start() -> Self {
        let ordering = Ordering::start(Options::default());
        let front = Front::start(&ordering.pebble);
        ordering.upload("front", &front.root_ca_pem());
        Self { ordering, front }
    }

    #[track_caller]
    fn order(&self, names: &[String]) {
        self.ordering
            .order(&json!({ "names": names, "directory": self.front.directory_url(), "ca": "front" }));
    }

    /// Has a process killed when the order for a new name is at a step, then expects the certificate all the same.
    #[track_caller]
    fn check(
        &mut self,
        names: &mut Vec<String>,
        step: &'static str,
        when: When,
        kill: impl FnOnce(&mut Ordering),
    ) {
        let name = format!("n{}.example.org", names.len());
        names.push(name.clone());
        self.front.hold(step, when);
        self.order(names);
        assert!(self.front.await_held(Duration::from_secs(60)), "{step}: {}", self.ordering.server.log());
        kill(&mut self.ordering);
        self.front.release();
        self.ordering.expect_valid(&name);
        self.ordering.expect_served(&name);
    }
}

/// The steps at which a name is ordered: accounts are made once.
fn steps(is_first: bool) -> impl Iterator<Item = &'static str> {
    STEPS.iter().copied().filter(move |step| is_first == matches!(*step, "/dir" | "/sign-me-up"))
}

fn kill_controller(ordering: &mut Ordering) {
    let [pid] = ordering.server.expect_processes("controller", 1)[..] else { unreachable!("there is one") };
    ordering.server.kill(pid);
}

fn kill_main(ordering: &mut Ordering) {
    signal(ordering.server.pid(), Signal::KILL);
    ordering.server.wait_for_end();
    ordering.server.restart();
}

#[test]
fn an_order_goes_on_when_the_controller_is_killed_in_any_step() {
    let (mut held, mut names) = (Held::start(), Vec::new());
    for when in [When::Asked, When::Answered] {
        for step in steps(false) {
            held.check(&mut names, step, when, kill_controller);
        }
    }
    // What was ordered before it was killed is not ordered again.
    let n_orders = held.front.count("/order-plz");
    assert!(n_orders <= names.len() + 3, "{n_orders} orders for {} names", names.len());
}

#[test]
fn an_order_goes_on_when_the_daemon_is_killed_in_any_step() {
    let (mut held, mut names) = (Held::start(), Vec::new());
    for when in [When::Asked, When::Answered] {
        for step in steps(false) {
            held.check(&mut names, step, when, kill_main);
        }
    }
    let n_orders = held.front.count("/order-plz");
    assert!(n_orders <= names.len() + 3, "{n_orders} orders for {} names", names.len());
}

#[test]
fn an_account_is_made_when_the_daemon_is_killed_meanwhile() {
    for when in [When::Asked, When::Answered] {
        for step in steps(true) {
            Held::start().check(&mut Vec::new(), step, when, kill_main);
        }
    }
}
