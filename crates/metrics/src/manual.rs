//! The tables of the manual's page, made of the table.

use std::fmt::Write;

use crate::family::Section;
use crate::table;

/// The table of a part of the page, in Markdown.
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
