//! `schedule`: when a command runs.

use std::time::Duration;

use super::context::Context;
use super::limits::time;
use super::scalars::seconds;
use super::schema::{self, Field, INTEGER, Member, STRING, optional, required};
use super::strings::{name, text};
use crate::json::Value;
use crate::plan::{Overlap, ScheduleSpec};
use crate::schedule::{self, Schedule};

/// The options as far as they are read.
#[derive(Default)]
struct ScheduleDraft {
    cron: Option<String>,
    time_zone: Option<String>,
    jitter: Duration,
    overlap: Overlap,
    timeout: Option<Duration>,
}

/// Reads it: a text alone is `cron`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<ScheduleSpec> {
    let mut draft = ScheduleDraft::default();
    match field.value {
        Value::Object(members) => schema::read_object(cx, members, &[SCHEDULE], &mut draft),
        _ => draft.cron = cron(cx, field),
    }
    let ScheduleDraft { cron, time_zone, jitter, overlap, timeout } = draft;
    Some(ScheduleSpec { cron: cron?, time_zone, jitter, overlap, timeout })
}

const SCHEDULE: &[Member<ScheduleDraft>] = &[
    required("cron", STRING)
        .means("five fields of cron, `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, or `@every` with a \
            duration")
        .read(|cx, field, draft| draft.cron = cron(cx, field)),
    optional("time_zone", STRING)
        .default("the daemon's")
        .means("a name such as `Europe/Berlin`, or `UTC`")
        .read(|cx, field, draft| draft.time_zone = time_zone(cx, field)),
    optional("jitter", INTEGER)
        .default("0")
        .means("seconds by which a run may begin later, so that many machines do not begin at once")
        .read(|cx, field, draft| {
            draft.jitter = seconds(cx, field, 0..=LONGEST_JITTER).unwrap_or_default();
        }),
    optional("overlap", STRING)
        .default("`\"skip\"`")
        .means(
            "what becomes of a time that comes while the command runs: `\"skip\"`, `\"queue\"` (it runs afterwards; \
            ten wait at most) or `\"allow\"` (32 run at once at most)",
        )
        .read(|cx, field, draft| draft.overlap = overlap(cx, field).unwrap_or_default()),
    optional("timeout", INTEGER)
        .default("none")
        .means("seconds that a run may take; then it is told to end")
        .read(|cx, field, draft| draft.timeout = time(cx, field)),
];

fn cron(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = text(cx, field)?;
    match Schedule::parse(&text) {
        Ok(_) => Some(text),
        Err(error) => {
            cx.problem(format!("The \"{}\" value is not a schedule: {error}.", field.name));
            None
        }
    }
}

fn time_zone(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let name = name(cx, field)?;
    if schedule::zone(&name).is_none() {
        cx.problem_with_advice(
            format!("There is no time zone \"{name}\"."),
            "Zones have names such as \"Europe/Berlin\", \"America/New_York\" and \"UTC\".",
        );
        return None;
    }
    Some(name)
}

fn overlap(cx: &mut Context<'_>, field: Field<'_>) -> Option<Overlap> {
    match &**field.value.as_bytes()? {
        b"skip" => Some(Overlap::Skip),
        b"queue" => Some(Overlap::Queue),
        b"allow" => Some(Overlap::Allow),
        other => {
            let written = String::from_utf8_lossy(other);
            let detail = "The \"overlap\" must be \"skip\", \"queue\" or \"allow\".";
            cx.problem_with_suggestion(detail, &written, ["skip", "queue", "allow"].into_iter());
            None
        }
    }
}

const LONGEST_JITTER: i64 = 86_400;
