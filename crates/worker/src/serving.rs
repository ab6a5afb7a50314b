//! Serving a request, and one after the other until the worker is to be replaced.

use std::time::Instant;

use corral_channel::message::{self, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind};
use corral_sys::forked::is_stranger;

use crate::exchange::RunningRequest;
use crate::fork_guard::ForkGuard;
use crate::inbox::{Inbox, ReceiveWait, ReceivedRequest, RequestChannel};
use crate::log::complain;
use crate::request_state::After;
use crate::runtime::{Exchange, RequestEnd};

/// The channel, and what there is to know from one request to the next.
pub(crate) struct OneByOne<'a> {
    pub(crate) inbox: &'a mut Inbox,
    /// Requests until the worker is replaced.
    n_left: Option<u32>,
    /// Where responses are collected, one after the other.
    out: Vec<u8>,
}

impl<'a> OneByOne<'a> {
    pub(crate) fn new(inbox: &'a mut Inbox, n_left: Option<u32>) -> Self {
        Self { inbox, n_left, out: Vec::new() }
    }

    /// Serves one request.
    pub(crate) fn serve(
        &mut self,
        received: ReceivedRequest,
        run: impl FnOnce(&RequestView<'_>, &mut dyn Exchange) -> RequestEnd,
    ) -> After {
        self.n_left = self.n_left.map(|n| n.saturating_sub(1));
        let (frame, payload) = self.inbox.begin(received);
        let is_last = self.is_used_up();
        let after = serve(self.inbox, frame, &payload, &mut self.out, is_last, run);
        self.inbox.end(&frame, payload);
        after
    }

    /// Whether the worker has had its share of requests.
    pub(crate) fn is_used_up(&self) -> bool {
        self.n_left == Some(0)
    }
}

/// Serves one request that has begun. A process that the application forks off and does not end leaves here without an
/// answer.
pub(crate) fn serve<C: RequestChannel>(
    channel: &mut C,
    frame: FrameHead,
    payload: &[u8],
    out: &mut Vec<u8>,
    is_last: bool,
    run: impl FnOnce(&RequestView<'_>, &mut dyn Exchange) -> RequestEnd,
) -> After {
    let view = match message::decode_request(payload) {
        Ok(view) => view,
        Err(error) => return refuse(channel, frame, &error),
    };
    let mut running = RunningRequest::new(channel, frame, &view, out);
    let begun = Instant::now();
    let served = run(&view, &mut ForkGuard(&mut running));
    if is_stranger() {
        return After::Nothing;
    }
    let after = if is_last { After::Nothing } else { after(served) };
    running.conclude(after, begun.elapsed());
    after
}

/// The router does not send what cannot be decoded, so the memory must be damaged.
fn refuse<C: RequestChannel>(channel: &mut C, frame: FrameHead, error: &message::Malformed) -> After {
    complain(format_args!("the worker leaves, a request cannot be read: {error}"));
    let failed = FrameHead::new(FrameKind::Failed, frame.lane, frame.request);
    let failed = failed.with_flags(Flags::END | Flags::DONE | Flags::LAST);
    // Fails when there is no router.
    let _ = channel.send(failed, &[], ReceiveWait::Endless);
    After::Nothing
}

fn after(served: RequestEnd) -> After {
    match served {
        RequestEnd::Done => After::Another,
        RequestEnd::Leave => After::Nothing,
    }
}
