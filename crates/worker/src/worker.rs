//! The worker's loop: one request after the other, until it is told to leave or has had its share.

use std::process::ExitCode;
use std::time::Instant;

use corral_channel::message;
use corral_channel::{Flags, FrameHead, Kind};
use corral_config::plan::AppSpec;
use corral_sys::process;

use crate::exchange::{After, Running};
use crate::inbox::{Inbox, Next, Patience, Received};
use crate::lifespan;
use crate::log::complain;
use crate::prototype::Place;
use crate::runtime::{Runtime, Served};

/// Serves requests in a process that was just forked.
pub(crate) fn run(mut place: Place, runtime: &mut dyn Runtime, spec: &AppSpec) -> ExitCode {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" worker", spec.name));
    if let Err(error) = runtime.start() {
        let reason = format!("{error:#}");
        place.report.map_or_else(|| complain(&reason), |report| report.failed(&reason));
        return ExitCode::FAILURE;
    }
    if let Some(report) = place.report.take() {
        report.ready();
    }
    let mut worker =
        Worker { inbox: Inbox::new(place), out: Vec::new(), n_left: lifespan::draw(&spec.limits) };
    while let Next::Serve(received) = worker.inbox.next() {
        if worker.serve(received, runtime) == After::Nothing {
            break;
        }
    }
    runtime.end();
    ExitCode::SUCCESS
}

struct Worker {
    inbox: Inbox,
    /// Where responses are collected, one after the other.
    out: Vec<u8>,
    /// Requests until it is replaced.
    n_left: Option<u32>,
}

impl Worker {
    fn serve(&mut self, received: Received, runtime: &mut dyn Runtime) -> After {
        self.n_left = self.n_left.map(|n| n.saturating_sub(1));
        let (frame, payload) = self.inbox.begin(received);
        let after = match message::decode_request(&payload) {
            Ok(view) => {
                let mut running = Running::new(&mut self.inbox, frame, &view, &mut self.out);
                let begun = Instant::now();
                let served = runtime.serve(&view, &mut running);
                let after = if self.n_left == Some(0) { After::Nothing } else { after(served) };
                running.conclude(after, begun.elapsed());
                after
            }
            Err(error) => self.refuse(frame, &error),
        };
        self.inbox.end(payload);
        after
    }

    /// The router does not send what cannot be decoded, so the memory must be damaged.
    fn refuse(&mut self, frame: FrameHead, error: &message::Malformed) -> After {
        complain(format_args!("the worker leaves, a request cannot be read: {error}"));
        let failed = FrameHead::new(Kind::Failed, frame.lane, frame.request);
        let failed = failed.with_flags(Flags::END | Flags::DONE | Flags::LAST);
        // Fails when there is no router.
        let _ = self.inbox.send(failed, &[], Patience::Endless);
        After::Nothing
    }
}

fn after(served: Served) -> After {
    match served {
        Served::Done => After::Another,
        Served::Leave => After::Nothing,
    }
}
