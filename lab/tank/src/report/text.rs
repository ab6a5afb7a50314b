//! The summary for a person, and the line that shows each second.

use std::fmt::Write;
use std::time::Duration;

use super::units::{share, size, time};
use super::{PERCENTILES, Results};
use crate::engine::Plan;
use crate::failure::Failure;
use crate::histogram::Times;
use crate::run::{Second, Stop};

/// The summary, which ends with a line break.
pub(crate) fn text(results: &Results<'_>) -> String {
    let mut text = format!("{}\n{}\n\n", results.setup.what, results.setup.how);
    text += &counts(results);
    text += &times(results);
    text += &costs(results);
    text += &remarks(results);
    text
}

/// One line of `name  number  remark`.
fn line(text: &mut String, name: &str, number: impl std::fmt::Display, remark: &str) {
    let line = format!("  {name:<18} {number:>10}   {remark}");
    text.push_str(line.trim_end());
    text.push('\n');
}

fn counts(results: &Results<'_>) -> String {
    let total = &results.summary.total;
    let mut text = String::new();
    let rate = |n: u64| format!("{:.1}/s", results.per_second(n));
    let in_time = format!("in {:.2} s", results.time().as_secs_f64());
    if let Some(planned) = results.planned() {
        line(&mut text, "planned", planned, &format!("{in_time}, {}", rate(planned)));
        let error = results.schedule_error().unwrap_or(0.0) * 100.0;
        line(&mut text, "sent", total.sent, &format!("{}, {error:+.2} %", rate(total.sent_in_time)));
    } else {
        line(&mut text, "sent", total.sent, &format!("{in_time}, {}", rate(total.sent_in_time)));
    }
    line(&mut text, "answered", total.answered, &rate(total.answered_in_time));
    line(&mut text, "good", total.good(), &share(total.good(), total.ended()));
    line(&mut text, "failed", total.failed(), &share(total.failed(), total.ended()));
    for kind in Failure::ALL.into_iter().filter(|kind| total.failures(*kind) > 0) {
        line(&mut text, &format!("  {}", kind.name()), total.failures(kind), "");
    }
    if results.summary.abandoned > 0 {
        line(&mut text, "abandoned", results.summary.abandoned, "had not ended when the run was stopped");
    }
    let statuses = total.statuses().iter().map(|(status, n)| format!("{status}: {n}"));
    line(&mut text, "statuses", "", &statuses.collect::<Vec<_>>().join(", "));
    text
}

/// Two columns in an open loop. In a closed loop, a request is due when it is sent.
fn times(results: &Results<'_>) -> String {
    let total = &results.summary.total;
    if total.response.count() == 0 {
        return String::new();
    }
    let is_open = matches!(results.plan, Plan::Open { .. });
    let mut text = String::from("\n");
    let mut row = |name: &str, of: &dyn Fn(&Times) -> Duration| {
        let response = time(of(&total.response));
        let service = if is_open { time(of(&total.service)) } else { String::new() };
        let row = format!("  {name:<18} {response:>10}   {service:>12}");
        text.push_str(row.trim_end());
        text.push('\n');
    };
    row("mean", &Times::mean);
    row("min", &Times::min);
    for percent in PERCENTILES {
        row(&format!("{percent} %"), &|times| times.percentile(*percent));
    }
    row("max", &Times::max);
    let heads = if is_open { ("from due", "from sending") } else { ("from sending", "") };
    let head = format!("\n  {:<18} {:>10}   {:>12}", "time", heads.0, heads.1);
    head.trim_end().to_owned() + &text
}

fn costs(results: &Results<'_>) -> String {
    let (summary, total) = (results.summary, &results.summary.total);
    let seconds = summary.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut text = String::from("\n");
    let rate = |bytes: u64| format!("{}/s", size(bytes as f64 / seconds));
    let what = if results.setup.is_http2 { "bodies" } else { "bytes" };
    line(&mut text, &format!("{what} in"), size(total.bytes_in as f64), &rate(total.bytes_in));
    line(&mut text, &format!("{what} out"), size(total.bytes_out as f64), &rate(total.bytes_out));
    line(&mut text, "connections", total.opened, "opened");
    let cpu = summary.cpu.as_secs_f64() * 100.0 / seconds;
    let busy = summary.busiest * 100.0;
    let remark = format!("a request; {cpu:.0} % of a processor, busiest thread {busy:.0} %");
    line(&mut text, "generator's CPU", time(results.cpu_per_request()), &remark);
    if total.lag.count() > 0 {
        let lags = [50.0, 99.0].map(|percent| time(total.lag.percentile(percent)));
        let remark = format!("median, with a connection free; 99 %: {}", lags[1]);
        line(&mut text, "generator's lag", &lags[0], &remark);
    }
    text
}

fn remarks(results: &Results<'_>) -> String {
    let mut text = String::new();
    for remark in results.remarks() {
        writeln!(text, "\n{remark}").expect("a string takes it");
    }
    match &results.summary.stop {
        Some(Stop::Rule(rule)) => writeln!(text, "\nStopped by the rule {rule}.").expect("a string takes it"),
        Some(Stop::Interrupt) => text.push_str("\nStopped by an interrupt.\n"),
        None => {}
    }
    text
}

/// One second, for the terminal.
pub(crate) fn progress(second: &Second) -> String {
    let tally = &second.tally;
    let planned = second.planned.map_or(String::new(), |planned| format!("{planned} planned, "));
    let times = [50.0, 99.0].map(|percent| time(tally.response.percentile(percent)));
    format!(
        "{:>5} s  {planned}{} sent, {} answered, {} failed, {} open; 50 % {}, 99 % {}",
        second.number + 1,
        tally.sent,
        tally.answered,
        tally.failed(),
        second.n_open,
        times[0],
        times[1]
    )
}
