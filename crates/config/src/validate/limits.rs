//! `processes` and `limits` of an application (contract 20.1 and 20.2, and what Corral adds).

use std::num::NonZeroU32;
use std::time::Duration;

use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, amount, count, integer, limit, seconds};
use super::schema::{self, ARRAY, Field, INTEGER, Member, NUMBER, OBJECT, STRING, optional};
use super::{bounds, queue};
use crate::plan::{Limits, MemoryBounds, PoolGrowth, Processes, QueueSpec};

/// The default of `processes`.
pub(super) fn one_process() -> Processes {
    static_processes(NonZeroU32::MIN)
}

/// Always this many.
pub(super) fn static_processes(number: NonZeroU32) -> Processes {
    let growth = PoolGrowth::ByRequests;
    Processes { max: number, spare: number.get(), idle_timeout: IDLE_TIMEOUT, growth }
}

/// The defaults of the object form: one process, started on demand.
pub(super) fn dynamic_processes() -> Processes {
    let growth = PoolGrowth::ByRequests;
    Processes { max: NonZeroU32::MIN, spare: 0, idle_timeout: IDLE_TIMEOUT, growth }
}

/// `"auto"`: as many as the work needs. One is started, and so tested, before there are requests.
pub(super) fn automatic_processes() -> Processes {
    let growth = PoolGrowth::ByWaiting;
    Processes { max: MOST_AUTOMATIC, spare: 1, idle_timeout: AUTOMATIC_IDLE_TIMEOUT, growth }
}

/// `processes` as an object, as far as it is read.
pub(super) struct ProcessesDraft {
    pub(super) numbers: Processes,
    pub(super) queue: Option<QueueSpec>,
}

pub(super) const PROCESSES: &[Member<ProcessesDraft>] = &[
    optional("max", INTEGER)
        .at_most(bounds::PROCESSES)
        .default("1")
        .means("the largest number of processes")
        .read(|cx, field, draft| draft.numbers.max = count(cx, field).unwrap_or(NonZeroU32::MAX)),
    optional("spare", INTEGER)
        .at_most(bounds::PROCESSES)
        .default("0")
        .means("processes that are kept although there is nothing for them to do")
        .read(|cx, field, draft| {
            let spare = integer(cx, field, 0..=INT_MAX).and_then(|spare| u32::try_from(spare).ok());
            draft.numbers.spare = spare.unwrap_or_default();
        }),
    optional("idle_timeout", INTEGER)
        .default("15")
        .means("seconds after which a further process that is not needed ends")
        .read(|cx, field, draft| {
            let timeout = seconds(cx, field, 0..=MAX_SECONDS);
            draft.numbers.idle_timeout = timeout.unwrap_or(IDLE_TIMEOUT);
        }),
    // Beyond Unit.
    optional("queue", STRING.or(ARRAY).or(OBJECT))
        .default("none")
        .means(
            "a program that prints [how many jobs wait](#by-the-length-of-a-queue), with its arguments; or an \
             object with that as `command`",
        )
        .read(|cx, field, draft| draft.queue = queue::read(cx, field)),
];

pub(super) const LIMITS: &[Member<Limits>] = &[
    // Unit takes any number.
    optional("timeout", INTEGER)
        .default("none")
        .means(
            "seconds that a worker may be silent, before its response or between two pieces of it; then the \
             client gets 503, and the script goes on",
        )
        .read(|cx, field, limits| {
            let timeout = seconds(cx, field, 0..=i64::MAX).map(|timeout| timeout.min(LONGEST_TIMEOUT));
            limits.timeout = timeout.filter(|timeout| !timeout.is_zero());
        }),
    optional("requests", INTEGER)
        .default("none")
        .means("requests after which a worker is replaced")
        .read(|cx, field, limits| limits.requests = limit(cx, field)),
    // From here on beyond Unit.
    optional("requests_jitter", NUMBER)
        .default("0")
        .means("the share of `requests`, from 0 to 1, by which a worker may be replaced earlier")
        .read(|cx, field, limits| limits.requests_jitter = share(cx, field).unwrap_or_default()),
    optional("kill_after", INTEGER)
        .default("[a day](#when-a-request-takes-too-long)")
        .means(
            "seconds that a worker may run one request; then the worker is killed, and the client gets 504",
        )
        .read(|cx, field, limits| {
            limits.kill_after = time(cx, field);
            limits.kill_at_last = None;
        }),
    optional("slow", INTEGER)
        .default("none")
        .means("seconds after which a request is logged as slow")
        .read(|cx, field, limits| limits.slow = time(cx, field)),
    optional("queue", INTEGER)
        .at_most(bounds::REQUESTS)
        .default("no bound")
        .means("requests that may wait while all workers are busy; further ones get 503 at once")
        .read(|cx, field, limits| {
            let queue = integer(cx, field, 0..=INT_MAX).and_then(|queue| u32::try_from(queue).ok());
            limits.queue = queue;
        }),
    optional("queue_timeout", INTEGER)
        .default("60")
        .means("seconds that a request may wait for a worker; then it gets 503. 0 lifts the bound")
        .read(|cx, field, limits| limits.queue_timeout = time(cx, field)),
    optional("concurrency", INTEGER)
        .at_most(bounds::REQUESTS)
        .default("no bound")
        .means("requests that workers are given at the same time, all workers together")
        .read(|cx, field, limits| {
            limits.concurrency = integer(cx, field, 0..=INT_MAX)
                .and_then(|concurrency| u32::try_from(concurrency).ok())
                .and_then(NonZeroU32::new);
        }),
    optional("memory", INTEGER.or(OBJECT))
        .default("none")
        .means(
            "bytes that each worker may use: `{\"soft\": …, \"hard\": …}`, of which either may be missing; a \
             number alone is `soft`",
        )
        .read(|cx, field, limits| limits.memory = memory(cx, field)),
    // Unit's bound on the memory that a worker shares with the router. The channel's memory has a
    // fixed, smaller size, so a right value is accepted and changes nothing.
    optional("shm", INTEGER)
        .means("taken for compatibility and not used: what a worker shares with the router has a fixed size")
        .read(|cx, field, _| {
            integer(cx, field, 0..=i64::MAX);
        }),
];

const MEMORY: &[Member<MemoryBounds>] = &[
    optional("soft", INTEGER).read(|cx, field, bounds| bounds.soft = amount(cx, field)),
    optional("hard", INTEGER).read(|cx, field, bounds| bounds.hard = amount(cx, field)),
];

/// A number alone is the bound that costs no request.
fn memory(cx: &mut Context<'_>, field: Field<'_>) -> MemoryBounds {
    let Some(members) = field.value.as_object() else {
        return MemoryBounds { soft: amount(cx, field), hard: None };
    };
    let mut bounds = MemoryBounds::default();
    schema::read_object(cx, members, &[MEMORY], &mut bounds);
    if let (Some(soft), Some(hard)) = (bounds.soft, bounds.hard)
        && soft > hard
    {
        cx.at(b"soft", |cx| cx.problem("The \"soft\" number must be less than or equal to \"hard\"."));
    }
    bounds
}

/// Seconds, of which 0 means that there is no limit.
pub(super) fn time(cx: &mut Context<'_>, field: Field<'_>) -> Option<Duration> {
    seconds(cx, field, 0..=MAX_SECONDS).filter(|time| !time.is_zero())
}

/// A share of 1, in thousandths.
fn share(cx: &mut Context<'_>, field: Field<'_>) -> Option<u32> {
    let number = field.value.as_number()?.as_f64();
    if !(0.0..=1.0).contains(&number) {
        cx.problem(format!("The \"{}\" number must be between 0 and 1.", field.name));
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    Some((number * 1000.0).round() as u32)
}

/// A longer wait makes no sense.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(MAX_SECONDS.unsigned_abs());

/// No machine has more by itself.
const MOST_AUTOMATIC: NonZeroU32 = NonZeroU32::new(512).expect("it is not zero");

const AUTOMATIC_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
