//! Things that need a person's attention, in words, with what to do. Pure: figures come in, words go out.

mod trends;

use std::time::{Duration, SystemTime};

use corral_acme::{NameState, NameStatus};
use corral_config::json::Value;
use corral_ipc::message::{AppStatus, DaemonStatus, ServerState, Status, UpstreamStatus};

pub(super) use self::trends::Trends;
use crate::reply::object;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
}

/// One thing that needs attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attention {
    severity: Severity,
    subject: String,
    text: String,
    /// The next step of a person.
    next: &'static str,
    /// The part of the dashboard that shows more.
    view: String,
}

/// An uploaded certificate that the configuration uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsedBundle {
    pub(super) name: String,
    pub(super) expires: SystemTime,
}

/// All figures that may need attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) status: &'a Status,
    pub(super) certificates: &'a [NameStatus],
    pub(super) bundles: &'a [UsedBundle],
    pub(super) trends: &'a Trends,
    pub(super) now: SystemTime,
}

/// Most things that are told.
const MOST: usize = 100;

/// A certificate that expires sooner needs attention: it should have been renewed.
const SOON: Duration = Duration::from_secs(7 * 86_400);

/// Crashes within a minute that are a loop.
const LOOP: u64 = 3;

/// Everything that needs attention, the worst first.
pub(super) fn find(facts: &Facts<'_>) -> Vec<Attention> {
    let Facts { status, certificates, bundles, now, .. } = *facts;
    let mut found = Vec::new();
    daemon(&mut found, &status.daemon);
    for failed in &status.failed_listeners {
        let next = "Free the address, or change the listener; it is tried again by itself.";
        found.push(error(
            format!("listener {}", failed.address),
            failed.reason.clone(),
            next,
            "listeners".to_owned(),
        ));
    }
    certificates.iter().for_each(|one| certificate(&mut found, one, now));
    bundles.iter().for_each(|one| bundle(&mut found, one, now));
    let applications = status.applications.iter().chain(&status.background);
    applications.for_each(|app| application(&mut found, app, facts.trends));
    status.upstreams.iter().for_each(|group| upstream(&mut found, group));
    found.sort_by_key(|one| one.severity);
    found.truncate(MOST);
    found
}

/// As the stream has them.
pub(super) fn value(found: &[Attention]) -> Value {
    let one = |one: &Attention| {
        let severity = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        object([
            ("severity", Value::from(severity)),
            ("subject", Value::from(one.subject.as_str())),
            ("text", Value::from(one.text.as_str())),
            ("next", Value::from(one.next)),
            ("view", Value::from(one.view.as_str())),
        ])
    };
    Value::Array(found.iter().map(one).collect())
}

fn error(subject: String, text: String, next: &'static str, view: String) -> Attention {
    Attention { severity: Severity::Error, subject, text, next, view }
}

fn warning(subject: String, text: String, next: &'static str, view: String) -> Attention {
    Attention { severity: Severity::Warning, ..error(subject, text, next, view) }
}

fn daemon(found: &mut Vec<Attention>, status: &DaemonStatus) {
    if let Some(reason) = &status.config_error {
        let next = if status.config_files.is_some() {
            "Mend the files, then `corral reload`; what ran before still runs."
        } else {
            "Make room, or make the state directory writable; it is stored by itself then. A restart would lose it."
        };
        found.push(error("configuration".to_owned(), reason.clone(), next, "configuration".to_owned()));
    }
    if let Some(reason) = &status.upgrade_error {
        let next = "The old executable still runs; mend what is said here, then `corral upgrade`.";
        found.push(error("upgrade".to_owned(), reason.clone(), next, "log".to_owned()));
    }
}

fn certificate(found: &mut Vec<Attention>, name: &NameStatus, now: SystemTime) {
    let subject = format!("certificate {}", name.name);
    let view = format!("certificates/{}", name.name);
    let next = "Mend what is said here; it is ordered again by itself, or at once with \"renew\".";
    let reason = name.last_error.clone();
    match name.state {
        NameState::Failed => {
            let text = reason.unwrap_or_else(|| "there is no certificate".to_owned());
            found.push(error(subject, text, next, view));
        }
        NameState::Expired => {
            let text = reason.unwrap_or_else(|| "it has expired and was not renewed".to_owned());
            found.push(error(subject, text, next, view));
        }
        NameState::Valid => {
            let ends_soon = name.expires.is_some_and(|expires| expires < now + SOON);
            match (reason, ends_soon) {
                (Some(reason), true) => found.push(error(subject, reason, next, view)),
                (Some(reason), false) => found.push(warning(subject, reason, next, view)),
                (None, true) => found.push(warning(subject, ends(name.expires), next, view)),
                (None, false) => {}
            }
        }
        NameState::Ordering | NameState::Waiting => {}
    }
}

fn ends(expires: Option<SystemTime>) -> String {
    expires.map_or_else(String::new, |time| format!("it expires {}", NameStatus::time(time)))
}

fn bundle(found: &mut Vec<Attention>, bundle: &UsedBundle, now: SystemTime) {
    let next = "Upload a new one: `corral certificate put NAME FILE --replace`.";
    let (subject, view) = (format!("certificate {}", bundle.name), format!("certificates/{}", bundle.name));
    if bundle.expires <= now {
        let text = format!("it has expired, {}", NameStatus::time(bundle.expires));
        found.push(error(subject, text, next, view));
    } else if bundle.expires < now + SOON {
        found.push(warning(subject, ends(Some(bundle.expires)), next, view));
    }
}

fn application(found: &mut Vec<Attention>, app: &AppStatus, trends: &Trends) {
    let subject = || format!("application {}", app.name);
    let view = || format!("applications/{}", app.name);
    let crashes = trends.crashes(&app.name);
    let last = || app.last_crash.clone().unwrap_or_else(|| "a process has crashed".to_owned());
    if let Some(reason) = &app.last_error {
        let next = "Mend what is said here, then restart it; it is tried again by itself.";
        let severe = if app.running == 0 { error } else { warning };
        found.push(severe(subject(), reason.clone(), next, view()));
    } else if crashes >= LOOP {
        let next = "Its last words are in the log; undo the newest change if it began with that.";
        found.push(error(
            subject(),
            format!("its processes crash again and again: {}", last()),
            next,
            view(),
        ));
    } else if crashes > 0 {
        let next = "Its last words are in the log.";
        found.push(warning(subject(), format!("a process has crashed: {}", last()), next, view()));
    }
    if trends.waits(&app.name) {
        let next = "More processes, or faster requests: the slow ones are listed.";
        let text = "requests have been waiting for a process for ten seconds and longer".to_owned();
        found.push(warning(subject(), text, next, view()));
    }
    if let Some(text) = &app.warning {
        found.push(warning(subject(), text.clone(), "Give it a user of its own.", view()));
    }
    background(found, app, trends);
}

/// Troubles of commands that no listener reaches.
fn background(found: &mut Vec<Attention>, app: &AppStatus, trends: &Trends) {
    let mut warn = |text: String, next| {
        let view = format!("applications/{}", app.name);
        found.push(warning(format!("application {}", app.name), text, next, view));
    };
    let last = app.schedule.as_ref().and_then(|schedule| schedule.last.as_ref());
    if let Some(run) = last.filter(|run| run.timed_out || run.error.is_some() || !is_success(run)) {
        let reason = run.error.clone().unwrap_or_else(|| {
            if run.timed_out { "it took too long".to_owned() } else { "it ended with an error".to_owned() }
        });
        warn(
            format!("its last run, at {}, failed: {reason}", run.began),
            "The last lines that it printed say why.",
        );
    }
    if let Some(reason) = app.queue.as_ref().and_then(|queue| queue.last_error.clone()) {
        warn(reason, "Its processes stay as many as they are until the length of the queue is known.");
    } else if trends.queue_grows(&app.name) {
        warn(
            "its queue has grown for a minute and longer".to_owned(),
            "More processes, or faster jobs; look for jobs that fail and are tried again.",
        );
    }
}

fn is_success(run: &corral_ipc::message::RunStatus) -> bool {
    run.exit == Some(corral_ipc::message::Exit::Code(0))
}

fn upstream(found: &mut Vec<Attention>, group: &UpstreamStatus) {
    let view = || format!("upstreams/{}", group.name);
    let all_down =
        !group.servers.is_empty() && group.servers.iter().all(|server| server.state == ServerState::Down);
    if all_down {
        let text = "all of its servers are down: its requests are answered with 502 or 503".to_owned();
        let next = "Start one of them, or take them out of the configuration.";
        return found.push(error(format!("upstream {}", group.name), text, next, view()));
    }
    for server in &group.servers {
        let (text, next) = match server.state {
            ServerState::Up => continue,
            ServerState::Avoided => {
                ("it has failed to answer, and gets no requests for a while", "Its own log says why.")
            }
            ServerState::Down => {
                ("its checks fail, and it gets no requests", "Start it, or mend what it answers.")
            }
        };
        let subject = format!("server {} of upstream {}", server.address, group.name);
        found.push(warning(subject, text.to_owned(), next, view()));
    }
}

#[cfg(test)]
mod tests;
