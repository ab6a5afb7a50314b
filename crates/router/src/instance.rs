//! The instances of applications that run: workers, what waits for them, and what they say.
//!
//! `app` is what all event loops share of an instance, `loop_app` what one loop has of it, `pool` decides which worker
//! gets which request, `call` and `turn` are requests as their connections see them.
//!
//! Before an event loop sleeps, it wakes the workers that it gave something; it looks only at applications in use, as
//! there may be a thousand others. A worker claims a request by a compare-and-swap, and answers a small response in one
//! frame. The loop reads lanes before it sleeps and after it wakes.
//!
//! A worker has 256 KiB of credit and gets more as its output is stored, up to 256 MiB for one response, so that a slow
//! client holds no worker. The router copies each frame out of shared memory once and checks the copy; a worker that
//! breaks the protocol is killed. No event loop closes a descriptor that an application has sent: closing takes as long
//! as its owner likes (`SO_LINGER`, FUSE), so threads of `corral_sys` do it.
//!
//! Requests that run for too long and workers that use too much memory are found by the control thread, four times a
//! second. A worker that cannot be forked or taken over counts as one that could not be started: the pool asks for the
//! next one ever later, and requests that cannot be served get 503.
//!
//! Workers of one application share a bell. They are the same user and run the same code, so they can harm only each
//! other with it; and when a loop sleeps, the first worker to answer wakes it while the others see that it is awake.

mod app;
mod call;
mod extras;
mod failure;
mod file;
mod findings;
mod growth;
mod hijacked;
mod hosting;
mod housekeeping;
mod lease;
mod left_state;
mod leniencies;
mod listing;
mod loop_app;
mod mebibytes;
mod overload;
mod pool;
mod port;
mod program;
mod program_port;
mod protocol_guard;
mod receiving;
mod request_counts;
mod request_timeouts;
mod sizes;
mod state;
mod turn;
mod turns;
mod workers;

pub(crate) use self::app::{AppCounts, AppInstance};
pub(crate) use self::call::AppCall;
pub(crate) use self::failure::{AppFailure, FramingError};
pub(crate) use self::file::SentFile;
pub(crate) use self::hijacked::Hijacked;
pub(crate) use self::lease::InstanceLease;
pub(crate) use self::leniencies::Leniency;
pub(crate) use self::loop_app::{BusyApps, LoopApp};
pub(crate) use self::pool::serving::RESCUE;
pub(crate) use self::pool::worker::WorkerKey;
pub(crate) use self::port::ChannelPort;
pub(crate) use self::program::ReadyProgram;
pub(crate) use self::request_timeouts::RequestTimeouts;
pub(crate) use self::state::AnswerPiece;
pub(crate) use self::turn::ProgramTurn;
pub(crate) use self::workers::DeadWorker;
