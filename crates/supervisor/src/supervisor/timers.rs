//! Timers: when something is due although nothing happens, and what is done then.

use std::time::Instant;

use corral_ipc::message::OwnProcess;
use corral_sys::signal::Signal;

use super::Supervisor;
use super::restarting::look_at_files;
use crate::decide::life::Starts;
use crate::decide::stop::StopEvent;
use crate::decide::timers::{Timer, Timers};
use crate::peer::Peer;

impl Supervisor {
    /// The timers of everything that is due although nothing happens.
    pub(super) fn timers(&self) -> Timers {
        let Self { children, configuration, restarts, .. } = self;
        let mut timers = Timers::default();
        let peers = children.peers().chain(self.upgrade.unready());
        timers.set(Timer::Peers, peers.filter_map(Peer::deadline).min());
        let starts = self.starts();
        timers.set(Timer::Applications, children.apps.values().filter_map(|app| app.deadline(starts)).min());
        timers.set(Timer::Sign, self.audience.service_manager.next_sign());
        timers.set(Timer::Upgrade, self.upgrade.deadline());
        timers.set(Timer::Store, self.stored.retry_at());
        timers.set(Timer::Silence, self.questions.deadline(|router| children.hears(router)));
        if self.stopping.has_begun() {
            timers.set(Timer::Stop, self.stopping.deadline());
            return timers;
        }
        timers.set(Timer::StartRouter, children.routers.in_charge.role.restart_at());
        timers.set(Timer::StartReader, children.reader.restart_at());
        if self.may_start_controller() {
            timers.set(Timer::StartController, children.controller.restart_at());
        }
        timers.set(Timer::Look, restarts.next_look().filter(|_| !self.upgrade.goes_on()));
        timers.set(Timer::Word, self.audience.next_word());
        timers.set(Timer::Change, self.next_change());
        // A job of its own, for a time at which nothing else goes on.
        if children.routers.in_charge.role.is_ready {
            timers.set(Timer::Rebind, configuration.rebind_at());
        }
        timers
    }

    /// Whether anything is started again that has ended.
    pub(super) fn starts(&self) -> Starts {
        if self.stopping.has_begun() { Starts::Over } else { Starts::Permitted }
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        self.note_owed(now);
        for timer in self.timers().due(now) {
            self.on_timer(timer, now);
            self.hear_news();
        }
        if self.stopping.has_begun() {
            self.stop_on(StopEvent::Turn, now);
        }
        self.hear_news();
    }

    fn on_timer(&mut self, timer: Timer, now: Instant) {
        let starts = self.starts();
        let Self { children, programs, configuration, audience, restarts, secrets, .. } = self;
        match timer {
            Timer::Peers => {
                let peers = children.peers().chain(self.upgrade.unready());
                peers.for_each(|peer| peer.kill_if_overdue(now));
            }
            Timer::Applications => children.apps_on_time(starts, programs, now),
            Timer::Sign => audience.service_manager.on_time(now),
            Timer::Upgrade => self.upgrade.unready().into_iter().for_each(|peer| peer.kill(Signal::KILL)),
            // A client that asks for the status hears why it fails.
            Timer::Store => drop(self.store_again()),
            Timer::Silence => self.end_silent(now),
            // Whatever has its time: it goes on in each turn.
            Timer::Stop => {}
            Timer::StartRouter => {
                restarts.count(OwnProcess::Router);
                children.start_router(programs, secrets);
            }
            Timer::StartReader => {
                restarts.count(OwnProcess::Reader);
                self.start_reader();
            }
            Timer::StartController => {
                restarts.count(OwnProcess::Controller);
                self.start_controller();
            }
            Timer::Look => look_at_files(restarts, configuration, children, now),
            Timer::Word => audience.speak(children.outputs.last_word(), now),
            Timer::Change => self.follow_change(),
            Timer::Rebind if configuration.is_quiet() => configuration.rebind(now),
            Timer::Rebind => {}
        }
    }
}
