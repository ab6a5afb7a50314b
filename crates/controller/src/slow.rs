//! The slowest requests of the last minutes as JSON: the request, what answered it, and where the time went. Times are
//! seconds.

use corral_config::json::Value;
use corral_ipc::message::SlowRequest;

use crate::reply::{object, seconds};

/// All of them, the slowest first.
pub(crate) fn value(requests: &[SlowRequest]) -> Value {
    Value::Array(requests.iter().map(request).collect())
}

fn request(slow: &SlowRequest) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    object([
        ("time", seconds(slow.ended)),
        ("method", Value::from(slow.method.as_str())),
        ("path", Value::from(slow.path.as_str())),
        ("listener", Value::from(slow.listener.as_str())),
        ("application", text(&slow.application)),
        ("step", text(&slow.step)),
        ("status", slow.status.map_or(Value::Null, |status| Value::from(u64::from(status)))),
        ("duration", seconds(slow.took)),
        ("queue", seconds(slow.queue)),
        ("worker", seconds(slow.worker)),
        ("upstream", seconds(slow.upstream)),
        ("client", seconds(slow.rest())),
    ])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_request_has_all_members() {
        let slow = SlowRequest {
            ended: Duration::from_millis(1_764_205_000_100),
            method: "GET".to_owned(),
            path: "/users/:n".to_owned(),
            listener: "*:80".to_owned(),
            application: Some("blog".to_owned()),
            step: None,
            status: Some(200),
            took: Duration::from_millis(1500),
            queue: Duration::from_millis(100),
            worker: Duration::from_millis(1200),
            upstream: Duration::ZERO,
        };
        let text = String::from_utf8(value(&[slow]).compact()).unwrap();
        let expect = [
            r#"[{"time":1764205000.100,"method":"GET","path":"/users/:n","listener":"*:80","application":"blog""#,
            r#""step":null,"status":200,"duration":1.500,"queue":0.100,"worker":1.200,"upstream":0.000"#,
            r#""client":0.200}]"#,
        ];
        assert_eq!(text, expect.join(","));
    }

    #[test]
    fn what_is_not_known_is_null() {
        let text = String::from_utf8(value(&[SlowRequest::default()]).compact()).unwrap();
        assert!(text.contains(r#""application":null,"step":null,"status":null,"duration":0.000"#), "{text}");
        assert_eq!(value(&[]).compact(), b"[]");
    }
}
