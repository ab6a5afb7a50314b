//! The order of the applications, and which of them are shown.

use std::cmp::Ordering;

use super::answers::Answers;
use super::figures::shown;

/// The figure by which applications are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SortKey {
    #[default]
    Requests,
    Failures,
    Latency,
    Memory,
    Busy,
    Name,
}

impl SortKey {
    /// The key that follows, around in a circle.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Requests => Self::Failures,
            Self::Failures => Self::Latency,
            Self::Latency => Self::Memory,
            Self::Memory => Self::Busy,
            Self::Busy => Self::Name,
            Self::Name => Self::Requests,
        }
    }

    /// The words for the figure.
    fn words(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Failures => "failures",
            Self::Latency => "latency",
            Self::Memory => "memory",
            Self::Busy => "busy processes",
            Self::Name => "name",
        }
    }
}

/// The choice of what is shown, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RowChoice {
    pub(super) key: SortKey,
    /// The lowest figure first, or the last name.
    pub(super) is_reversed: bool,
    /// A part of the names, in capital or small letters.
    pub(super) filter: String,
}

impl RowChoice {
    /// The choice in words.
    pub(super) fn words(&self) -> String {
        let order = match (self.key, self.is_reversed) {
            (SortKey::Name, false) => "a to z",
            (SortKey::Name, true) => "z to a",
            (_, false) => "highest first",
            (_, true) => "lowest first",
        };
        let mut words = format!("sorted by {}, {order}", self.key.words());
        if !self.filter.is_empty() {
            words.push_str(&format!("; filter \"{}\"", shown(&self.filter)));
        }
        words
    }

    /// The names of the applications that are shown, in their order: the highest figure first. Applications of which
    /// nothing is known come last, and the same figures by their names.
    pub(super) fn rows<'a>(&self, answers: &'a Answers) -> Vec<&'a str> {
        let wanted = self.filter.to_lowercase();
        let names = answers.figures.applications.keys().map(String::as_str);
        let mut rows: Vec<_> = names.filter(|name| name.to_lowercase().contains(&wanted)).collect();
        if self.key == SortKey::Name {
            if self.is_reversed {
                rows.reverse();
            }
            return rows;
        }
        // The names are in order, and a stable sort leaves them so.
        rows.sort_by(|one, other| self.compare(self.figure(one, answers), self.figure(other, answers)));
        rows
    }

    fn compare(&self, one: Option<f64>, other: Option<f64>) -> Ordering {
        match (one, other) {
            (Some(one), Some(other)) if self.is_reversed => one.total_cmp(&other),
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        }
    }

    /// The figure of an application by which it is sorted.
    fn figure(&self, name: &str, answers: &Answers) -> Option<f64> {
        let app = answers.figures.applications.get(name)?;
        let rates = answers.rates_of(name);
        match self.key {
            SortKey::Requests => rates.map(|rates| rates.requests),
            SortKey::Failures => rates.map(|rates| rates.failures),
            SortKey::Latency => rates.and_then(|rates| rates.latency),
            SortKey::Memory => app.memory.map(|bytes| bytes as f64),
            SortKey::Busy => Some(app.busy() as f64),
            SortKey::Name => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use super::*;

    /// Three applications, of which `c` has most of nearly everything. `d` has had no request.
    fn answers() -> Answers {
        let app = |total: u64, failed: u64, millis: u64, memory: u64, idle: u64| {
            json!({ "processes": {"running": 8, "idle": idle}, "memory": memory,
                "requests": {"total": total, "failed": failed, "duration_ms": millis} })
        };
        let status = |apps: Value| json!({ "daemon": {"pid": 7}, "applications": apps });
        let begin = Instant::now();
        let none = status(json!({ "Apple": {}, "b": {}, "c": {}, "d": {} }));
        let mut answers = Answers::new(&none, begin, Duration::from_secs(1));
        let some = status(json!({
            "Apple": app(10, 3, 100, 300, 6),
            "b": app(20, 2, 4_000, 100, 7),
            "c": app(30, 1, 600, 200, 2),
            "d": {}
        }));
        answers.add(&some, begin + Duration::from_secs(1));
        answers
    }

    #[track_caller]
    fn check(key: SortKey, expected: &str, reversed: &str) {
        let answers = answers();
        let rows = |is_reversed| {
            let choice = RowChoice { key, is_reversed, filter: String::new() };
            choice.rows(&answers).join(" ")
        };
        assert_eq!((&*rows(false), &*rows(true)), (expected, reversed), "{key:?}");
    }

    #[test]
    fn each_key_sorts() {
        check(SortKey::Requests, "c b Apple d", "d Apple b c");
        check(SortKey::Failures, "Apple b c d", "d c b Apple");
        check(SortKey::Latency, "b c Apple d", "Apple c b d");
        check(SortKey::Memory, "Apple c b d", "b c Apple d");
        check(SortKey::Busy, "c Apple b d", "d b Apple c");
        check(SortKey::Name, "Apple b c d", "d c b Apple");
    }

    #[test]
    fn equal_figures_are_in_the_order_of_names() {
        let begin = Instant::now();
        let status = json!({ "applications": {"b": {}, "c": {}, "a": {}} });
        let answers = Answers::new(&status, begin, Duration::from_secs(1));
        for is_reversed in [false, true] {
            let choice = RowChoice { is_reversed, ..RowChoice::default() };
            assert_eq!(choice.rows(&answers), ["a", "b", "c"]);
        }
    }

    #[test]
    fn a_filter_is_a_part_of_the_name() {
        let answers = answers();
        for (filter, expected) in [("P", "Apple"), ("apple", "Apple"), ("x", ""), ("", "c b Apple d")] {
            let choice = RowChoice { filter: filter.to_owned(), ..RowChoice::default() };
            assert_eq!(choice.rows(&answers).join(" "), expected, "{filter}");
        }
    }

    #[test]
    fn a_choice_is_told() {
        let mut choice = RowChoice::default();
        assert_eq!(choice.words(), "sorted by requests, highest first");
        (choice.key, choice.is_reversed, choice.filter) = (SortKey::Name, true, "sh".to_owned());
        assert_eq!(choice.words(), "sorted by name, z to a; filter \"sh\"");
    }

    #[test]
    fn keys_follow_each_other_around() {
        let mut key = SortKey::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(key.words());
            key = key.next();
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), key), (6, SortKey::default()));
    }
}
