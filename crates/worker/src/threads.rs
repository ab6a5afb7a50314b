//! A worker that runs several requests at once, each in a thread. All threads use one end of the channel.
//!
//! Requests are not handed out: a thread that has nothing to do takes what has arrived, for itself and for the others,
//! and sleeps when there is nothing. All that sleep do so on the worker's one word, and the router wakes one of them. A
//! thread that leaves the channel to run a request announces the sleep of the others anew, which costs no system call;
//! so one thread is always woken for the next request, and no thread only passes requests on.
//!
//! The runtime decides whose threads they are (`WorkerThreads`). Those of Python and Perl are the system's; Ruby's are
//! its own, as no other thread may enter the interpreter.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use corral_channel::{FrameHead, WorkerSleep};
use corral_sys::forked::is_stranger;
use corral_sys::signal;

use crate::client_gone::ClientGone;
use crate::inbox::{Inbox, LOOK_AROUND, ReceiveWait, ReceivedRequest, RequestChannel, RequestStream};
use crate::log::complain;
use crate::request_state::After;
use crate::runtime::{Server, ThreadLoop, WorkerThreads};
use crate::serving;
use crate::worker_channel::Handover;

/// How long a thread sleeps at most that waits for something of its own request.
///
/// Another thread may take what it waits for out of the channel in the moment between its last look and its sleep,
/// and put the word back to "asleep" before it is: it would not notice. That costs this much, once in a blue moon.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// For as long as threads that have been woken need to take a request.
const A_MOMENT: Duration = Duration::from_millis(1);

/// Threads of the system, for an interpreter that takes any thread for one of its own.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    /// How many there are, the one that runs them included.
    pub n: NonZeroU32,
    /// Bytes of stack of the others; `None` leaves it to the system.
    pub stack_size: Option<NonZeroUsize>,
}

impl Threads {
    /// Calls `body` in each, and returns when all have returned.
    pub fn run(&self, body: impl Fn() + Sync) {
        thread::scope(|scope| {
            for n in 1..self.n.get() {
                let mut thread = thread::Builder::new();
                if let Some(size) = self.stack_size {
                    thread = thread.stack_size(size.get());
                }
                if let Err(error) = thread.spawn_scoped(scope, &body) {
                    complain(format_args!("{n} threads run, and no further one can be started: {error}"));
                    break;
                }
            }
            body();
        });
    }
}

/// Serves until the worker is to leave; `n_left` requests at most.
pub(crate) fn run(inbox: Inbox, threads: &mut dyn WorkerThreads, n_left: Option<u32>) {
    let sleep = inbox.wire.end.sleep();
    let shared =
        SharedInbox { sleep, state: Mutex::new(InboxState { inbox, n_left, n_idle: 0, n_waiting: 0 }) };
    threads.run(&shared);
}

fn serve(
    shared: &SharedInbox,
    server: &mut dyn Server,
    received: ReceivedRequest,
    is_last: bool,
    out: &mut Vec<u8>,
) {
    let (frame, payload) = shared.lock().inbox.begin(received);
    let mut channel = shared;
    let after = serving::serve(&mut channel, frame, &payload, out, is_last, |view, exchange| {
        server.serve(view, exchange)
    });
    if is_stranger() {
        // The other threads, for which the end of this one would wait, are not in this process.
        std::process::exit(0);
    }
    let mut state = shared.lock();
    state.inbox.end(&frame, payload);
    if after == After::Nothing && !(is_last && state.inbox.is_bound()) {
        drop(state);
        shared.leave();
    }
}

/// The worker's end of the channel, as its threads share it.
struct SharedInbox {
    sleep: WorkerSleep,
    state: Mutex<InboxState>,
}

struct InboxState {
    inbox: Inbox,
    /// Requests until the worker is replaced.
    n_left: Option<u32>,
    /// Threads that sleep and take any request.
    n_idle: usize,
    /// Threads that sleep until something of their own request comes.
    n_waiting: usize,
}

impl SharedInbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request, and whether it is the worker's last one. `None` when the worker is to leave.
    fn next(&self) -> Option<(ReceivedRequest, bool)> {
        let mut state = self.lock();
        loop {
            self.receive(&mut state);
            // Of those that were promised, all have been begun.
            let is_done = state.n_left == Some(0);
            if is_done && state.inbox.is_bound() {
                state = self.sleep_idle(state);
                continue;
            }
            if is_done || (!state.inbox.has_requests() && state.inbox.is_over()) {
                self.sleep.wake_all();
                return None;
            }
            if let Some(received) = state.inbox.start_next() {
                state.n_left = state.n_left.map(|n| n - 1);
                self.go_away(&mut state);
                let is_last = state.n_left == Some(0);
                return Some((received, is_last));
            }
            if state.inbox.is_over() {
                continue;
            }
            state = self.sleep_idle(state);
        }
    }

    /// Sorts in what has arrived, and wakes the threads that it concerns.
    fn receive(&self, state: &mut InboxState) {
        state.inbox.receive();
        if state.inbox.take_news() && state.n_waiting > 0 {
            self.sleep.wake_all();
        }
    }

    /// This thread will not look at the channel for a while: a sleeping thread is to be woken for what comes.
    fn go_away(&self, state: &mut InboxState) {
        if state.n_idle + state.n_waiting == 0 {
            return self.sleep.cancel();
        }
        self.sleep.announce();
        if state.inbox.wire.end.has_frames() || (state.n_idle > 0 && state.inbox.has_requests()) {
            self.sleep.wake_all();
        }
    }

    fn sleep_idle<'a>(&'a self, mut state: MutexGuard<'a, InboxState>) -> MutexGuard<'a, InboxState> {
        self.sleep.announce();
        if state.inbox.wire.end.has_frames() || signal::is_termination_noted() {
            return state;
        }
        state.n_idle += 1;
        drop(state);
        self.sleep.sleep(LOOK_AROUND);
        let mut state = self.lock();
        state.n_idle -= 1;
        state
    }

    fn sleep_waiting<'a>(&'a self, mut state: MutexGuard<'a, InboxState>) -> MutexGuard<'a, InboxState> {
        // A request that this thread has found, and that another one should take, must not be slept on.
        let has_found = state.n_idle > 0 && state.inbox.has_requests();
        if has_found {
            self.sleep.wake_all();
        } else {
            self.sleep.announce();
        }
        if state.inbox.wire.end.has_frames() {
            return state;
        }
        state.n_waiting += 1;
        drop(state);
        if has_found {
            thread::sleep(A_MOMENT);
        } else {
            self.sleep.sleep(LOOK_AGAIN);
        }
        let mut state = self.lock();
        state.n_waiting -= 1;
        state
    }
}

impl SharedInbox {
    /// Sleeps until there may be room for a frame of a running request.
    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, InboxState>,
        frame: &FrameHead,
        patience: ReceiveWait,
    ) -> Result<MutexGuard<'a, InboxState>, ClientGone> {
        self.receive(&mut state);
        let cancelled = patience == ReceiveWait::UntilCancelled && state.inbox.stream(frame).client.is_gone();
        if cancelled || state.inbox.wire.is_broken() {
            self.go_away(&mut state);
            return Err(ClientGone);
        }
        state.inbox.wire.end.want_room(frame.lane, true);
        let state = self.sleep_waiting(state);
        state.inbox.wire.end.want_room(frame.lane, false);
        Ok(state)
    }
}

impl ThreadLoop for SharedInbox {
    fn live(&self, server: &mut dyn Server) {
        let mut out = Vec::new();
        while let Some((received, is_last)) = self.next() {
            serve(self, server, received, is_last, &mut out);
        }
    }

    fn leave(&self) {
        self.lock().inbox.leave();
        self.sleep.wake_all();
    }
}

impl RequestChannel for &SharedInbox {
    fn max_payload(&self) -> usize {
        self.lock().inbox.wire.end.max_payload()
    }

    fn with_stream<R>(&mut self, frame: &FrameHead, act: impl FnOnce(&mut RequestStream) -> R) -> R {
        act(self.lock().inbox.stream(frame))
    }

    fn receive(&mut self) {
        let mut state = self.lock();
        SharedInbox::receive(self, &mut state);
        self.go_away(&mut state);
    }

    fn wait_until(
        &mut self,
        frame: &FrameHead,
        ready: impl Fn(&RequestStream) -> bool,
    ) -> Result<(), ClientGone> {
        let mut state = self.lock();
        loop {
            SharedInbox::receive(self, &mut state);
            let stream = state.inbox.stream(frame);
            let (cancelled, ready) = (stream.client.is_gone(), ready(stream));
            if cancelled || ready || state.inbox.wire.is_broken() {
                self.go_away(&mut state);
                return if ready && !cancelled { Ok(()) } else { Err(ClientGone) };
            }
            state = self.sleep_waiting(state);
        }
    }

    fn send(&mut self, frame: FrameHead, pieces: &[&[u8]], patience: ReceiveWait) -> Result<(), ClientGone> {
        let mut state = self.lock();
        while !state.inbox.try_send(frame, pieces)? {
            state = self.wait_for_room(state, &frame, patience)?;
        }
        Ok(())
    }

    fn send_if_room(&mut self, frame: FrameHead, pieces: &[&[u8]]) {
        // Fails when there is no router.
        let _ = self.lock().inbox.try_send(frame, pieces);
    }

    fn hand_over(
        &mut self,
        frame: &FrameHead,
        _len: usize,
        mut attempt: impl FnMut(&mut Inbox) -> Result<Handover, ClientGone>,
    ) -> Result<bool, ClientGone> {
        let mut state = self.lock();
        loop {
            match attempt(&mut state.inbox)? {
                Handover::NoRoom => state = self.wait_for_room(state, frame, ReceiveWait::UntilCancelled)?,
                handover => return Ok(handover == Handover::Done),
            }
        }
    }

    fn note(&mut self, text: &[u8]) {
        self.lock().inbox.set_note(text);
    }
}

#[cfg(test)]
mod tests;
