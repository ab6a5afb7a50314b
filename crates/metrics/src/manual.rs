//! Tables of the manual's pages, made of the tables of series and alerts.

use std::fmt::Write;

use crate::alerts::ALERTS;
use crate::family::Section;
use crate::table;

/// The series of a part of the page, as a table in Markdown.
#[must_use]
pub fn table(section: Section) -> String {
    let mut text = "| series | kind | labels | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for family in table::ALL.iter().filter(|family| family.section == section) {
        let labels: Vec<_> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
        let (name, kind, help) = (family.sample_name(), family.kind.word(), family.help);
        let more = if family.meaning.is_empty() { String::new() } else { format!(". {}", family.meaning) };
        let _ = writeln!(text, "| `{name}` | {kind} | {labels} | {help}{more} |");
    }
    text
}

/// The alerts, each with its condition and the next step, in Markdown.
#[must_use]
pub fn alerts() -> String {
    let mut text = String::new();
    for alert in ALERTS {
        let (name, severity, advice) = (alert.name, alert.severity.word(), alert.advice);
        let lasts = match alert.holds_for {
            "0m" => String::new(),
            time => format!(", once it has lasted for {time}"),
        };
        let _ = write!(
            text,
            "\n### {name}\n\n{severity}{lasts}. {advice}\n\n```promql\n{}\n```\n",
            alert.expression
        );
    }
    text
}
