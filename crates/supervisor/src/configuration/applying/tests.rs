//! Whole ways of configurations without processes: jobs and events go in, names of effects come out.

use corral_config::plan::{Assets, Plan};
use corral_ipc::message::StartPolicy;

use super::*;
use crate::configuration::Unused;
use crate::testing::spec;

/// Carries out effects as far as that takes no process, and notes all of them.
struct Site {
    configuration: Configuration,
    is_router_ready: bool,
    /// The number of the last instance.
    last_app: u32,
    now: Instant,
    effects: Vec<String>,
}

impl Site {
    fn new() -> Self {
        let now = Instant::now();
        let configuration = Configuration::new(now);
        Self { configuration, is_router_ready: false, last_app: 0, now, effects: Vec::new() }
    }

    /// Takes words such as `change:1:ab`, a change with this number to the applications `a` and `b`.
    fn take(&mut self, script: &str) {
        for word in script.split_ascii_whitespace() {
            let mut parts = word.split(':');
            let mut part = || parts.next().unwrap_or_default();
            let (what, number, apps) = (part(), part(), part());
            self.take_word(what, number, apps);
        }
    }

    fn take_word(&mut self, what: &str, number: &str, apps: &str) {
        let n = || number.parse().unwrap();
        let app = || AppId(number.parse().unwrap());
        match what {
            "change" => self.change(n(), StartPolicy::Everything, apps),
            "start" => self.change(n(), StartPolicy::WhatStarts, apps),
            "restart" => {
                let ticket = number.parse().ok().map(Ticket);
                self.configuration.plan(Job::RestartApp { ticket, name: apps.to_owned() });
            }
            "rebind" => self.configuration.rebind(self.now),
            "upgrade" => self.configuration.plan(Job::Upgrade),
            "go" | "go-upgrading" => {
                while let Some(effects) = self.configuration.begin_next(what == "go-upgrading") {
                    self.carry_out(effects);
                }
            }
            // The next configuration has another number of event loops.
            "new-router" => self.is_router_ready = false,
            "router" => {
                self.is_router_ready = true;
                self.hear(ApplyEvent::RouterReady);
            }
            "up" => self.hear(ApplyEvent::AppUp(app())),
            "down" => self.hear(ApplyEvent::AppFailed(app(), "broken".to_owned())),
            "prepared" => self.hear(ApplyEvent::Prepared(Ok(vec![]))),
            "not-prepared" => self.hear(ApplyEvent::Prepared(Err("invalid".to_owned()))),
            "committed" => self.hear(ApplyEvent::Committed),
            "revoke-change" => self.revoke(Revocable::Change(GenerationId(n()))),
            "revoke-restart" => self.revoke(Revocable::Restart(Ticket(n()))),
            "controller-ends" => {
                let effects = self.configuration.controller_ended(self.now);
                self.carry_out(effects);
            }
            "router-ends" | "router-ends-again" => self.end_router(what == "router-ends"),
            what => panic!("{what}"),
        }
    }

    fn change(&mut self, number: u64, start_policy: StartPolicy, apps: &str) {
        let purpose = Purpose::Change { generation: GenerationId(number), store: true, start_policy };
        let applications: Vec<_> = apps.chars().map(|name| spec(&format!("{name}=/"))).collect();
        let plan = Plan {
            listeners: vec![],
            applications,
            background: vec![],
            access_logs: vec![],
            listen_threads: None,
            log: Default::default(),
        };
        let content = Content { plan, document: vec![], assets: Assets::default() };
        self.configuration.plan(Job::Change { purpose, content });
    }

    fn hear(&mut self, event: ApplyEvent) {
        let effects = self.configuration.on(event, self.now);
        self.carry_out(effects);
    }

    fn revoke(&mut self, order: Revocable) {
        let effects = self.configuration.revoke(order);
        self.carry_out(effects);
    }

    /// The router in charge ends, which every configuration here is for.
    fn end_router(&mut self, is_tried_again: bool) {
        self.is_router_ready = false;
        self.configuration.router_in_charge_ended();
        let effects = self.configuration.router_ended(RouterId::default(), is_tried_again, self.now);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<ApplyEffect>) {
        for effect in effects {
            self.effects.push(name(&effect));
            if let ApplyEffect::Build { purpose, content } = effect {
                let (build, new_apps) = self.build(&purpose, content);
                let apply = Apply::new(purpose, build, new_apps, RouterId::default());
                let effects = self.configuration.apply(apply, self.is_router_ready, self.now);
                self.carry_out(effects);
            }
        }
    }

    /// A build in which applications keep their instance unless another one is asked for.
    fn build(&mut self, purpose: &Purpose, content: Content) -> (Build, Vec<AppId>) {
        let Content { plan, document, assets } = content;
        let mut new_apps = Vec::new();
        let mut place = |spec: &AppSpec| {
            let running = self.configuration.in_force().and_then(|build| build.find_app(&spec.name));
            let kept = running.filter(|_| purpose.replaces() != Some(&spec.name));
            let id = kept.map_or_else(
                || {
                    self.last_app += 1;
                    new_apps.push(AppId(self.last_app));
                    AppId(self.last_app)
                },
                |(id, _)| *id,
            );
            (id, spec.clone())
        };
        let apps = plan.applications.iter().map(&mut place).collect();
        let generation = self.configuration.next_generation();
        let (listeners, unbound, unserved, access_logs) = (vec![], vec![], vec![], vec![]);
        let build =
            Build { generation, plan, document, assets, listeners, unbound, unserved, apps, access_logs };
        (build, new_apps)
    }
}

fn name(effect: &ApplyEffect) -> String {
    let numbers = |ids: &[AppId]| ids.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",");
    let ids = |apps: &[(AppId, AppSpec)]| numbers(&apps.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    match effect {
        ApplyEffect::Build { .. } => "build".to_owned(),
        ApplyEffect::Upgrade => "upgrade".to_owned(),
        ApplyEffect::AddApps(apps) => format!("add({})", ids(apps)),
        ApplyEffect::RestoreApps(apps) => format!("restore({})", numbers(apps)),
        ApplyEffect::StartSoon(apps) => format!("start({})", numbers(apps)),
        ApplyEffect::Prepare => "prepare".to_owned(),
        ApplyEffect::Commit { .. } => "commit".to_owned(),
        ApplyEffect::Abandon { .. } => "abandon".to_owned(),
        ApplyEffect::DismissRouter => "dismiss".to_owned(),
        ApplyEffect::StopApps(apps) => format!("stop({})", numbers(apps)),
        ApplyEffect::Close(_) => "close".to_owned(),
        ApplyEffect::Store => "store".to_owned(),
        ApplyEffect::Enter { before: Some(_) } => "enter".to_owned(),
        ApplyEffect::Enter { before: None } => "enter-first".to_owned(),
        ApplyEffect::Replace(apps) => format!("replace({})", ids(apps)),
        ApplyEffect::ReportSharing => "report".to_owned(),
        ApplyEffect::PutInCharge => "put-in-charge".to_owned(),
        ApplyEffect::Answer(answer) => self::answer(answer),
    }
}

fn answer(answer: &ApplyAnswer) -> String {
    match answer {
        ApplyAnswer::Applied => "applied".to_owned(),
        ApplyAnswer::Refused { generation, .. } => format!("refused:{}", generation.0),
        ApplyAnswer::Restarted { replaced: Some(id), result: Ok(()), .. } => {
            format!("restarted-in-place-of:{}", id.0)
        }
        ApplyAnswer::Restarted { result: Ok(()), .. } => "restarted".to_owned(),
        ApplyAnswer::Restarted { result: Err(_), .. } => "not-restarted".to_owned(),
        ApplyAnswer::Rebound(result) => if result.is_ok() { "rebound" } else { "not-rebound" }.to_owned(),
        ApplyAnswer::NotRestored(_) => "not-restored".to_owned(),
        ApplyAnswer::Revoked(_) => "revoked".to_owned(),
    }
}

/// The effects that a script has on a site after another script.
#[track_caller]
fn check_after(before: &str, script: &str, expected: &str) -> Site {
    let mut site = Site::new();
    site.take(before);
    site.effects.clear();
    site.take(script);
    assert_eq!(site.effects.join(" "), expected, "{before} | {script}");
    site
}

/// The effects that a script has on a site with the application `a`, which is instance 1.
#[track_caller]
fn check(script: &str, expected: &str) -> Site {
    check_after(RUNNING, script, expected)
}

const RUNNING: &str = "change:1:a go router up:1 prepared committed";

#[test]
fn the_first_configuration_waits_for_the_router() {
    let site = check_after(
        "",
        RUNNING,
        "build add(1) start(1) prepare commit store enter-first replace() report put-in-charge stop() applied",
    );
    assert!(site.configuration.is_quiet());
}

#[test]
fn a_daemon_starts_applications_when_it_serves() {
    check_after(
        "",
        "start:1:ab go router prepared committed",
        "build add(1,2) prepare commit store enter-first replace() report put-in-charge stop() start(1,2) \
         applied",
    );
}

#[test]
fn a_change_keeps_what_is_equal() {
    check(
        "change:2:ab go up:2 prepared committed",
        "build add(2) start(2) prepare commit store enter replace() report put-in-charge stop() applied",
    );
    check(
        "change:2: go prepared committed",
        "build add() start() prepare commit store enter replace(1) report put-in-charge stop() applied",
    );
}

#[test]
fn changes_follow_each_other() {
    let mut site = check("change:2:ab change:3:abc go", "build add(2) start(2)");
    site.effects.clear();
    site.take("up:2 prepared committed go");
    assert_eq!(site.configuration.take_unanswered(), [1, 2].map(GenerationId));
    assert_eq!(site.effects.last().map(String::as_str), Some("start(3)"));
}

#[test]
fn nothing_of_a_change_that_fails_is_left_when_it_is_answered() {
    let undone = "dismiss stop(2) close refused:2";
    check("change:2:ab go down:2", &format!("build add(2) start(2) {undone}"));
    let asked = "build add(2) start(2) prepare";
    check("change:2:ab go up:2 not-prepared", &format!("{asked} abandon {undone}"));
    check("change:2:ab go up:2 prepared router-ends", &format!("{asked} commit abandon {undone}"));
    let site = check("change:2:ab go up:2 not-prepared committed up:2", &format!("{asked} abandon {undone}"));
    assert!(site.configuration.in_force().is_some_and(|build| build.uses(AppId(1))));
}

#[test]
fn a_build_that_fails_ends_the_router_that_was_started_for_it() {
    let mut site = Site::new();
    let purpose =
        Purpose::Change { generation: GenerationId(1), store: true, start_policy: StartPolicy::Everything };
    let effects = site.configuration.not_built(purpose, "bind failed".to_owned(), site.now);
    site.carry_out(effects);
    assert_eq!(site.effects, ["dismiss", "refused:1"]);
}

#[test]
fn a_change_is_undone_when_the_router_ends_that_was_to_take_over_with_it() {
    let mut site = check("new-router change:2:ab go", "build");
    let effects = site.configuration.router_ended(RouterId(7), true, site.now);
    assert!(effects.is_empty(), "another one has ended");
    let effects = site.configuration.router_ended(RouterId::default(), true, site.now);
    site.carry_out(effects);
    assert_eq!(site.effects.join(" "), "build dismiss stop(2) close refused:2");
}

#[test]
fn nothing_but_a_router_is_looked_after_during_an_upgrade() {
    check("upgrade go", "upgrade");
    let mut site = check("change:2:ab restart:7:a go-upgrading router-ends go-upgrading", "build");
    site.effects.clear();
    site.take("router not-prepared go-upgrading");
    assert_eq!(site.effects.join(" "), "restore(1) prepare abandon dismiss stop() close not-restored");
    site.effects.clear();
    site.take("go");
    assert_eq!(site.effects.join(" "), "build add(2) start(2)", "the change, when the successor has ended");
}

#[test]
fn a_successor_that_serves_gets_all_that_waited() {
    let mut site = check("change:2:ab change:3:abc go", "build add(2) start(2)");
    site.configuration.drop_jobs();
    site.effects.clear();
    site.take("up:2 prepared committed go");
    assert_eq!(site.effects.join(" "), "");
    assert!(site.configuration.in_force().is_some(), "requests in progress go on");
}

#[test]
fn a_change_can_be_revoked_before_the_router_swaps_it_in() {
    check("change:2:ab revoke-change:2 go", "revoked");
    let asked = "build add(2) start(2)";
    check("change:2:ab go revoke-change:2 up:2", &format!("{asked} dismiss stop(2) close revoked"));
    check(
        "change:2:ab go up:2 revoke-change:2 prepared",
        &format!("{asked} prepare abandon dismiss stop(2) close revoked"),
    );
    check("change:2:ab go up:2 prepared revoke-change:2", &format!("{asked} prepare commit"));
    check("revoke-change:1", "");
    check("change:2:ab go revoke-change:3", asked);
}

#[test]
fn a_change_can_be_revoked_while_its_router_starts() {
    check("new-router change:2:ab go revoke-change:2 router", "build dismiss stop(2) close revoked");
}

#[test]
fn a_restart_is_revoked_by_its_own_number() {
    check("restart:7:a revoke-change:7 revoke-restart:7 go", "revoked");
    check("restart:7:a go revoke-restart:7", "build add(2) start(2) dismiss stop(2) close revoked");
    check("restart::a go revoke-restart:7", "build add(2) start(2)");
}

#[test]
fn the_first_configuration_is_never_taken_back() {
    check_after("", "change:1:a go router revoke-change:1", "build add(1) start(1)");
    check_after("", "change:1:a go router controller-ends", "build add(1) start(1)");
}

#[test]
fn a_change_is_undone_when_the_controller_ends() {
    let asked = "build add(2) start(2)";
    check("change:2:ab go controller-ends", &format!("{asked} dismiss stop(2) close refused:2"));
    check("change:2:ab controller-ends go", "");
    check("change:2:ab go up:2 prepared controller-ends", &format!("{asked} prepare commit"));
    check("restart::a go controller-ends", asked);
}

#[test]
fn an_application_is_restarted_with_what_is_in_force() {
    check(
        "restart:7:a go up:2 prepared committed",
        "build add(2) start(2) prepare commit enter replace(1) report put-in-charge stop() \
         restarted-in-place-of:1",
    );
    check("restart:7:a go down:2", "build add(2) start(2) dismiss stop(2) close not-restarted");
    check("restart:7:b go", "not-restarted");
}

#[test]
fn a_new_router_is_told_what_is_in_force() {
    check(
        "router-ends go router prepared committed",
        "build restore(1) prepare commit enter replace() report put-in-charge stop() start()",
    );
    check(
        "router-ends go router not-prepared",
        "build restore(1) prepare abandon dismiss stop() close not-restored",
    );
}

#[test]
fn a_router_that_was_replaced_is_not_restored() {
    let mut site = check("router-ends", "");
    site.configuration.router_was_replaced();
    assert!(site.configuration.is_quiet());
}

#[test]
fn a_router_that_ends_at_a_start_gets_the_configuration_again() {
    let begun = "build add(1) start(1) prepare";
    let script = "change:1:a go router up:1 router-ends go";
    check_after("", script, &format!("{begun} stop(1) close build"));
    let script = "change:1:a go router up:1 router-ends-again go";
    check_after("", script, &format!("{begun} abandon dismiss stop(1) close refused:1"));
}

#[test]
fn listeners_are_bound_again_without_a_request() {
    check(
        "rebind go prepared committed",
        "build add() prepare commit enter replace() report put-in-charge stop() start() rebound",
    );
    check_after("", "rebind go", "");
}

#[test]
fn instances_end_when_neither_configuration_uses_them() {
    let mut site = Site::new();
    site.take(&format!("{RUNNING} change:2: go prepared"));
    assert_eq!(site.configuration.unused(AppId(1)), Unused::Keep);
    site.effects.clear();
    site.take("committed");
    assert!(site.effects.contains(&"stop(1)".to_owned()), "{:?}", site.effects);
    assert_eq!(site.configuration.unused(AppId(1)), Unused::Stop);
}
