//! `queue`: the length by which a command has more or fewer processes.

use std::num::NonZeroU32;
use std::time::Duration;

use super::context::Context;
use super::scalars::{integer, seconds};
use super::schema::{self, ARRAY, Field, INTEGER, Member, STRING, optional, required};
use super::{bounds, command};
use crate::json::{Object, Value};
use crate::plan::{CommandLine, QueueSpec};

/// The options as far as they are read.
struct QueueDraft {
    command: Option<CommandLine>,
    per_process: NonZeroU32,
    interval: Duration,
    timeout: Duration,
}

/// Reads it: a text or an array is the `command`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<QueueSpec> {
    let (per_process, interval, timeout) = (PER_PROCESS, INTERVAL, TIMEOUT);
    let mut draft = QueueDraft { command: None, per_process, interval, timeout };
    match field.value {
        Value::Object(members) => schema::read_object(cx, members, &[QUEUE], &mut draft),
        _ => draft.command = command::read(cx, field),
    }
    let QueueDraft { command, per_process, interval, timeout } = draft;
    Some(QueueSpec { command: command?, per_process, interval, timeout })
}

/// A queue is for commands that run all the time.
pub(super) fn refuse(cx: &mut Context<'_>, members: &Object) {
    let processes = members.get(b"processes".as_slice());
    if processes.is_some_and(|processes| processes.member("queue").is_some()) {
        let detail = "The \"queue\" option is for applications of type \"process\".";
        cx.at(b"processes", |cx| cx.at(b"queue", |cx| cx.problem(detail)));
    }
}

const QUEUE: &[Member<QueueDraft>] = &[
    required("command", STRING.or(ARRAY))
        .means(
            "a program that prints the number of jobs, with its arguments, as `command` of the application",
        )
        .read(|cx, field, draft| draft.command = command::read(cx, field)),
    optional("per_process", INTEGER)
        .at_most(bounds::JOBS)
        .default("10")
        .means("the number of jobs for which there is one process")
        .read(|cx, field, draft| {
            let number =
                integer(cx, field, 1..=i64::from(u32::MAX)).and_then(|number| u32::try_from(number).ok());
            draft.per_process = number.and_then(NonZeroU32::new).unwrap_or(PER_PROCESS);
        }),
    optional("interval", INTEGER)
        .default("10")
        .means("seconds from one look at the queue to the next one, up to an hour")
        .read(|cx, field, draft| draft.interval = seconds(cx, field, 1..=LONGEST).unwrap_or(INTERVAL)),
    optional("timeout", INTEGER)
        .default("10")
        .means("seconds that the program may take, up to an hour; then it is ended")
        .read(|cx, field, draft| draft.timeout = seconds(cx, field, 1..=LONGEST).unwrap_or(TIMEOUT)),
];

const PER_PROCESS: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");
const INTERVAL: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(10);

/// Seconds.
const LONGEST: i64 = 3600;
