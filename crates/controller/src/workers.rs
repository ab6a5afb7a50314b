//! `/control/applications/NAME/workers`: the workers of an application one by one, and the end of one.

use std::sync::Arc;

use corral_config::json::{Bytes, Object, Value};
use corral_config::process_groups;
use corral_ipc::message::{Backtrace, RunningRequest, WorkerEnding, WorkerStatus};
use hyper::StatusCode;

use crate::main_link::MainError;
use crate::reply::{ApiReply, object, seconds};
use crate::state::Controller;

/// `GET /control/applications/NAME/workers`
pub(crate) async fn list(controller: &Controller, path: &[Bytes]) -> ApiReply {
    let Some(name) = controller.application_name(path) else { return ApiReply::missing() };
    match workers_of(controller, &name).await {
        Some(workers) => ApiReply::value(Arc::unwrap_or_clone(workers)),
        None => failed("Failed to get workers."),
    }
}

/// The workers of an application by the numbers of their processes; none where there is no such application, or nothing
/// is known. Those that ask at a time share the answer.
pub(crate) async fn workers_of(controller: &Controller, name: &str) -> Option<Arc<Value>> {
    controller.workers().get(name, ask(controller, name)).await
}

async fn ask(controller: &Controller, name: &str) -> Option<Value> {
    let mut members = Object::new();
    for group in groups(controller, name)? {
        let workers = controller.main().workers(group).await.ok()??;
        members.extend(workers.iter().map(member));
    }
    Some(Value::Object(members))
}

/// `POST /control/applications/NAME/workers/PID/drain` and `…/end`
pub(crate) async fn end(controller: &Controller, path: &[Bytes]) -> ApiReply {
    let ending = match path.last().map(|last| &**last) {
        Some(b"drain") => WorkerEnding::Drain,
        Some(b"end") => WorkerEnding::Now,
        _ => return ApiReply::missing(),
    };
    // The name, a fixed segment, and the number.
    let pid = path.get(2).and_then(|pid| pid.to_str()?.parse().ok()).filter(|pid| *pid > 0);
    let name = path.first().and_then(Bytes::to_str);
    let groups = name.and_then(|name| groups(controller, name));
    let (Some(groups), Some(pid)) = (groups, pid) else { return ApiReply::missing() };
    for group in groups {
        match controller.main().end_worker(group, pid, ending).await {
            Ok(true) => return ApiReply::success("Ok"),
            Ok(false) => {}
            Err(MainError::Refused(_) | MainError::Revoked | MainError::Link(_)) => {
                return failed("Failed to end worker.");
            }
        }
    }
    ApiReply::missing()
}

/// The names that main has for the processes of an application: those of PHP may be in several groups.
fn groups(controller: &Controller, name: &str) -> Option<Vec<String>> {
    let in_force = controller.in_force();
    Some(process_groups(name, in_force.document.member("applications")?.member(name)?))
}

fn failed(error: &str) -> ApiReply {
    ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, error)
}

/// One worker, by the number of its process.
fn member(worker: &WorkerStatus) -> (Bytes, Value) {
    let mut members = vec![("state", Value::from(worker.state.word()))];
    let usage = &worker.usage;
    members.extend(usage.started.map(|started| ("started", Value::from(started.as_secs()))));
    members.extend(worker.requests.map(|requests| ("requests", Value::from(requests))));
    let memory = [("rss", usage.resident), ("pss", usage.proportional)];
    let memory: Vec<_> =
        memory.into_iter().filter_map(|(name, bytes)| Some((name, Value::from(bytes?)))).collect();
    if !memory.is_empty() {
        members.push(("memory", object(memory)));
    }
    members.extend(usage.cpu.map(|cpu| ("cpu", seconds(cpu))));
    if worker.requests.is_some() {
        members.push(("in_progress", Value::from(u64::from(worker.in_progress))));
    }
    members.extend(worker.request.as_ref().map(|running| ("request", request(running))));
    (Bytes::from(worker.pid.to_string().as_str()), object(members))
}

fn request(running: &RunningRequest) -> Value {
    let RunningRequest { method, path, script, time, backtrace: found } = running;
    let script = Some(script.as_str()).filter(|script| !script.is_empty());
    let members = [("method", Value::from(method.as_str())), ("path", Value::from(path.as_str()))];
    let script = script.map(|script| ("script", Value::from(script)));
    let found = found.as_ref().map(|found| ("backtrace", backtrace(found)));
    object(members.into_iter().chain(script).chain([("seconds", seconds(*time))]).chain(found))
}

/// The calls, the innermost first, and for how long the request had run then.
fn backtrace(found: &Backtrace) -> Value {
    let calls = found.text.split(" < ").map(Value::from).collect();
    object([("calls", Value::Array(calls)), ("seconds", seconds(found.time))])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corral_ipc::message::{WorkerId, WorkerState, WorkerUsage};

    use super::*;

    #[track_caller]
    fn check(worker: &WorkerStatus, name: &str, expect: &str) {
        let (found, value) = member(worker);
        assert_eq!((found.to_str(), &*String::from_utf8_lossy(&value.compact())), (Some(name), expect));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut worker = WorkerStatus::new(WorkerId(1), WorkerState::Starting);
        worker.pid = 1234;
        check(&worker, "1234", r#"{"state":"starting"}"#);
        worker.usage.resident = Some(4096);
        (worker.state, worker.requests) = (WorkerState::Idle, Some(0));
        check(&worker, "1234", r#"{"state":"idle","requests":0,"memory":{"rss":4096},"in_progress":0}"#);
    }

    #[test]
    fn all_is_told() {
        let request = RunningRequest {
            method: "GET".to_owned(),
            path: "/users/:n".to_owned(),
            script: "/srv/\u{1b}a.php".to_owned(),
            time: Duration::from_millis(61_004),
            backtrace: None,
        };
        let usage = WorkerUsage {
            started: Some(Duration::from_millis(1_764_205_000_900)),
            resident: Some(2),
            proportional: Some(1),
            cpu: Some(Duration::from_millis(500)),
        };
        let worker = WorkerStatus {
            pid: 7,
            requests: Some(12),
            in_progress: 1,
            request: Some(request),
            usage,
            ..WorkerStatus::new(WorkerId(1), WorkerState::Busy)
        };
        let expect = concat!(
            r#"{"state":"busy","started":1764205000,"requests":12,"memory":{"rss":2,"pss":1},"cpu":0.500,"#,
            r#""in_progress":1,"request":{"method":"GET","path":"/users/:n","script":"/srv/\u001ba.php","#,
            r#""seconds":61.004}}"#
        );
        check(&worker, "7", expect);
    }

    #[test]
    fn a_backtrace_has_its_calls_one_by_one() {
        let request = RunningRequest {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            script: String::new(),
            time: Duration::from_millis(2_500),
            backtrace: Some(Backtrace {
                text: "A\\B::f() /srv/\u{1b}a.php:3 < /srv/a.php:9 < ...".to_owned(),
                time: Duration::from_millis(1_003),
            }),
        };
        let expect = concat!(
            r#"{"method":"GET","path":"/","seconds":2.500,"backtrace":{"calls":["A\\B::f() /srv/\u001ba.php:3","#,
            r#""/srv/a.php:9","..."],"seconds":1.003}}"#
        );
        assert_eq!(String::from_utf8_lossy(&super::request(&request).compact()), expect);
    }
}
