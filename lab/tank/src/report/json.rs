//! The summary as JSON. Times are in microseconds, but for histograms, which are in nanoseconds.

use serde_json::{Map, Value, json as value};

use super::{PERCENTILES, Results};
use crate::failure::Failure;
use crate::histogram::Times;
use crate::run::{SecondCounts, Stop};

pub(crate) fn json(results: &Results<'_>) -> Value {
    let (summary, total) = (results.summary, &results.summary.total);
    let failures = Failure::ALL.into_iter().map(|kind| (kind.key(), Value::from(total.failures(kind))));
    let statuses = total.statuses().iter().map(|(status, n)| (status.to_string(), Value::from(*n)));
    value!({
        "version": env!("CARGO_PKG_VERSION"),
        "requests": results.setup.what,
        "load": results.setup.how,
        "seconds": results.time().as_secs_f64(),
        "elapsed_seconds": summary.elapsed.as_secs_f64(),
        "planned": results.planned(),
        "sent": total.sent,
        "waited_for_connection": total.waited,
        "answered": total.answered,
        "good": total.good(),
        "failed": total.failed(),
        "abandoned": summary.abandoned,
        "failures": failures.collect::<Map<_, _>>(),
        "statuses": statuses.collect::<Map<_, _>>(),
        "per_second": {
            "planned": results.planned().map(|planned| results.per_second(planned)),
            "sent": results.per_second(total.sent_in_time),
            "answered": results.per_second(total.answered_in_time),
        },
        "schedule_error": results.schedule_error(),
        "response_time": times(&total.response),
        "service_time": times(&total.service),
        "generator": {
            "cpu_seconds": summary.cpu.as_secs_f64(),
            "cpu_us_per_request": results.cpu_per_request().as_secs_f64() * 1e6,
            "busiest_thread": summary.busiest,
            "lag": times(&total.lag),
            "limit": results.limit(),
        },
        "bytes_in": total.bytes_in,
        "bytes_out": total.bytes_out,
        "connections": total.opened,
        "stopped_by": summary.stop.as_ref().map(|stop| match stop {
            Stop::Rule(rule) => rule,
            Stop::Interrupt => "interrupt",
        }),
        "each_second": summary.seconds.iter().map(second).collect::<Vec<_>>(),
    })
}

fn times(times: &Times) -> Value {
    let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let percentiles = PERCENTILES.iter().map(|percent| {
        let time = micros(times.percentile(*percent));
        (percent.to_string(), Value::from(time))
    });
    value!({
        "count": times.count(),
        "mean": micros(times.mean()),
        "min": micros(times.min()),
        "max": micros(times.max()),
        "percentiles": percentiles.collect::<Map<_, _>>(),
        "histogram": times.counts().collect::<Vec<_>>(),
    })
}

fn second(second: &SecondCounts) -> Value {
    value!({
        "second": second.number,
        "planned": second.planned,
        "sent": second.sent,
        "answered": second.answered,
        "failed": second.failed,
    })
}
