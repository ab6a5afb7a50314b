//! `processes` and `limits` of an application (UNIT-COMPAT 20.1 and 20.2).

use std::num::NonZeroU32;
use std::time::Duration;

use super::scalars::{INT_MAX, MAX_SECONDS, count, integer, limit, seconds};
use super::schema::{INTEGER, Member};
use crate::plan::{Limits, Processes};

/// What applies when `processes` is not there.
pub(super) fn one_process() -> Processes {
    static_processes(NonZeroU32::MIN)
}

/// Always this many.
pub(super) fn static_processes(number: NonZeroU32) -> Processes {
    Processes { max: number, spare: number.get(), idle_timeout: IDLE_TIMEOUT }
}

/// The defaults of the object form: one process, started on demand.
pub(super) fn dynamic_processes() -> Processes {
    Processes { max: NonZeroU32::MIN, spare: 0, idle_timeout: IDLE_TIMEOUT }
}

pub(super) const PROCESSES: &[Member<Processes>] = &[
    Member::optional("max", INTEGER, |cx, field, processes| {
        processes.max = count(cx, field).unwrap_or(NonZeroU32::MAX);
    }),
    Member::optional("spare", INTEGER, |cx, field, processes| {
        let spare = integer(cx, field, 0..=INT_MAX).and_then(|spare| u32::try_from(spare).ok());
        processes.spare = spare.unwrap_or_default();
    }),
    Member::optional("idle_timeout", INTEGER, |cx, field, processes| {
        let timeout = seconds(cx, field, 0..=MAX_SECONDS);
        processes.idle_timeout = timeout.unwrap_or(IDLE_TIMEOUT);
    }),
];

pub(super) const LIMITS: &[Member<Limits>] = &[
    // Unit takes any number.
    Member::optional("timeout", INTEGER, |cx, field, limits| {
        let timeout = seconds(cx, field, 0..=i64::MAX).map(|timeout| timeout.min(LONGEST_TIMEOUT));
        limits.timeout = timeout.filter(|timeout| !timeout.is_zero());
    }),
    Member::optional("requests", INTEGER, |cx, field, limits| limits.requests = limit(cx, field)),
    // Unit's bound on the memory that a worker shares with the router. The channel's memory has a
    // fixed, smaller size, so a right value is accepted and changes nothing.
    Member::optional("shm", INTEGER, |cx, field, _| {
        integer(cx, field, 0..=i64::MAX);
    }),
];

/// Nobody waits for longer.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(MAX_SECONDS.unsigned_abs());

const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
