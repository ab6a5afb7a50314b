//! The list of keys.

use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::top::look::Look;

const KEYS: &[(&str, &str)] = &[
    ("q, Ctrl-C", "quits; so does Esc in the list"),
    ("arrows, j, k", "move the mark; so do Page Up, Page Down, Home, End"),
    ("Enter", "opens the application with the mark"),
    ("Esc, Backspace", "goes back; Esc in the list removes the filter first"),
    ("s, r", "sorts by the next figure; reverses the order"),
    ("/", "filters by name: Enter keeps the filter, Esc removes it"),
    ("R", "restarts the application, after a question"),
    ("d, x", "end the process with the mark, in an application: d after its requests, x at once"),
];

/// A line for each key.
pub(super) fn paragraph(look: Look) -> Paragraph<'static> {
    let title = Line::styled("keys", look.head());
    let lines = KEYS.iter().map(|(keys, meaning)| Line::raw(format!("  {keys:<16}{meaning}")));
    Paragraph::new(std::iter::once(title).chain(lines).collect::<Vec<_>>())
}
