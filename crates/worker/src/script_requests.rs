//! Requests for an application that asks for each of them.
//!
//! The frames of such a script lie upon each other: script, shim, host, shim. Each jump of PHP ends in the C frame
//! above Rust's. A script that ends takes its process along; the next process is forked from the prototype, which has
//! no state of requests.

use crate::inbox::{Inbox, NextRequest};
use crate::log::complain;
use crate::request_state::After;
use crate::runtime::{Requests, Serve, WorkerScript};
use crate::serving::OneByOne;
use crate::starting::ReadyPipe;

/// The channel, as a resident application asks for its requests.
struct ScriptRequests<'a> {
    requests: OneByOne<'a>,
    /// Where to say that the application is ready: it is as soon as it asks.
    report: Option<ReadyPipe>,
    is_over: bool,
}

impl Requests for ScriptRequests<'_> {
    fn next(&mut self, serve: &mut Serve<'_>) -> bool {
        if let Some(report) = self.report.take() {
            report.ready(None);
        }
        if self.is_over {
            return false;
        }
        let NextRequest::Serve(received) = self.requests.inbox.next() else {
            self.is_over = true;
            return false;
        };
        self.is_over = self.requests.serve(received, serve) == After::Nothing;
        true
    }
}

/// Runs the application until it ends: because there are no more requests, or by itself. One that has never asked could
/// not be used, and the waiting prototype is told so.
pub(crate) fn run(
    inbox: &mut Inbox,
    worker_script: &mut dyn WorkerScript,
    report: Option<ReadyPipe>,
    n_left: Option<u32>,
) {
    let mut asking = ScriptRequests { requests: OneByOne::new(inbox, n_left), report, is_over: false };
    let ended = worker_script.run(&mut asking);
    match (asking.report, ended) {
        (Some(report), Err(error)) => report.failed(&format!("{error:#}")),
        (None, Err(error)) if !asking.is_over => complain(format_args!("{error:#}")),
        _ => {}
    }
}
