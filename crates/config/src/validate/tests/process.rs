//! Applications of `type: "process"`: what they become, and what is wrong with them.

use std::time::Duration;

use super::{check_problems, config};
use crate::plan::{AppSpec, Overlap, ProcessSpec, RestartMode, RuntimeSpec};

/// The application and its command; the document has a site, too.
#[track_caller]
fn process(members: &str) -> (AppSpec, ProcessSpec) {
    let mut config = config(&document(members));
    assert_eq!((config.applications.len(), config.background.len()), (1, 1));
    let spec = config.background.remove(0);
    let RuntimeSpec::Process(process) = spec.runtime.clone() else { panic!("{spec:?}") };
    (spec, process)
}

fn document(members: &str) -> String {
    format!(
        r#"{{"applications": {{"a": {{"type": "process", {members}}}, "site": {{"type": "php", "root": "/www"}}}},
             "routes": [{{"action": {{"pass": "applications/site"}}}}]}}"#
    )
}

#[track_caller]
fn check(members: &str, pointer: &str, detail: &str) {
    let pointer = format!("/applications/a{pointer}");
    check_problems(&document(members), &[(&pointer, detail)]);
}

#[track_caller]
fn check_words(command: &str, expected: &[&str]) {
    let (_, process) = process(&format!(r#""command": {command}"#));
    let executable = process.command.executable.to_str().unwrap().to_owned();
    let words: Vec<_> = std::iter::once(executable).chain(process.command.arguments).collect();
    assert_eq!(words, expected);
}

/// Options: applications.process.command
#[test]
fn a_command_is_split_as_by_a_shell() {
    check_words(r#""php artisan queue:work --tries=3""#, &["php", "artisan", "queue:work", "--tries=3"]);
    check_words(
        r#""sh -c 'sleep 1; echo \"$HOME\"' \"a b\" c\\ d""#,
        &["sh", "-c", "sleep 1; echo \"$HOME\"", "a b", "c d"],
    );
    check_words(r#"["/bin/echo", "a b", "|"]"#, &["/bin/echo", "a b", "|"]);
    check(
        r#""command": "a 'b""#,
        "/command",
        "The \"command\" string has a quotation mark or a backslash too many.",
    );
    check(r#""command": """#, "/command", "The \"command\" must begin with a program.");
    check(r#""command": []"#, "/command", "The \"command\" must begin with a program.");
    check(
        r#""command": "a | b""#,
        "/command",
        "The \"command\" has \"|\", which only a shell understands, and none runs it.",
    );
}

/// Options: applications.process.executable, applications.process.arguments
#[test]
fn an_executable_takes_the_place_of_a_command() {
    let (_, process) = process(r#""executable": "celery", "arguments": ["-A", "shop", "worker"]"#);
    assert_eq!(process.command.executable.to_str(), Some("celery"));
    assert_eq!(process.command.arguments, ["-A", "shop", "worker"]);
    let exclusive = "The \"executable\" option is mutually exclusive with \"command\".";
    check(r#""command": "a", "executable": "b""#, "/executable", exclusive);
    check(r#""arguments": ["b"]"#, "", "Required parameter \"command\" is missing.");
}

#[test]
fn what_runs_all_the_time_ends_before_others_take_its_place() {
    let (spec, process) = process(r#""command": "a", "processes": 3"#);
    assert_eq!((spec.processes.max.get(), spec.processes.spare), (3, 3));
    assert_eq!(
        (spec.restart.mode, spec.restart.drain_timeout),
        (RestartMode::Switch, Some(Duration::from_secs(10)))
    );
    assert_eq!((process.stop_signal, process.with, process.schedule), (15, None, None));
    let (spec, _) = self::process(r#""command": "a", "restart": {"drain_timeout": 0}"#);
    assert_eq!(spec.restart.drain_timeout, None);
}

/// Options: applications.process.stop_signal
#[test]
fn signals_have_names() {
    assert_eq!(process(r#""command": "a", "stop_signal": "SIGQUIT""#).1.stop_signal, 3);
    assert_eq!(process(r#""command": "a", "stop_signal": "USR1""#).1.stop_signal, 10);
    let detail = "The \"stop_signal\" must be one of \"TERM\", \"INT\", \"QUIT\", \"HUP\", \"USR1\", \"USR2\", \
        \"WINCH\", \"KILL\".";
    check(r#""command": "a", "stop_signal": "STOP""#, "/stop_signal", detail);
}

/// Options: applications.process.with
#[test]
fn the_site_must_exist() {
    assert_eq!(process(r#""command": "a", "with": "site""#).1.with.as_deref(), Some("site"));
    let detail = |name: &str| format!("\"{name}\" is not an application that serves requests.");
    check(r#""command": "a", "with": "shop""#, "/with", &detail("shop"));
    check(r#""command": "a", "with": "a""#, "/with", &detail("a"));
}

/// Options: applications.process.schedule
#[test]
fn a_schedule_is_a_text_or_an_object() {
    let (spec, process) = process(r#""command": "a", "schedule": "*/5 * * * *""#);
    assert_eq!((spec.processes.max.get(), spec.processes.spare), (1, 0));
    assert_eq!(spec.restart.mode, RestartMode::Rolling);
    let schedule = process.schedule.unwrap();
    assert_eq!(
        (schedule.cron.as_str(), schedule.time_zone, schedule.overlap),
        ("*/5 * * * *", None, Overlap::Skip)
    );
    let (spec, process) = self::process(
        r#""command": "a", "schedule": {"cron": "@daily", "time_zone": "Europe/Berlin", "jitter": 60,
           "overlap": "allow", "timeout": 300}"#,
    );
    assert_eq!((spec.processes.max.get(), spec.processes.spare), (32, 0));
    let schedule = process.schedule.unwrap();
    assert_eq!((schedule.time_zone.as_deref(), schedule.overlap), (Some("Europe/Berlin"), Overlap::Allow));
    assert_eq!((schedule.jitter.as_secs(), schedule.timeout), (60, Some(Duration::from_secs(300))));
}

#[test]
fn mistakes_of_a_schedule_are_named() {
    check(
        r#""command": "a", "schedule": "0 0 30 2 *""#,
        "/schedule",
        "The \"schedule\" value is not a schedule: there is no such day.",
    );
    check(
        r#""command": "a", "schedule": {"cron": "@every 0s"}"#,
        "/schedule/cron",
        "The \"cron\" value is not a schedule: \"@every\" takes a duration from 1s to 366d.",
    );
    check(
        r#""command": "a", "schedule": {"cron": "@daily", "time_zone": "Europe/Nowhere"}"#,
        "/schedule/time_zone",
        "There is no time zone \"Europe/Nowhere\".",
    );
    check(
        r#""command": "a", "schedule": {"cron": "@daily", "overlap": "wait"}"#,
        "/schedule/overlap",
        "The \"overlap\" must be \"skip\", \"queue\" or \"allow\".",
    );
    let detail = "A command with a \"schedule\" has no number of \"processes\": \"overlap\" says whether it runs \
        beside itself.";
    check(r#""command": "a", "schedule": "@daily", "processes": 2"#, "/processes", detail);
}

/// Options: applications.process.processes.queue
#[test]
fn a_queue_is_a_text_an_array_or_an_object() {
    let queue = |queue: &str| {
        let members = format!(r#""command": "a", "processes": {{"max": 8, "spare": 1, "queue": {queue}}}"#);
        let (spec, process) = process(&members);
        assert_eq!(
            (spec.processes.max.get(), spec.processes.spare, spec.restart.mode),
            (8, 1, RestartMode::Switch)
        );
        let queue = process.queue.expect("there is one");
        let words = std::iter::once(queue.command.executable.to_str().unwrap().to_owned());
        (
            words.chain(queue.command.arguments).collect::<Vec<_>>(),
            queue.per_process.get(),
            queue.interval,
            queue.timeout,
        )
    };
    let ten = Duration::from_secs(10);
    let words = ["redis-cli", "llen", "jobs"].map(str::to_owned).to_vec();
    assert_eq!(queue(r#""redis-cli llen jobs""#), (words.clone(), 10, ten, ten));
    assert_eq!(queue(r#"["redis-cli", "llen", "jobs"]"#), (words.clone(), 10, ten, ten));
    let object = r#"{"command": "redis-cli llen jobs", "per_process": 3, "interval": 1, "timeout": 2}"#;
    assert_eq!(queue(object), (words, 3, Duration::from_secs(1), Duration::from_secs(2)));
}

#[test]
fn mistakes_of_a_queue_are_named() {
    let check = |queue: &str, pointer: &str, detail: &str| {
        let members = format!(r#""command": "a", "processes": {{"max": 8, "queue": {queue}}}"#);
        check(&members, &format!("/processes/queue{pointer}"), detail);
    };
    check("{}", "", "Required parameter \"command\" is missing.");
    check(r#""a > b""#, "", "The \"queue\" has \">\", which only a shell understands, and none runs it.");
    let least = |name: &str| format!("The \"{name}\" number must be equal to or greater than 1.");
    for name in ["per_process", "interval", "timeout"] {
        check(&format!(r#"{{"command": "a", "{name}": 0}}"#), &format!("/{name}"), &least(name));
    }
    for name in ["interval", "timeout"] {
        let detail = format!("The \"{name}\" number must not exceed 3600.");
        check(&format!(r#"{{"command": "a", "{name}": 3601}}"#), &format!("/{name}"), &detail);
    }
    let detail = "The \"per_process\" number must not exceed 1000000000: no process would ever be started.";
    check(r#"{"command": "a", "per_process": 1000000001}"#, "/per_process", detail);
    let detail = "The \"queue\" option is for applications of type \"process\".";
    let document = r#"{"applications": {"a": {"type": "php", "root": "/www", "processes": {"queue": "a"}}}}"#;
    check_problems(document, &[("/applications/a/processes/queue", detail)]);
}

#[test]
fn requests_are_for_others() {
    let detail = "The \"limits\" are for applications that get requests.";
    check(r#""command": "a", "limits": {"timeout": 3}"#, "/limits", detail);
    let detail = "The \"processes\" of a command are a number, or an object with a \"queue\".";
    check(r#""command": "a", "processes": {"max": 8}"#, "/processes", detail);
    check(r#""command": "a", "processes": "auto""#, "/processes", detail);
    let detail = "The \"abandoned\" option is for applications that get requests.";
    check(r#""command": "a", "abandoned": "run""#, "/abandoned", detail);
    let passed = r#"{"applications": {"site": {"type": "php", "root": "/www"}, "a": {"type": "process", "command": "a"}},
                     "listeners": {"*:80": {"pass": "applications/a"}}}"#;
    let detail = "Request \"pass\" points to \"applications/a\", which no listener reaches.";
    check_problems(passed, &[("/listeners/*:80/pass", detail)]);
}

#[test]
fn applications_keep_their_places_beside_commands() {
    let config = config(&document(r#""command": "a""#));
    let site = config.resolve(b"applications/site");
    assert_eq!(
        site,
        Some(crate::route::Destination::Application { app: crate::table::Key::nth(0), target: 0 })
    );
    assert_eq!(config.resolve(b"applications/a"), None);
    assert_eq!(
        config.plan().all_applications().map(|spec| spec.name.as_str()).collect::<Vec<_>>(),
        ["site", "a"]
    );
}
