//! Figures as the stream tells them: sums that the page makes rates of.

use std::time::Duration;

use corral_config::json::{Bytes, Number, Value};
use corral_ipc::message::{
    AppStatus, DURATION_BOUNDS, DurationFigures, ListenerFigures, PROTOCOLS, STATUS_CLASSES, Status,
};

use crate::reply::object;

/// The requests of listeners, steps and applications.
pub(super) fn traffic(status: &Status) -> Value {
    let bounds = DURATION_BOUNDS.iter().map(|micros| seconds(*micros));
    let named = |name: &str, value| (Bytes::from(name), value);
    let listeners = status.listeners.iter().map(|one| named(&one.address, listener(one)));
    let steps = status.steps.iter();
    let steps = steps.map(|one| named(&one.place, object([("requests", classes(&one.requests))])));
    let applications = status.applications.iter().map(|one| named(&one.name, application(one)));
    object([
        ("bounds", Value::Array(bounds.collect())),
        ("listeners", Value::Object(listeners.collect())),
        ("steps", Value::Object(steps.collect())),
        ("applications", Value::Object(applications.collect())),
    ])
}

fn listener(figures: &ListenerFigures) -> Value {
    let protocols =
        PROTOCOLS.iter().zip(&figures.requests).filter(|(_, counts)| counts.iter().any(|n| *n > 0));
    let requests = protocols.map(|(protocol, counts)| (*protocol, classes(counts)));
    let [durations, sum] = durations(&figures.durations);
    object([("requests", object(requests)), durations, sum, ("sent", Value::from(figures.sent))])
}

fn application(app: &AppStatus) -> Value {
    let [durations, sum] = durations(&app.durations);
    object([("requests", classes(&app.requests)), durations, sum])
}

/// The classes that there were any requests of.
fn classes(counts: &[u64; STATUS_CLASSES.len()]) -> Value {
    let counts = STATUS_CLASSES.iter().zip(counts).filter(|(_, n)| **n > 0);
    object(counts.map(|(class, n)| (*class, Value::from(*n))))
}

fn durations(figures: &DurationFigures) -> [(&'static str, Value); 2] {
    let counts = figures.counts.iter().map(|n| Value::from(*n)).collect();
    [("durations", Value::Array(counts)), ("duration_sum", seconds(figures.micros))]
}

fn seconds(micros: u64) -> Value {
    decimal(Duration::from_micros(micros).as_secs_f64())
}

/// A number with as many digits as the dialect has room for, six behind the point at most.
pub(super) fn decimal(number: f64) -> Value {
    let number = if number.is_finite() { number + 0.0 } else { 0.0 };
    (0..=6).rev().find_map(|digits| spelled(number, digits)).unwrap_or_else(|| Value::from(number as u64))
}

fn spelled(number: f64, digits: usize) -> Option<Value> {
    let text = format!("{number:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let (number, len) = Number::scan(text.as_bytes()).ok()?;
    (len == text.len()).then_some(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: f64, expected: &str) {
        assert_eq!(String::from_utf8(decimal(number).compact()).unwrap(), expected);
    }

    #[test]
    fn numbers_keep_the_digits_that_there_is_room_for() {
        check(0.0, "0");
        check(-0.0, "0");
        check(0.0005, "0.0005");
        check(10.0, "10");
        check(1_764_205_000.123, "1764205000.123");
        check(123_456_789.123_456, "123456789.1235");
        check(0.1 + 0.2, "0.3");
        check(-1.5, "-1.5");
        check(99_999_999_999_999.0, "99999999999999");
        check(123_456_789_012_345.0, "123456789012345");
        check(f64::NAN, "0");
        check(f64::INFINITY, "0");
    }

    #[test]
    fn traffic_has_what_there_was() {
        let mut listener = ListenerFigures::new("*:80".to_owned());
        listener.requests[1][2] = 5;
        listener.durations.counts[0] = 5;
        listener.durations.micros = 1_500;
        listener.sent = 123;
        let app = AppStatus { name: "a".to_owned(), requests: [0, 0, 1, 0, 0, 2], ..AppStatus::default() };
        let status = Status { listeners: vec![listener], applications: vec![app], ..Status::default() };
        let text = String::from_utf8(traffic(&status).compact()).unwrap();
        assert!(text.starts_with(r#"{"bounds":[0.0005,0.001,0.0025,0.005,"#), "{text}");
        let none = vec!["0"; 16].join(",");
        assert!(text.contains(&format!(
            r#""listeners":{{"*:80":{{"requests":{{"HTTP/1.1":{{"2xx":5}}}},"durations":[5,{none}],"duration_sum":0.0015,"sent":123}}}}"#
        )), "{text}");
        assert!(
            text.contains(r#""applications":{"a":{"requests":{"2xx":1,"5xx":2},"durations":[0,"#),
            "{text}"
        );
    }
}
