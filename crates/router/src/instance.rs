//! The instances of applications that run: workers, what waits for them, and what they say.
//!
//! `app` is what all event loops share of an instance, `loop_app` what one loop has of it, `pool` decides which worker
//! gets which request, `call` and `turn` are requests as their connections see them.

mod app;
mod call;
mod extras;
mod failure;
mod file;
mod findings;
mod growth;
mod habits;
mod hijacked;
mod hosting;
mod housekeeping;
mod lease;
mod left_state;
mod loop_app;
mod mebibytes;
mod overload;
mod patience;
mod pool;
mod port;
mod program;
mod program_port;
mod receiving;
mod rules;
mod sizes;
mod state;
mod turn;
mod turns;
mod workers;

pub(crate) use self::app::App;
pub(crate) use self::call::Call;
pub(crate) use self::failure::{Failure, FramingError};
pub(crate) use self::file::SentFile;
pub(crate) use self::habits::Habit;
pub(crate) use self::hijacked::Hijacked;
pub(crate) use self::lease::Lease;
pub(crate) use self::loop_app::{BusyApps, LoopApp};
pub(crate) use self::patience::Patience;
pub(crate) use self::pool::serving::RESCUE;
pub(crate) use self::pool::worker::WorkerKey;
pub(crate) use self::port::ChannelPort;
pub(crate) use self::program::Program;
pub(crate) use self::state::Piece;
pub(crate) use self::turn::Turn;
pub(crate) use self::workers::DeadWorker;
