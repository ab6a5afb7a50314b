//! Lines of the log, taken apart: `YYYY/MM/DD HH:MM:SS [level] PID#TID message`, or one JSON object a line.

use corral_config::json::{self, Value};
use corral_ipc::reason;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::log_rank::LogRank;
use crate::reply::object;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    /// RFC 3339, in UTC.
    time: String,
    rank: LogRank,
    text: String,
    /// Words about the log itself, for viewers of every level.
    is_about_log: bool,
}

impl LogLine {
    /// Words about the log itself.
    pub(super) fn about_log(text: String) -> Self {
        let time = jiff::Timestamp::now().to_string();
        Self { time, rank: LogRank::Notice, text, is_about_log: true }
    }

    /// A line; one that says neither its time nor its level goes on with the line before it.
    pub(super) fn of(line: &str, before: Option<&Self>, zone: &TimeZone) -> Option<Self> {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            return None;
        }
        let parsed = of_text(line, zone).or_else(|| of_json(line));
        let (time, rank, text) = match (parsed, before) {
            (Some(parsed), _) => parsed,
            (None, Some(before)) => (before.time.clone(), before.rank, line.to_owned()),
            (None, None) => return None,
        };
        Some(Self { time, rank, text: reason::cut(text), is_about_log: false })
    }

    /// Whether it is for viewers that want lines of this level and above.
    pub(super) fn is_for(&self, least: LogRank) -> bool {
        self.is_about_log || self.rank <= least
    }

    /// About how many bytes it takes.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.time.len() + self.text.len()
    }

    pub(super) fn value(&self) -> Value {
        object([
            ("time", Value::from(self.time.as_str())),
            ("level", Value::from(self.rank.name())),
            ("text", Value::from(self.text.as_str())),
        ])
    }
}

/// The time of such a line is that of the machine's zone.
fn of_text(line: &str, zone: &TimeZone) -> Option<(String, LogRank, String)> {
    let (time, rest) = line.split_at_checked(TIME.len())?;
    let (level, text) = rest.strip_prefix(" [")?.split_once("] ")?;
    let rank = LogRank::of(level)?;
    let time = DateTime::strptime("%Y/%m/%d %H:%M:%S", time).ok()?.to_zoned(zone.clone()).ok()?;
    Some((time.timestamp().to_string(), rank, text.to_owned()))
}

const TIME: &str = "YYYY/MM/DD HH:MM:SS";

fn of_json(line: &str) -> Option<(String, LogRank, String)> {
    let value = json::parse(line.as_bytes()).ok()?;
    let text = |name: &str| value.member(name).and_then(Value::as_bytes).map(ToString::to_string);
    let time: jiff::Timestamp = text("time")?.parse().ok()?;
    Some((time.to_string(), LogRank::of(&text("level")?)?, text("message")?))
}

#[cfg(test)]
mod tests {
    use super::super::log_rank::NAMES;
    use super::*;

    fn zone() -> TimeZone {
        TimeZone::fixed(jiff::tz::offset(1))
    }

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, LogRank, &str)>) {
        let found = LogLine::of(line, None, &zone());
        let found = found.as_ref().map(|line| (line.time.as_str(), line.rank, line.text.as_str()));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn lines_of_text_are_taken_apart() {
        check(
            "2026/11/27 02:00:00 [notice] 12#12 a message [info] of ours",
            Some(("2026-11-27T01:00:00Z", LogRank::Notice, "12#12 a message [info] of ours")),
        );
        check(
            "2026/11/27 02:00:00 [alert] 12#13 *7 <b>markup</b>",
            Some(("2026-11-27T01:00:00Z", LogRank::Alert, "12#13 *7 <b>markup</b>")),
        );
        for wrong in [
            "",
            "a line of something else",
            "2026/11/27 02:00:00",
            "2026/11/27 02:00:00 [loud] 1#1 x",
            "2026/13/27 02:00:00 [info] 1#1 x",
            "2026/11/27 02:00:0é [info] 1#1 x",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn lines_of_json_are_taken_apart() {
        check(
            r#"{"time":"2026-11-27T02:00:00.123+01:00","level":"warn","pid":1,"thread":1,"message":"a \"b\""}"#,
            Some(("2026-11-27T01:00:00.123Z", LogRank::Warn, "a \"b\"")),
        );
        check(r#"{"time":"now","level":"warn","message":"x"}"#, None);
        check(r#"{"level":"warn","message":"x"}"#, None);
        check(r#"["warn"]"#, None);
    }

    #[test]
    fn a_line_without_a_head_goes_on_with_the_one_before() {
        let first = LogLine::of("2026/11/27 02:00:00 [error] 1#1 a", None, &zone()).unwrap();
        let second = LogLine::of("  a continuation\r", Some(&first), &zone()).unwrap();
        assert_eq!((second.time.as_str(), second.rank), ("2026-11-27T01:00:00Z", LogRank::Error));
        assert_eq!(second.text, "  a continuation");
        let text = String::from_utf8(second.value().compact()).unwrap();
        assert_eq!(text, r#"{"time":"2026-11-27T01:00:00Z","level":"error","text":"  a continuation"}"#);
        let long = LogLine::of(&"x".repeat(1 << 20), Some(&first), &zone()).unwrap();
        assert!(long.text.len() <= reason::LONGEST && long.cost() < 2 * reason::LONGEST);
    }

    #[test]
    fn viewers_see_their_level_and_above() {
        let line = |level: &str| {
            LogLine::of(&format!("2026/11/27 02:00:00 [{level}] 1#1 a"), None, &zone()).unwrap()
        };
        let seen = |least: LogRank| NAMES.iter().filter(|(name, _)| line(name).is_for(least)).count();
        assert_eq!(NAMES.map(|(_, rank)| seen(rank)), [1, 2, 3, 4, 5, 6]);
        assert!(LogLine::about_log("x".to_owned()).is_for(LogRank::Alert));
    }
}
