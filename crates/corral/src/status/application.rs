//! The lines about one application.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::{members, number};

/// The application's processes and requests, and further lines where there is more to say.
pub(super) fn render(text: &mut String, name: &str, app: &Value) -> fmt::Result {
    let processes = &app["processes"];
    writeln!(
        text,
        "application   {name}: {} running, {} starting, {} idle; {} active",
        counted(number(&processes["running"]), "process", "processes"),
        number(&processes["starting"]),
        number(&processes["idle"]),
        counted(number(&app["requests"]["active"]), "request", "requests")
    )?;
    remarks(app).iter().try_for_each(|line| writeln!(text, "              {line}"))
}

/// Further lines where there is more to say: totals, runs, the queue, and what is wrong.
pub(crate) fn remarks(app: &Value) -> Vec<String> {
    let errors = app["last_error"].as_str().map(|error| format!("last error: {error}"));
    let warning = app["warning"].as_str().map(|warning| format!("warning: {warning}"));
    let lines = [
        totals(app),
        schedule(&app["schedule"]),
        queue(&app["queue"]),
        left_state(&app["requests"]["left_state"]),
        errors,
        crashes(&app["crashes"]),
        warning,
    ];
    lines.into_iter().flatten().collect()
}

/// A number with its noun, which agrees with it.
fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

/// The requests so far, and the memory.
fn totals(app: &Value) -> Option<String> {
    let memory = app["memory"].as_u64().map(|bytes| format!("{:.1} MiB of memory", bytes as f64 / MEBIBYTE));
    let Some(total) = app["requests"]["total"].as_u64().filter(|total| *total > 0) else { return memory };
    let failed = number(&app["requests"]["failed"]);
    let average = number(&app["requests"]["duration_ms"]) as f64 / total as f64;
    let requests = counted(total, "request", "requests");
    let requests = format!("{requests}, {failed} failed, {average:.1} ms on average");
    Some(requests + &memory.map(|memory| format!("; {memory}")).unwrap_or_default())
}

const MEBIBYTE: f64 = 1_048_576.0;

fn crashes(crashes: &Value) -> Option<String> {
    let last = crashes["last"].as_str()?;
    Some(format!("{} crashed; the last one: {last}", number(&crashes["total"])))
}

/// The runs of a command that has a schedule.
fn schedule(runs: &Value) -> Option<String> {
    let mut text = match runs["next"].as_str() {
        Some(next) => format!("next run {next}"),
        None => match runs["skipped"].as_u64()? {
            1 => "1 run was left out".to_owned(),
            n => format!("{n} runs were left out"),
        },
    };
    let failed = number(&runs["runs"]["failed"]);
    if failed > 0 {
        let has = if failed == 1 { "has" } else { "have" };
        text.push_str(&format!(
            "; {failed} of {} {has} failed",
            counted(number(&runs["runs"]["total"]), "run", "runs")
        ));
    }
    let last = &runs["last"];
    if let Some(began) = last["began"].as_str() {
        let seconds = number(&last["duration_ms"]) as f64 / 1000.0;
        let how = match (last["exit_code"].as_u64(), last["signal"].as_u64(), last["error"].as_str()) {
            (Some(code), ..) => format!("exited with code {code}"),
            (_, Some(signal), _) => format!("exited on signal {signal}"),
            (.., error) => error.unwrap_or_default().to_owned(),
        };
        text.push_str(&format!("; the last began {began}, took {seconds:.1} s and {how}"));
    }
    Some(text)
}

/// The queue that decides how many processes there are.
fn queue(queue: &Value) -> Option<String> {
    let wanted = queue["wanted"].as_u64()?;
    let length = queue["length"].as_u64().map_or("unknown".to_owned(), |length| length.to_string());
    let mut text = format!("queue length {length}, {} wanted", counted(wanted, "process", "processes"));
    if let Some(error) = queue["last_error"].as_str() {
        text.push_str(&format!("; last error: {error}"));
    }
    Some(text)
}

/// How many requests have left what behind, if any have.
fn left_state(left: &Value) -> Option<String> {
    let total = left["total"].as_u64()?;
    let kinds: Vec<_> = members(&left["kinds"]).map(|(name, count)| format!("{name} {count}")).collect();
    let requests = counted(total, "request has", "requests have");
    Some(format!("{requests} left state behind: {}", kinds.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(app: &Value, expected: &str) {
        let mut text = String::new();
        render(&mut text, "a", app).unwrap();
        assert_eq!(text, expected);
    }

    #[test]
    fn words_agree_with_numbers() {
        check(&json!({}), "application   a: 0 processes running, 0 starting, 0 idle; 0 requests active\n");
        let one = json!({
            "processes": {"running": 1, "starting": 0, "idle": 1},
            "requests": {"active": 1, "total": 1, "failed": 0, "duration_ms": 3,
                         "left_state": {"total": 1, "kinds": {"umask": 1}}},
            "schedule": {"skipped": 1, "runs": {"total": 1, "failed": 1}},
            "queue": {"wanted": 1}
        });
        let expected = "\
application   a: 1 process running, 0 starting, 1 idle; 1 request active
              1 request, 0 failed, 3.0 ms on average
              1 run was left out; 1 of 1 run has failed
              queue length unknown, 1 process wanted
              1 request has left state behind: umask 1
";
        check(&one, expected);
    }

    #[test]
    fn memory_is_told_of_applications_without_requests_too() {
        let app = json!({ "memory": 1_572_864 });
        let expected = "application   a: 0 processes running, 0 starting, 0 idle; 0 requests active\n              \
            1.5 MiB of memory\n";
        check(&app, expected);
    }
}
