//! Requests for an application that asks for each of them.

use crate::exchange::After;
use crate::inbox::{Inbox, Next};
use crate::log::complain;
use crate::runtime::{Requests, Resident, Serve};
use crate::starting::Report;
use crate::worker;

/// The channel, as a resident application asks for its requests.
struct Asking<'a> {
    inbox: &'a mut Inbox,
    /// Where to say that the application is ready: it is as soon as it asks.
    report: Option<Report>,
    /// Requests until the worker is replaced.
    n_left: Option<u32>,
    /// Where responses are collected, one after the other.
    out: Vec<u8>,
    is_over: bool,
}

impl Requests for Asking<'_> {
    fn next(&mut self, serve: &mut Serve<'_>) -> bool {
        if let Some(report) = self.report.take() {
            report.ready(None);
        }
        if self.is_over {
            return false;
        }
        let Next::Serve(received) = self.inbox.next() else {
            self.is_over = true;
            return false;
        };
        self.n_left = self.n_left.map(|n| n.saturating_sub(1));
        let (frame, payload) = self.inbox.begin(received);
        let is_last = self.n_left == Some(0);
        let after = worker::serve(self.inbox, frame, &payload, &mut self.out, is_last, serve);
        self.inbox.end(&frame, payload);
        self.is_over = after == After::Nothing;
        true
    }
}

/// Runs the application until it ends: because there are no more requests, or by itself. One that has never asked could not be
/// used, and this is said to whoever waits for it.
pub(crate) fn run(
    inbox: &mut Inbox,
    resident: &mut dyn Resident,
    report: Option<Report>,
    n_left: Option<u32>,
) {
    let mut asking = Asking { inbox, report, n_left, out: Vec::new(), is_over: false };
    let ended = resident.run(&mut asking);
    match (asking.report, ended) {
        (Some(report), Err(error)) => report.failed(&format!("{error:#}")),
        (None, Err(error)) if !asking.is_over => complain(format_args!("{error:#}")),
        _ => {}
    }
}
