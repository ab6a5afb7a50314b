//! The list of all applications, with what needs attention and the upstreams below it.

use std::iter;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, HighlightSpacing, Paragraph, Row, Table, TableState};

use super::words;
use crate::top::answers::Answers;
use crate::top::figures::{UpstreamFigures, shown};
use crate::top::look::Look;
use crate::top::state::TopState;

/// The figures of an application, with the width of their columns. The name has what is left.
const COLUMNS: &[(&str, u16)] =
    &[("BUSY", 12), ("ACTIVE", 6), ("REQUESTS/S", 10), ("FAILED/S", 8), ("LATENCY", 8), ("MEMORY", 10)];

/// The lines that the list has at least, with its head, if there are so many applications.
const LEAST_LINES: u16 = 4;

/// Draws all of it.
pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &TopState,
    answers: &Answers,
    look: Look,
    table: &mut TableState,
) {
    let rows = state.choice.rows(answers);
    let wanted = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
    let room = area.height.saturating_sub(wanted.min(LEAST_LINES.max(area.height / 2)));
    let lists = lists(answers, look, room.into());
    let below = u16::try_from(lists.len()).unwrap_or(room);
    let heights = [Constraint::Fill(1), Constraint::Length(below)];
    let [above, below] = Layout::vertical(heights).areas(area);
    if rows.is_empty() {
        frame.render_widget(Line::raw(nothing(state)), above);
    } else {
        table.select(state.mark(&rows));
        let widths = COLUMNS.iter().map(|(_, width)| Constraint::Length(*width));
        let rows = rows.iter().map(|name| row(name, answers, look));
        let list = Table::new(rows, iter::once(Constraint::Fill(1)).chain(widths))
            .header(head(look))
            .row_highlight_style(look.marked())
            .highlight_symbol("> ")
            .highlight_spacing(HighlightSpacing::Always);
        frame.render_stateful_widget(list, above, table);
    }
    frame.render_widget(Paragraph::new(lists), below);
}

/// The words in place of a list.
fn nothing(state: &TopState) -> String {
    match &*state.choice.filter {
        "" => "there are no applications".to_owned(),
        filter => format!("no application has \"{}\" in its name", shown(filter)),
    }
}

fn head(look: Look) -> Row<'static> {
    let figures = COLUMNS.iter().map(|(title, _)| Cell::from(Line::raw(*title).right_aligned()));
    Row::new(iter::once(Cell::from("APPLICATION")).chain(figures)).style(look.head())
}

fn row(name: &str, answers: &Answers, look: Look) -> Row<'static> {
    let Some(app) = answers.figures.applications.get(name) else { return Row::default() };
    let rates = answers.rates_of(name);
    let starting = if app.starting > 0 { format!(" +{}", app.starting) } else { String::new() };
    let unknown = || "-".to_owned();
    let figures = [
        format!("{} of {}{starting}", app.busy(), app.running),
        app.active.to_string(),
        rates.map_or_else(unknown, |rates| words::rate(rates.requests)),
        rates.map_or_else(unknown, |rates| words::rate(rates.failures)),
        rates.and_then(|rates| rates.latency).map_or_else(unknown, words::millis),
        app.memory.map_or_else(unknown, words::memory),
    ];
    let style = if app.is_broken { look.fault() } else { Style::new() };
    let figures = figures.into_iter().map(|figure| Cell::from(Line::raw(figure).right_aligned()));
    Row::new(iter::once(Cell::from(Span::styled(shown(name), style))).chain(figures))
}

/// The lines below the list: those that need attention first.
fn lists(answers: &Answers, look: Look, room: usize) -> Vec<Line<'static>> {
    let figures = &answers.figures;
    let rate = |name: &str| answers.rates.as_ref().and_then(|rates| rates.upstreams.get(name).copied());
    let upstreams: Vec<_> =
        figures.upstreams.iter().map(|(name, group)| upstream(name, group, rate(name))).collect();
    let mut lines = section("needs attention", &figures.faults, look.fault(), room);
    let left = room.saturating_sub(lines.len());
    lines.extend(section("upstreams", &upstreams, look.head(), left));
    lines
}

/// A title with as many lines as there is room for, and the number of the others.
fn section(title: &'static str, all: &[String], style: Style, room: usize) -> Vec<Line<'static>> {
    if all.is_empty() || room < 2 {
        return Vec::new();
    }
    let n_shown = if all.len() < room { all.len() } else { room - 2 };
    let rest = Some(all.len() - n_shown).filter(|n| *n > 0).map(|n| Line::raw(format!("  and {n} more")));
    let lines = all.iter().take(n_shown).map(|line| Line::raw(format!("  {line}")));
    iter::once(Line::styled(title, style)).chain(lines).chain(rest).collect()
}

fn upstream(name: &str, group: &UpstreamFigures, rate: Option<f64>) -> String {
    let UpstreamFigures { servers, up, active, .. } = group;
    let mut words = format!("\"{}\": {up} of {servers} servers up, {active} requests active", shown(name));
    if let Some(rate) = rate {
        words.push_str(&format!(", {}/s", words::rate(rate)));
    }
    if let Some(waiting) = group.waiting {
        words.push_str(&format!(", {waiting} waiting"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_cut_to_its_room() {
        let look = Look { has_colours: false, has_unicode: false };
        let all = ["a", "b", "c"].map(str::to_owned);
        let lines = |all: &[String], room| {
            let lines = section("title", all, look.strong(), room);
            lines.iter().map(Line::to_string).collect::<Vec<_>>().join("|")
        };
        assert_eq!(lines(&all, 10), "title|  a|  b|  c");
        assert_eq!(lines(&all, 4), "title|  a|  b|  c");
        assert_eq!(lines(&all, 3), "title|  a|  and 2 more");
        assert_eq!(lines(&all, 2), "title|  and 3 more");
        assert_eq!(lines(&all, 1), "");
        assert_eq!(lines(&[], 10), "");
    }
}
