//! Access logs, telemetry, the log, scripts, what clients may take.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{check_problems, config};
use crate::access_log::{AccessLog, Format};
use crate::settings::{LogFormat, LogLevel, ServerLimits, TelemetryProtocol};

#[test]
fn an_access_log_is_a_path_an_object_or_several() {
    let paths = |document: &str| -> Vec<_> { config(document).plan().access_logs };
    assert_eq!(paths(r#"{"access_log": "/a"}"#), ["/a"].map(Into::<std::path::PathBuf>::into));
    assert_eq!(paths(r#"{"access_log": {"path": "/a"}}"#), ["/a"].map(Into::<std::path::PathBuf>::into));
    assert_eq!(
        paths(r#"{"access_log": ["/a", {"path": "/b"}, "/a"]}"#),
        ["/a", "/b"].map(Into::<std::path::PathBuf>::into)
    );
    // Two lines in the one file.
    assert_eq!(config(r#"{"access_log": ["/a", {"path": "/b"}, "/a"]}"#).access_logs.len(), 3);
    assert!(paths(r#"{"access_log": []}"#).is_empty());
    assert_eq!(config(r#"{"access_log": "/a"}"#).tables.access_logs.values(), [AccessLog::new("/a".into())]);
}

#[test]
fn the_options_of_an_access_log_are_read() {
    let config = config(
        r#"{"access_log": {"path": "/a", "format": {"a": "$uri", "b": "`x`", "c": ""}, "if": "!$arg_quiet",
            "buffer": 4096, "flush": 2}}"#,
    );
    let [log] = config.tables.access_logs.values() else { panic!("one log") };
    let Format::Json(members) = &log.format else { panic!("an object") };
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(log.condition.is_some());
    let buffer = log.buffer.expect("it is given");
    assert_eq!((buffer.size.get(), buffer.flush), (4096, Duration::from_secs(2)));
}

#[track_caller]
fn check_log(log: &str, expect: &[(&str, &str)]) {
    check_problems(&format!("{{\"access_log\": {log}}}"), expect);
}

#[test]
fn an_access_log_is_checked() {
    let unknown = "Unknown variable \"nope\" in the \"format\" value.";
    check_log("{}", &[("/access_log", "Required parameter \"path\" is missing.")]);
    check_log(r#"{"path": ""}"#, &[("/access_log/path", "The \"path\" string must not be empty.")]);
    check_log(
        "1",
        &[(
            "/access_log",
            "The \"access_log\" value must be either a string or an object, but not an integer number.",
        )],
    );
    check_log(
        r#"["/a", 1]"#,
        &[("/access_log/1", "The \"access_log\" array must contain only string and object values.")],
    );
    check_log(r#"{"path": "/a", "format": "$nope"}"#, &[("/access_log/format", unknown)]);
    check_log(
        r#"{"path": "/a", "format": {"": "x", "a": 1, "b": "$nope", "c": "`wrong"}}"#,
        &[
            ("/access_log/format/", "In the access log format, the name must not be empty."),
            ("/access_log/format/a", "In the access log format, the value must be a string."),
            ("/access_log/format/b", unknown),
            ("/access_log/format/c", "\"SyntaxError: wrong\" in the \"format\" value."),
        ],
    );
    check_log(
        r#"{"path": "/a", "format": 1}"#,
        &[(
            "/access_log/format",
            "The \"format\" value must be either a string or an object, but not an integer number.",
        )],
    );
    check_log(r#"{"path": "/a", "if": 1}"#, &[("/access_log/if", "The \"if\" must be a string")]);
    check_log(r#"{"path": "/a", "if": null}"#, &[("/access_log/if", "The \"if\" must be a string")]);
    check_log(
        r#"{"path": "/a", "if": "!$"}"#,
        &[("/access_log/if", "Invalid variable at position 0 in the \"if\" value.")],
    );
    check_log(
        r#"{"path": "/a", "if": "!`wrong`"}"#,
        &[("/access_log/if", "\"SyntaxError: wrong\" in the \"if\" value.")],
    );
    check_log(
        r#"{"path": "/a", "buffer": 1}"#,
        &[("/access_log/buffer", "The \"buffer\" number must be equal to or greater than 512.")],
    );
    check_log(
        r#"{"path": "/a", "flush": 1}"#,
        &[("/access_log", "The \"flush\" option has no meaning without \"buffer\".")],
    );
}

#[test]
fn telemetry_has_defaults() {
    let telemetry = config(
        r#"{"settings": {"telemetry": {"endpoint": "http://127.0.0.1:4318/v1/traces", "protocol": "HTTP"}}}"#,
    );
    let telemetry = telemetry.settings.telemetry.expect("it is given");
    assert_eq!(telemetry.protocol, TelemetryProtocol::Http);
    assert_eq!((telemetry.batch_size, telemetry.service_name.as_str()), (128, "Corral"));
    assert!((telemetry.sampling_ratio - 1.0).abs() < f64::EPSILON);
}

#[track_caller]
fn check_telemetry(options: &str, pointer: &str, detail: &str) {
    let document = format!(
        "{{\"settings\": {{\"telemetry\": {{\"endpoint\": \"http://h:1/\", \"protocol\": \"grpc\", {options}}}}}}}"
    );
    check_problems(&document, &[(&format!("/settings/telemetry{pointer}"), detail)]);
}

#[test]
fn telemetry_is_checked() {
    let document = r#"{"settings": {"telemetry": {"protocol": "grpc"}}}"#;
    check_problems(document, &[("/settings/telemetry", "Required parameter \"endpoint\" is missing.")]);
    for protocol in ["Http", "", "udp", "http "] {
        let document = format!(
            "{{\"settings\": {{\"telemetry\": {{\"endpoint\": \"http://h\", \"protocol\": \"{protocol}\"}}}}}}"
        );
        let detail = "The \"protocol\" must be \"http\" or \"grpc\".";
        check_problems(&document, &[("/settings/telemetry/protocol", detail)]);
    }
    for endpoint in ["h:4317", "ftp://h", "http://", "http:///v1", "http://a b", "https://:1"] {
        let document = format!(
            "{{\"settings\": {{\"telemetry\": {{\"endpoint\": \"{endpoint}\", \"protocol\": \"http\"}}}}}}"
        );
        let detail = "The \"endpoint\" must be a URL that begins with \"http://\" or \"https://\".";
        check_problems(&document, &[("/settings/telemetry/endpoint", detail)]);
    }
    let (low, high) =
        ("The \"batch_size\" must be greater than 0.", "The \"batch_size\" must not exceed 65536.");
    check_telemetry("\"batch_size\": 0", "/batch_size", low);
    check_telemetry("\"batch_size\": -1", "/batch_size", low);
    check_telemetry("\"batch_size\": 65537", "/batch_size", high);
    check_telemetry("\"batch_size\": 99999999999", "/batch_size", high);
    let range = "The \"sampling_ratio\" must be between 0 and 1.";
    check_telemetry("\"sampling_ratio\": 1.01", "/sampling_ratio", range);
    check_telemetry("\"sampling_ratio\": -0.01", "/sampling_ratio", range);
    check_telemetry(
        "\"service_name\": \"\"",
        "/service_name",
        "The \"service_name\" string must not be empty.",
    );
    check_telemetry("\"batchsize\": 1", "/batchsize", "Unknown parameter \"batchsize\".");
}

/// The URL for metrics, and the seconds between two sendings.
#[track_caller]
fn check_metrics(endpoint: &str, protocol: &str, metrics: &str, expect: Option<(&str, u64)>) {
    let document = format!(
        "{{\"settings\": {{\"telemetry\": {{\"endpoint\": \"{endpoint}\", \"protocol\": \"{protocol}\"{metrics}}}}}}}"
    );
    let metrics = config(&document).settings.telemetry.expect("it is given").metrics;
    let read = metrics.as_ref().map(|metrics| (metrics.endpoint.as_str(), metrics.interval.as_secs()));
    assert_eq!(read, expect, "{document}");
}

#[test]
fn telemetry_may_have_metrics() {
    let traces = "http://h:4318/v1/traces";
    check_metrics(traces, "http", "", None);
    check_metrics(traces, "http", ", \"metrics\": {}", Some(("http://h:4318/v1/metrics", 60)));
    check_metrics(
        "https://h/v1/traces",
        "http",
        ", \"metrics\": {\"interval\": 1}",
        Some(("https://h/v1/metrics", 1)),
    );
    check_metrics(
        "http://h:4317",
        "grpc",
        ", \"metrics\": {\"interval\": 3600}",
        Some(("http://h:4317", 3600)),
    );
    let own = ", \"metrics\": {\"endpoint\": \"http://p:9090/api/v1/otlp/v1/metrics\"}";
    check_metrics("http://h/spans", "http", own, Some(("http://p:9090/api/v1/otlp/v1/metrics", 60)));
}

#[test]
fn metrics_of_telemetry_are_checked() {
    let interval = |value: &str| format!("\"metrics\": {{\"interval\": {value}}}");
    let least = "The \"interval\" number must be equal to or greater than 1.";
    check_telemetry(&interval("0"), "/metrics/interval", least);
    check_telemetry(&interval("3601"), "/metrics/interval", "The \"interval\" number must not exceed 3600.");
    check_telemetry(
        "\"metrics\": true",
        "/metrics",
        "The \"metrics\" value must be an object, but not a boolean.",
    );
    check_telemetry("\"metrics\": {\"x\": 1}", "/metrics/x", "Unknown parameter \"x\".");
    check_telemetry(
        "\"metrics\": {\"endpoint\": \"h\"}",
        "/metrics/endpoint",
        "The \"endpoint\" must be a URL that begins with \"http://\" or \"https://\".",
    );
    check_telemetry(
        "\"metrics\": {\"endpoint\": \"https://h/\"}",
        "",
        "Both values of \"endpoint\" must begin with \"http://\", or both with \"https://\".",
    );
    let document =
        r#"{"settings": {"telemetry": {"endpoint": "http://h/", "protocol": "http", "metrics": {}}}}"#;
    let detail = "The \"metrics\" object needs an \"endpoint\", because that of the spans does not end with \
                  \"/v1/traces\".";
    check_problems(document, &[("/settings/telemetry", detail)]);
}

#[test]
fn the_log_has_levels_and_formats() {
    let log = config(r#"{"settings": {"log": {"level": "debug", "format": "json"}}}"#).settings.log;
    assert_eq!((log.level, log.format), (LogLevel::Debug, LogFormat::Json));
    assert_eq!(config("{}").plan().log, Default::default());
    let level = "The \"level\" must be \"alert\", \"error\", \"warn\", \"notice\", \"info\" or \"debug\".";
    check_problems(r#"{"settings": {"log": {"level": "warning"}}}"#, &[("/settings/log/level", level)]);
    let format = "The \"format\" must be \"text\" or \"json\".";
    check_problems(r#"{"settings": {"log": {"format": "xml"}}}"#, &[("/settings/log/format", format)]);
}

#[test]
fn modules_are_named_once_and_must_exist() {
    let modules = |value: &str| config(&format!("{{\"settings\": {{\"js_module\": {value}}}}}"));
    assert_eq!(modules("\"http\"").settings.js_module, ["http"]);
    let both = modules(r#"["other", "http", "other"]"#);
    assert_eq!(both.settings.js_module, ["other", "http"]);
    assert_eq!(both.assets.scripts.len(), 2);
    let not_found = "JS module \"htp\" is not found.";
    check_problems(r#"{"settings": {"js_module": "htp"}}"#, &[("/settings/js_module", not_found)]);
    check_problems(
        r#"{"settings": {"js_module": ["htp", 1]}}"#,
        &[
            ("/settings/js_module/0", not_found),
            ("/settings/js_module/1", "The \"js_module\" array must contain only string values."),
        ],
    );
    let memory = "The \"memory\" number must be equal to or greater than 1048576.";
    check_problems(
        r#"{"settings": {"js_limits": {"memory": 1}}}"#,
        &[("/settings/js_limits/memory", memory)],
    );
    let timeout = "The \"timeout_ms\" number must not exceed 60000.";
    check_problems(
        r#"{"settings": {"js_limits": {"timeout_ms": 60001}}}"#,
        &[("/settings/js_limits/timeout_ms", timeout)],
    );
}

#[test]
fn what_clients_may_take_is_bounded() {
    let limits = |value: &str| config(&format!("{{\"settings\": {{\"limits\": {value}}}}}")).settings.limits;
    assert_eq!(limits("{}"), ServerLimits::default());
    let some = limits(r#"{"connections": 10, "connections_per_address": 2, "buffered_bytes": 0}"#);
    assert_eq!(some.connections.map(NonZeroU32::get), Some(10));
    assert_eq!(some.connections_per_address.map(NonZeroU32::get), Some(2));
    assert_eq!(some.buffered_bytes, 0);
    let least = |name: &str| format!("The \"{name}\" number must be equal to or greater than 1.");
    check_problems(
        r#"{"settings": {"limits": {"connections": 0, "connections_per_address": 0, "buffered_bytes": -1}}}"#,
        &[
            ("/settings/limits/connections", &least("connections")),
            ("/settings/limits/connections_per_address", &least("connections_per_address")),
            ("/settings/limits/buffered_bytes", "The \"buffered_bytes\" number must not be negative."),
        ],
    );
}

#[test]
fn scripts_are_checked_in_every_option() {
    let wrong = |option: &str| format!("\"SyntaxError: wrong\" in the \"{option}\" value.");
    let action = |action: &str| format!("{{\"routes\": [{{\"action\": {action}}}]}}");
    check_problems(
        &action(r#"{"return": 302, "location": "`wrong`"}"#),
        &[("/routes/0/action/location", &wrong("location"))],
    );
    check_problems(
        &action(r#"{"share": ["/x", "`wrong`"]}"#),
        &[("/routes/0/action/share/1", &wrong("share"))],
    );
    // Only a text that begins with a backtick is a script.
    config(&action(r#"{"share": "/x`wrong`$uri"}"#));
    config(r#"{"listeners": {"*:80": {"pass": "`routes/${host}`"}, "*:81": {"pass": "routes/`x`"}}}"#);
}
