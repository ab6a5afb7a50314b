//! `restart` of an application (beyond Unit).

use std::time::Duration;

use super::context::Context;
use super::limits::time;
use super::schema::{self, ARRAY, Field, INTEGER, Member, STRING, optional};
use super::strings::absolute_paths;
use crate::plan::{Restart, RestartMode};

/// Reads `restart`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Restart {
    let mut restart = Restart::default();
    schema::read_nested(cx, field, &[RESTART], &mut restart);
    // Requests that wait for the end of others must not do so for ever.
    if restart.mode == RestartMode::Switch && field.value.member("drain_timeout").is_none() {
        restart.drain_timeout = Some(SWITCH_DRAIN_TIMEOUT);
    }
    restart
}

const RESTART: &[Member<Restart>] = &[
    optional("mode", STRING)
        .default("`\"rolling\"`")
        .means(
            "`\"switch\"`: no request of new processes begins before the last one of the old processes has \
             ended",
        )
        .read(|cx, field, restart| restart.mode = mode(cx, field).unwrap_or_default()),
    optional("drain_timeout", INTEGER)
        .default("3600; 30 with `\"switch\"`")
        .means("seconds that old processes have to finish what they began; then they are ended")
        .read(|cx, field, restart| restart.drain_timeout = time(cx, field)),
    optional("watch", ARRAY)
        .means("absolute paths of files, folders or symbolic links whose change restarts the application")
        .read(|cx, field, restart| restart.watch = absolute_paths(cx, field)),
];

fn mode(cx: &mut Context<'_>, field: Field<'_>) -> Option<RestartMode> {
    match &**field.value.as_bytes()? {
        b"rolling" => Some(RestartMode::Rolling),
        b"switch" => Some(RestartMode::Switch),
        other => {
            let written = String::from_utf8_lossy(other);
            let detail = "The \"mode\" of a restart must be \"rolling\" or \"switch\".";
            cx.problem_with_suggestion(detail, &written, ["rolling", "switch"].into_iter());
            None
        }
    }
}

const SWITCH_DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
