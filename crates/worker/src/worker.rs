//! The worker's life: it gets ready, serves requests until it is told to leave or has had its share, and ends.

use std::process::ExitCode;

use corral_config::plan::AppSpec;
use corral_sys::forked::is_stranger;
use corral_sys::process;

use crate::async_channel::AsyncChannel;
use crate::inbox::{Inbox, NextRequest};
use crate::lifespan;
use crate::log::complain;
use crate::request_state::After;
use crate::runtime::Runtime;
use crate::script_requests;
use crate::serving::OneByOne;
use crate::setup::WorkerSetup;
use crate::threads;

/// Serves requests in a process that was just forked.
pub(crate) fn run(mut place: WorkerSetup, runtime: &mut dyn Runtime, spec: &AppSpec) -> ExitCode {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" worker", spec.name));
    if let Err(error) = place.withhold_from_children() {
        complain(format_args!("keep the channel from what the application forks: {error}"));
        return ExitCode::FAILURE;
    }
    let started = runtime.start();
    if is_stranger() {
        // The application was forked while it was loaded, and that child goes on where it should have ended.
        return ExitCode::FAILURE;
    }
    if let Err(error) = started {
        let reason = format!("{error:#}");
        place.report.map_or_else(|| complain(&reason), |report| report.failed(&reason));
        return ExitCode::FAILURE;
    }
    if runtime.has_end()
        && let Err(error) = place.end.sleep().end_at_termination()
    {
        complain(format_args!("the worker will not end in order: {error}"));
    }
    if let Some(worker_script) = runtime.worker_script() {
        let report = place.report.take();
        script_requests::run(&mut Inbox::new(place), worker_script, report, lifespan::draw(&spec.limits));
        return ExitCode::SUCCESS;
    }
    if let Some(report) = place.report.take() {
        report.ready(runtime.event_loop().map(|event_loop| event_loop.concurrency()));
    }
    let n_left = lifespan::draw(&spec.limits);
    if let (Some(event_loop), Some(doorbell)) = (runtime.event_loop(), place.doorbell.take()) {
        event_loop.run(AsyncChannel::new(place, doorbell, n_left));
        runtime.end();
        return ExitCode::SUCCESS;
    }
    let mut inbox = Inbox::new(place);
    match runtime.threads() {
        Some(threads) => threads::run(inbox, threads, n_left),
        None => serve_all(&mut inbox, runtime, n_left),
    }
    runtime.end();
    ExitCode::SUCCESS
}

/// One request after the other; `n_left` until the worker is replaced.
fn serve_all(inbox: &mut Inbox, runtime: &mut dyn Runtime, n_left: Option<u32>) {
    let mut requests = OneByOne::new(inbox, n_left);
    while let NextRequest::Serve(received) = next(requests.inbox, runtime) {
        if requests.serve(received, |view, running| runtime.serve(view, running)) == After::Nothing {
            break;
        }
    }
    if requests.is_used_up() {
        runtime.idle(&mut || requests.inbox.stay());
    }
}

fn next(inbox: &mut Inbox, runtime: &mut dyn Runtime) -> NextRequest {
    let mut next = NextRequest::Leave;
    runtime.idle(&mut || next = inbox.next());
    next
}
