//! The options of applications that no listener reaches (beyond Unit): `type: "process"`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::app_type::{AppType, ApplicationType};
use super::command;
use super::context::Context;
use super::schema::{ARRAY, Field, Member, OBJECT, STRING, optional};
use super::strings::{argument, name, path, string_array};
use crate::json::{self, Object, Value};
use crate::plan::{AppSpec, CommandLine, Overlap, ProcessSpec, RestartMode, RuntimeSpec, ScheduleSpec};

/// Commands.
pub(super) const PROCESS: AppType<ProcessDraft> = AppType { tables: &[COMMAND], finish };

/// The members that concern the command, as far as they were read.
#[derive(Default)]
pub(super) struct ProcessDraft {
    command: Option<CommandLine>,
    executable: Option<PathBuf>,
    arguments: Vec<String>,
    stop_signal: Option<i32>,
    with: Option<String>,
    schedule: Option<ScheduleSpec>,
}

const COMMAND: &[Member<ProcessDraft>] = &[
    optional("command", STRING.or(ARRAY))
        .default("required")
        .means(
            "the program with its arguments: one string, which is split as a shell splits its words, or an array of \
             them. No shell runs it",
        )
        .read(|cx, field, draft| draft.command = command::read(cx, field)),
    optional("executable", STRING)
        .means(
            "the program alone, in place of `command`: a path, absolute or relative to `working_directory`, or a \
             name that is looked for in the application's `PATH`",
        )
        .read(|cx, field, draft| draft.executable = path(cx, field)),
    optional("arguments", ARRAY)
        .default("none")
        .means("arguments of the `executable`")
        .read(|cx, field, draft| draft.arguments = string_array(cx, field, argument)),
    optional("stop_signal", STRING)
        .default("`\"TERM\"`")
        .means(
            "the signal that tells a process to end: `\"TERM\"`, `\"INT\"`, `\"QUIT\"`, `\"HUP\"`, `\"USR1\"`, \
             `\"USR2\"`, `\"WINCH\"` or `\"KILL\"`",
        )
        .read(|cx, field, draft| draft.stop_signal = stop_signal(cx, field)),
    optional("with", STRING)
        .default("none")
        .means(
            "an application: whenever that is restarted, or a configuration changes it, [this one is restarted, \
             too](#deployments)",
        )
        .read(|cx, field, draft| draft.with = name(cx, field)),
    optional("schedule", STRING.or(OBJECT))
        .default("none: it runs all the time")
        .means(
            "[when the command runs](#at-times): five fields of cron, `@hourly` and its like, or \
             `@every 30s`; or an object with that as `cron`",
        )
        .read(|cx, field, draft| draft.schedule = super::schedule::read(cx, field)),
];

fn finish(cx: &mut Context<'_>, app: ApplicationType<'_>, draft: ProcessDraft) -> Option<RuntimeSpec> {
    let command = the_command(cx, app.members, draft.command, draft.executable, draft.arguments);
    refuse_of_requests(cx, app.members);
    check_number(cx, app.members, draft.schedule.is_some());
    if let Some(with) = &draft.with
        && !cx.destinations.applications.contains_key(with.as_bytes())
    {
        let detail = format!("\"{with}\" is not an application that serves requests.");
        let known = cx.destinations.applications.keys().map(|name| name.to_string_lossy().into_owned());
        let known: Vec<_> = known.collect();
        cx.at(b"with", |cx| cx.problem_with_suggestion(detail, with, known.iter()));
    }
    Some(RuntimeSpec::Process(ProcessSpec {
        command: command?,
        stop_signal: draft.stop_signal.unwrap_or(TERM),
        with: draft.with,
        schedule: draft.schedule,
        queue: None,
    }))
}

fn the_command(
    cx: &mut Context<'_>,
    members: &Object,
    command: Option<CommandLine>,
    executable: Option<PathBuf>,
    arguments: Vec<String>,
) -> Option<CommandLine> {
    let has = |name: &str| members.contains_key(name.as_bytes());
    for twin in ["executable", "arguments"] {
        if has("command") && has(twin) {
            let detail = format!("The \"{twin}\" option is mutually exclusive with \"command\".");
            cx.at(twin.as_bytes(), |cx| cx.problem(detail));
        }
    }
    if !has("command") && !has("executable") {
        cx.problem_with_advice(
            "Required parameter \"command\" is missing.",
            "It is the program with its arguments, such as \"php artisan queue:work\".",
        );
    }
    command.or_else(|| Some(CommandLine { executable: executable?, arguments }))
}

/// Requests are what such an application never gets.
fn refuse_of_requests(cx: &mut Context<'_>, members: &Object) {
    if members.contains_key(b"limits".as_slice()) {
        let detail = "The \"limits\" are for applications that get requests.";
        let advice = "A control group bounds memory, processors and processes of a command: \"isolation\", \"cgroup\".";
        cx.at(b"limits", |cx| cx.problem_with_advice(detail, advice));
    }
    for name in ["limit_requests", "limit_connections", "abandoned", "targets"] {
        if members.contains_key(name.as_bytes()) {
            let detail = format!("The \"{name}\" option is for applications that get requests.");
            cx.at(name.as_bytes(), |cx| cx.problem(detail));
        }
    }
    let restart = members.get(b"restart".as_slice());
    if restart.is_some_and(|restart| restart.member("mode").is_some()) {
        let detail = "The \"mode\" of a restart is for applications that get requests: processes without any always \
                      end before others take their place.";
        cx.at(b"restart", |cx| cx.at(b"mode", |cx| cx.problem(detail)));
    }
}

fn check_number(cx: &mut Context<'_>, members: &Object, has_schedule: bool) {
    let detail = match members.get(b"processes".as_slice()) {
        Some(_) if has_schedule => {
            "A command with a \"schedule\" has no number of \"processes\": \"overlap\" says whether it runs beside \
            itself."
        }
        Some(Value::Object(members)) if members.contains_key(b"queue".as_slice()) => return,
        Some(Value::Object(_) | Value::String(_)) => {
            "The \"processes\" of a command are a number, or an object with a \"queue\"."
        }
        _ => return,
    };
    cx.at(b"processes", |cx| cx.problem(detail));
}

fn stop_signal(cx: &mut Context<'_>, field: Field<'_>) -> Option<i32> {
    let text = field.value.as_bytes()?.to_string_lossy().into_owned();
    let short = text.strip_prefix("SIG").unwrap_or(&text);
    let found = SIGNALS.iter().find(|(name, _)| *name == short).map(|(_, number)| *number);
    if found.is_none() {
        let names: Vec<_> = SIGNALS.iter().map(|(name, _)| *name).collect();
        let detail = format!("The \"stop_signal\" must be one of \"{}\".", names.join("\", \""));
        cx.problem_with_suggestion(detail, short, names.into_iter());
    }
    found
}

const TERM: i32 = 15;

/// As Linux numbers them on every machine that it is built for here.
const SIGNALS: &[(&str, i32)] = &[
    ("TERM", TERM),
    ("INT", 2),
    ("QUIT", 3),
    ("HUP", 1),
    ("USR1", 10),
    ("USR2", 12),
    ("WINCH", 28),
    ("KILL", 9),
];

/// Whether an application of this document is a command.
pub(super) fn is_process(application: &Value) -> bool {
    application.member("type") == Some(&Value::String(json::Bytes::from("process")))
}

/// Says of a command what follows from its options: how many there are, and how others take their place.
pub(super) fn applied(mut spec: AppSpec, application: &Value) -> AppSpec {
    let RuntimeSpec::Process(process) = &spec.runtime else { return spec };
    match &process.schedule {
        Some(schedule) => {
            spec.processes.spare = 0;
            spec.processes.idle_timeout = IDLE_TIMEOUT;
            spec.processes.max =
                if schedule.overlap == Overlap::Allow { MOST_AT_ONCE } else { NonZeroU32::MIN };
        }
        None => {
            spec.restart.mode = RestartMode::Switch;
            let says_so = |restart: &Value| restart.member("drain_timeout").is_some();
            if !application.member("restart").is_some_and(says_so) {
                spec.restart.drain_timeout = Some(DRAIN_TIMEOUT);
            }
        }
    }
    spec
}

/// Runs of one command beside each other.
const MOST_AT_ONCE: NonZeroU32 = NonZeroU32::new(32).expect("it is not zero");

/// The patience of other managers of processes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs of a schedule that come oftener keep what starts them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
