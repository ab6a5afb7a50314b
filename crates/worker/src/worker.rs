//! The worker's life: it gets ready, serves requests until it is told to leave or has had its share, and ends.

use std::process::ExitCode;
use std::time::Instant;

use corral_channel::message::{self, RequestView};
use corral_channel::{Flags, FrameHead, Kind};
use corral_config::plan::AppSpec;
use corral_sys::process;

use crate::asking;
use crate::exchange::{After, Running};
use crate::inbox::{Inbox, Next, Patience, RequestChannel};
use crate::lifespan;
use crate::log::complain;
use crate::prototype::Place;
use crate::runtime::{Exchange, Runtime, Served};
use crate::switchboard::Switchboard;
use crate::threads;

/// Serves requests in a process that was just forked.
pub(crate) fn run(mut place: Place, runtime: &mut dyn Runtime, spec: &AppSpec) -> ExitCode {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" worker", spec.name));
    if let Err(error) = runtime.start() {
        let reason = format!("{error:#}");
        place.report.map_or_else(|| complain(&reason), |report| report.failed(&reason));
        return ExitCode::FAILURE;
    }
    if runtime.has_end()
        && let Err(error) = place.end.sleep().end_at_termination()
    {
        complain(format_args!("the worker will not end in order: {error}"));
    }
    if let Some(resident) = runtime.resident() {
        let report = place.report.take();
        asking::run(&mut Inbox::new(place), resident, report, lifespan::draw(&spec.limits));
        return ExitCode::SUCCESS;
    }
    if let Some(report) = place.report.take() {
        report.ready(runtime.event_loop().map(|event_loop| event_loop.hands()));
    }
    let n_left = lifespan::draw(&spec.limits);
    if let (Some(event_loop), Some(doorbell)) = (runtime.event_loop(), place.doorbell.take()) {
        event_loop.run(Switchboard::new(place, doorbell, n_left));
        runtime.end();
        return ExitCode::SUCCESS;
    }
    let mut inbox = Inbox::new(place);
    match runtime.crew() {
        Some(crew) => threads::run(inbox, crew, n_left),
        None => serve_all(&mut inbox, runtime, n_left),
    }
    runtime.end();
    ExitCode::SUCCESS
}

/// One request after the other; `n_left` until the worker is replaced.
fn serve_all(inbox: &mut Inbox, runtime: &mut dyn Runtime, mut n_left: Option<u32>) {
    // Where responses are collected, one after the other.
    let mut out = Vec::new();
    while let Next::Serve(received) = next(inbox, runtime) {
        n_left = n_left.map(|n| n.saturating_sub(1));
        let (frame, payload) = inbox.begin(received);
        let after = serve(inbox, frame, &payload, &mut out, n_left == Some(0), |view, running| {
            runtime.serve(view, running)
        });
        inbox.end(&frame, payload);
        if after == After::Nothing {
            break;
        }
    }
    if n_left == Some(0) {
        runtime.idle(&mut || inbox.stay());
    }
}

fn next(inbox: &mut Inbox, runtime: &mut dyn Runtime) -> Next {
    let mut next = Next::Leave;
    runtime.idle(&mut || next = inbox.next());
    next
}

/// Serves one request that has begun.
pub(crate) fn serve<C: RequestChannel>(
    channel: &mut C,
    frame: FrameHead,
    payload: &[u8],
    out: &mut Vec<u8>,
    is_last: bool,
    run: impl FnOnce(&RequestView<'_>, &mut dyn Exchange) -> Served,
) -> After {
    let view = match message::decode_request(payload) {
        Ok(view) => view,
        Err(error) => return refuse(channel, frame, &error),
    };
    let mut running = Running::new(channel, frame, &view, out);
    let begun = Instant::now();
    let served = run(&view, &mut running);
    let after = if is_last { After::Nothing } else { after(served) };
    running.conclude(after, begun.elapsed());
    after
}

/// The router does not send what cannot be decoded, so the memory must be damaged.
fn refuse<C: RequestChannel>(channel: &mut C, frame: FrameHead, error: &message::Malformed) -> After {
    complain(format_args!("the worker leaves, a request cannot be read: {error}"));
    let failed = FrameHead::new(Kind::Failed, frame.lane, frame.request);
    let failed = failed.with_flags(Flags::END | Flags::DONE | Flags::LAST);
    // Fails when there is no router.
    let _ = channel.send(failed, &[], Patience::Endless);
    After::Nothing
}

fn after(served: Served) -> After {
    match served {
        Served::Done => After::Another,
        Served::Leave => After::Nothing,
    }
}
