//! `/status` (contract 19): the figures of main and the router as JSON.

use corral_acme::NameStatus;
use corral_config::json::{Bytes, Object, Value};
use corral_ipc::message::{
    AppStatus, DaemonStatus, Exit, LeftState, LimitStatus, MirrorStatus, Module, QueueStatus, RunStatus,
    STATE_KINDS, ScheduleStatus, ServerState, Status, UpstreamStatus,
};

use crate::reply::object;

/// The whole object.
pub(crate) fn value(status: &Status, modules: &[Module], certificates: &[NameStatus]) -> Value {
    let mut connections = object([
        ("accepted", Value::from(status.accepted)),
        ("active", Value::from(status.active)),
        ("idle", Value::from(status.idle)),
        ("closed", Value::from(status.closed)),
    ]);
    if let Value::Object(members) = &mut connections
        && status.refused > 0
    {
        members.insert(Bytes::from("refused"), Value::from(status.refused));
    }
    if let Value::Object(members) = &mut connections
        && status.dropped_datagrams > 0
    {
        members.insert(Bytes::from("dropped_datagrams"), Value::from(status.dropped_datagrams));
    }
    let applications = status
        .applications
        .iter()
        .chain(&status.background)
        .map(|app| (Bytes::from(app.name.as_str()), application(app)));
    let mut members = vec![
        ("modules", modules_by_language(modules)),
        ("connections", connections),
        ("requests", object([("total", Value::from(status.requests))])),
        ("applications", Value::Object(applications.collect())),
        // From here on beyond Unit.
        ("listeners", listeners(status)),
    ];
    let config = config(&status.daemon);
    if !config.is_empty() {
        members.push(("config", object(config)));
    }
    if !status.upstreams.is_empty() {
        let upstreams =
            status.upstreams.iter().map(|group| (Bytes::from(group.name.as_str()), upstream(group)));
        members.push(("upstreams", Value::Object(upstreams.collect())));
    }
    if !status.limits.is_empty() {
        let limits = status.limits.iter().map(|one| (Bytes::from(one.place.as_str()), limit(one)));
        members.push(("limits", Value::Object(limits.collect())));
    }
    if !status.mirrors.is_empty() {
        let mirrors = status.mirrors.iter().map(|one| (Bytes::from(one.place.as_str()), mirror(one)));
        members.push(("mirrors", Value::Object(mirrors.collect())));
    }
    if !certificates.is_empty() {
        let names = certificates.iter().map(|one| (Bytes::from(one.name.as_str()), certificate(one)));
        members.push(("certificates", Value::Object(names.collect())));
    }
    members.push(("daemon", daemon(&status.daemon)));
    object(members)
}

fn config(status: &DaemonStatus) -> Vec<(&'static str, Value)> {
    let mut members = Vec::new();
    if let Some(files) = &status.config_files {
        members.push(("files", Value::from(files.as_str())));
        members.push(("changes", Value::from(status.config_changes)));
    }
    members.extend(status.config_error.as_ref().map(|reason| ("last_error", Value::from(reason.as_str()))));
    members
}

fn daemon(status: &DaemonStatus) -> Value {
    let mut members = vec![
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("pid", Value::from(u64::from(status.pid))),
        ("uptime", Value::from(status.uptime.as_secs())),
    ];
    members.extend(status.log.as_ref().map(|log| ("log", Value::from(log.as_str()))));
    if let Some(reason) = &status.upgrade_error {
        members.push(("last_error", Value::from(reason.as_str())));
    }
    object(members)
}

fn upstream(group: &UpstreamStatus) -> Value {
    let servers = group.servers.iter().map(|server| {
        let state = match server.state {
            ServerState::Up => "up",
            ServerState::Avoided => "avoided",
            ServerState::Down => "down",
        };
        let requests = object([
            ("active", Value::from(server.active)),
            ("total", Value::from(server.requests)),
            ("failed", Value::from(server.failures)),
        ]);
        let value = object([("state", Value::from(state)), ("requests", requests)]);
        (Bytes::from(server.address.as_str()), value)
    });
    let waiting = group.waiting.map(|waiting| ("waiting", Value::from(waiting)));
    object([("servers", Value::Object(servers.collect()))].into_iter().chain(waiting))
}

fn certificate(name: &NameStatus) -> Value {
    let text = |text: &str| Value::from(text);
    let time = |time| Value::from(NameStatus::time(time).as_str());
    let state = ("state", text(name.state.word()));
    let others = [
        ("expires", name.expires.map(time)),
        ("issuer", name.issuer.as_deref().map(text)),
        ("renews_at", name.renews_at.map(time)),
        ("next_try", name.next_try.map(time)),
        ("last_error", name.last_error.as_deref().map(text)),
        ("challenge", name.challenge.map(text)),
    ];
    let others = others.into_iter().filter_map(|(member, value)| Some((member, value?)));
    object([state].into_iter().chain(others).collect::<Vec<_>>())
}

/// In a dry run, what would have been refused or delayed stands apart.
fn limit(limit: &LimitStatus) -> Value {
    let (delayed, refused) = (Value::from(limit.delayed), Value::from(limit.refused));
    let outcome = if limit.dry_run {
        vec![("would_delay", delayed), ("would_refuse", refused)]
    } else {
        vec![("delayed", delayed), ("refused", refused)]
    };
    let counted = [("passed", Value::from(limit.passed))].into_iter().chain(outcome);
    object(counted.chain([("keys", Value::from(limit.keys))]).collect::<Vec<_>>())
}

fn mirror(mirror: &MirrorStatus) -> Value {
    object([
        ("answered", Value::from(mirror.answered)),
        ("failed", Value::from(mirror.failed)),
        ("dropped", Value::from(mirror.dropped)),
    ])
}

/// All of them; those that do not work with the reason.
fn listeners(status: &Status) -> Value {
    let listener = |address: &String| {
        let failed = status.failed_listeners.iter().find(|failed| failed.address == *address);
        let value = match failed {
            None => object([("state", Value::from("up"))]),
            Some(failed) => {
                object([("state", Value::from("down")), ("last_error", Value::from(failed.reason.as_str()))])
            }
        };
        (Bytes::from(address.as_str()), value)
    };
    Value::Object(status.daemon.listeners.iter().map(listener).collect())
}

fn application(app: &AppStatus) -> Value {
    let processes = object([
        ("running", Value::from(u64::from(app.running))),
        ("starting", Value::from(u64::from(app.starting))),
        ("idle", Value::from(u64::from(app.idle))),
    ]);
    let mut requests = vec![("active", Value::from(u64::from(app.active_requests)))];
    if app.waiting.waiting > 0 {
        requests.push(("waiting", Value::from(u64::from(app.waiting.waiting))));
    }
    if app.n_requests() > 0 {
        let millis = app.durations.micros / 1000;
        requests.push(("total", Value::from(app.n_requests())));
        requests.push(("failed", Value::from(app.n_failed())));
        requests.push(("duration_ms", Value::from(millis)));
    }
    if app.left_state.requests > 0 {
        requests.push(("left_state", left_state(&app.left_state)));
    }
    let mut members = vec![("processes", processes), ("requests", object(requests))];
    if app.memory > 0 {
        members.push(("memory", Value::from(app.memory)));
    }
    if let Some(error) = &app.last_error {
        members.push(("last_error", Value::from(error.as_str())));
    }
    if let Some(last) = &app.last_crash {
        let crashes = object([("total", Value::from(app.crashes)), ("last", Value::from(last.as_str()))]);
        members.push(("crashes", crashes));
    }
    if let Some(warning) = &app.warning {
        members.push(("warning", Value::from(warning.as_str())));
    }
    members.extend(app.schedule.as_ref().map(|runs| ("schedule", schedule(runs))));
    members.extend(app.queue.as_ref().map(|length| ("queue", queue(length))));
    object(members)
}

fn queue(queue: &QueueStatus) -> Value {
    let mut members = vec![("wanted", Value::from(u64::from(queue.wanted)))];
    members.extend(queue.length.map(|length| ("length", Value::from(length))));
    members.extend(queue.last_error.as_deref().map(|error| ("last_error", Value::from(error))));
    object(members)
}

fn schedule(runs: &ScheduleStatus) -> Value {
    let mut members = Vec::new();
    members.extend(runs.next.as_deref().map(|next| ("next", Value::from(next))));
    members.extend(runs.last.as_ref().map(|last| ("last", run(last))));
    let counts = [("total", Value::from(runs.runs)), ("failed", Value::from(runs.failed))];
    members.push(("runs", object(counts)));
    members.push(("skipped", Value::from(runs.skipped)));
    members.push(("waiting", Value::from(u64::from(runs.waiting))));
    object(members)
}

fn run(run: &RunStatus) -> Value {
    let millis = u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX);
    let mut members = vec![("began", Value::from(run.began.as_str())), ("duration_ms", Value::from(millis))];
    members.extend(run.exit.map(|exit| match exit {
        Exit::Code(code) => ("exit_code", Value::from(u64::from(code.unsigned_abs()))),
        Exit::Signal(number) => ("signal", Value::from(u64::from(number.unsigned_abs()))),
    }));
    if run.timed_out {
        members.push(("timed_out", Value::Bool(true)));
    }
    members.extend(run.error.as_deref().map(|error| ("error", Value::from(error))));
    members
        .push(("output", Value::Array(run.output.iter().map(|line| Value::from(line.as_str())).collect())));
    object(members)
}

/// All requests, and those of each kind that there were any of.
fn left_state(left: &LeftState) -> Value {
    let kinds = STATE_KINDS.into_iter().zip(left.kinds).filter(|(_, count)| *count > 0);
    let kinds = object(kinds.map(|(name, count)| (name, Value::from(count))));
    object([("total", Value::from(left.requests)), ("kinds", kinds)])
}

/// One object for a language with one version, an array, newest first, for several.
fn modules_by_language(modules: &[Module]) -> Value {
    let mut languages = Object::new();
    let mut newest_first: Vec<_> = modules.iter().collect();
    newest_first.sort_by_key(|module| std::cmp::Reverse(version_parts(&module.version)));
    for module in newest_first {
        let described = object([
            ("version", Value::from(module.version.as_str())),
            ("lib", Value::from(&*module.path.to_string_lossy())),
        ]);
        match languages.get_mut(module.language.as_bytes()) {
            None => {
                languages.insert(Bytes::from(module.language.as_str()), described);
            }
            Some(Value::Array(several)) => several.push(described),
            Some(single) => *single = Value::Array(vec![single.clone(), described]),
        }
    }
    Value::Object(languages)
}

fn version_parts(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}
