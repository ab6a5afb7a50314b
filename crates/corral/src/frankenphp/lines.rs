//! Log lines as FrankenPHP writes them, which Octane reads.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::document::APPLICATION;
use super::logs::{CaddyLevel, Log, LogEncoding, Redaction};

/// How lines of the daemon become lines of this process.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputLines {
    log: Log,
}

impl OutputLines {
    pub(super) fn new(log: Option<&Log>) -> Self {
        Self { log: log.cloned().unwrap_or_default() }
    }

    /// A line of the daemon's access log, or something else that it prints.
    pub(super) fn printed(&self, line: &str) -> Option<String> {
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(entry)) => self.request(&entry),
            _ => self.line(CaddyLevel::Info, line, Map::new()),
        }
    }

    fn request(&self, entry: &Map<String, Value>) -> Option<String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| text(name).parse::<u64>().unwrap_or_default();
        let status = number("status");
        let level = if status >= 500 { CaddyLevel::Error } else { CaddyLevel::Info };
        let host = if text("host") == "-" { "" } else { text("host") };
        let members = json!({
            "logger": "http.log.access",
            "request": {
                "remote_ip": text("remote_ip"),
                "client_ip": text("remote_ip"),
                "proto": text("proto"),
                "method": text("method"),
                "host": host,
                "uri": redacted(text("uri"), &self.log.redactions),
            },
            "duration": text("duration").parse::<f64>().unwrap_or_default(),
            "size": number("size"),
            "status": status,
        });
        let Value::Object(members) = members else { return None };
        self.line(level, "handled request", members)
    }

    /// A line of the daemon's log: one object, or as text as long as it has not read its settings.
    pub(super) fn logged(&self, line: &str) -> Option<String> {
        if let Ok(Value::Object(entry)) = serde_json::from_str::<Value>(line)
            && let (Some(level), Some(message)) = (entry["level"].as_str(), entry["message"].as_str())
        {
            return self.line(level_of(level), said(message), Map::new());
        }
        match of_text(line) {
            Some((level, message)) => self.line(level, said(message), Map::new()),
            None => self.line(CaddyLevel::Error, reason(line), Map::new()),
        }
    }

    fn line(&self, level: CaddyLevel, message: &str, more: Map<String, Value>) -> Option<String> {
        if level < self.log.level {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Some(match self.log.encoding {
            LogEncoding::Json => {
                let mut line = json!({ "level": level.name(), "ts": now, "msg": message });
                line.as_object_mut()?.extend(more);
                line.to_string()
            }
            LogEncoding::Console => {
                let time = jiff::Zoned::now().strftime("%Y/%m/%d %H:%M:%S%.3f");
                let level = level.name().to_uppercase();
                let message = message.escape_default();
                if more.is_empty() {
                    format!("{time}\t{level}\t{message}")
                } else {
                    format!("{time}\t{level}\t{message}\t{}", Value::Object(more))
                }
            }
        })
    }
}

fn level_of(name: &str) -> CaddyLevel {
    match name {
        "debug" => CaddyLevel::Debug,
        "warn" => CaddyLevel::Warn,
        "alert" | "error" => CaddyLevel::Error,
        _ => CaddyLevel::Info,
    }
}

/// `YYYY/MM/DD HH:MM:SS [level] PID#TID message`.
fn of_text(line: &str) -> Option<(CaddyLevel, &str)> {
    let (level, rest) = line.get(20..)?.strip_prefix('[')?.split_once("] ")?;
    let (_, message) = rest.split_once(' ')?;
    Some((level_of(level), message))
}

/// A line that the only application has written itself, without its name: Octane understands objects.
fn said(message: &str) -> &str {
    let rest = message.strip_prefix('"').and_then(|rest| rest.strip_prefix(APPLICATION));
    rest.and_then(|rest| rest.strip_prefix("\": ")).unwrap_or(message)
}

/// Why the daemon does not start, without what is of use to `corral run` only.
fn reason(line: &str) -> &str {
    let line = line.strip_prefix("corral: ").unwrap_or(line);
    line.strip_suffix(" (--listen ADDRESS)").unwrap_or(line)
}

/// A target whose query tells no secrets.
fn redacted(target: &str, redactions: &[Redaction]) -> String {
    let Some((path, query)) = target.split_once('?').filter(|_| !redactions.is_empty()) else {
        return target.to_owned();
    };
    let show = |parameter: &str| {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
        match redactions.iter().find(|redaction| decoded(name) == redaction.name) {
            None => Some(parameter.to_owned()),
            Some(Redaction { value, .. }) => value.as_ref().map(|value| format!("{name}={value}")),
        }
    };
    let query: Vec<_> = query.split('&').filter_map(show).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// A name as the application sees it.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, hex.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(level: CaddyLevel, encoding: LogEncoding) -> OutputLines {
        let value = Some("REDACTED".to_owned());
        let redactions = vec![Redaction { name: "authorization".to_owned(), value }];
        OutputLines { log: Log { level, encoding, redactions } }
    }

    fn json(line: Option<String>) -> Value {
        serde_json::from_str(&line.expect("it is shown")).expect("it is JSON")
    }

    const REQUEST: &str = r#"{"remote_ip":"127.0.0.1","proto":"HTTP/1.1","method":"GET","host":"a:80","uri":"/x?a=1&%61uthorization=secret&b","status":"200","size":"12","duration":"0.012"}"#;

    #[test]
    fn requests_have_the_members_that_octane_prints() {
        let line = json(lines(CaddyLevel::Info, LogEncoding::Json).printed(REQUEST));
        assert_eq!((&line["msg"], &line["level"]), (&json!("handled request"), &json!("info")));
        assert_eq!(
            (&line["duration"], &line["status"], &line["size"]),
            (&json!(0.012), &json!(200), &json!(12))
        );
        assert_eq!(line["request"]["uri"], "/x?a=1&%61uthorization=REDACTED&b");
        assert_eq!((&line["request"]["method"], &line["request"]["host"]), (&json!("GET"), &json!("a:80")));
        assert!(line["ts"].as_f64().unwrap() > 1e9);
    }

    #[test]
    fn the_level_decides_which_lines_there_are() {
        let errors = lines(CaddyLevel::Warn, LogEncoding::Json);
        assert_eq!(errors.printed(REQUEST), None);
        let failed = json(errors.printed(&REQUEST.replace("200", "503")));
        assert_eq!((&failed["level"], &failed["status"]), (&json!("error"), &json!(503)));
        assert_eq!(errors.logged(r#"{"level":"notice","message":"x"}"#), None);
        assert_eq!(json(errors.logged(r#"{"level":"alert","message":"x\ny"}"#))["msg"], "x\ny");
    }

    #[test]
    fn what_the_application_says_has_no_name_before_it() {
        let all = lines(CaddyLevel::Debug, LogEncoding::Json);
        let line = json(all.logged(r#"{"level":"error","message":"\"php\": {\"type\":1}"}"#));
        assert_eq!(line["msg"], "{\"type\":1}");
        let line = json(all.logged(r#"{"level":"info","message":"\"php\" prototype started"}"#));
        assert_eq!(line["msg"], "\"php\" prototype started");
    }

    #[test]
    fn lines_of_text_are_understood_too() {
        let all = lines(CaddyLevel::Debug, LogEncoding::Json);
        let line = json(all.logged("2026/11/23 14:00:01 [warn] 12#13 a [b] c"));
        assert_eq!((&line["level"], &line["msg"]), (&json!("warn"), &json!("a [b] c")));
        let line = json(all.logged("corral: listener \"*:80\": in use (--listen ADDRESS)"));
        assert_eq!((&line["level"], &line["msg"]), (&json!("error"), &json!("listener \"*:80\": in use")));
    }

    #[test]
    fn a_console_has_lines_of_text() {
        let console = lines(CaddyLevel::Info, LogEncoding::Console);
        let line = console.logged(r#"{"level":"error","message":"a\tb"}"#).unwrap();
        assert!(line.ends_with("\tERROR\ta\\tb"), "{line}");
        assert!(console.printed(REQUEST).unwrap().contains("\tINFO\thandled request\t{\"logger\""));
    }
}
