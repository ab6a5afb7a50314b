//! The list of the workers of an application.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Cell, HighlightSpacing, Paragraph, Row, Table, TableState, Wrap};

use super::words;
use crate::top::answers::Answers;
use crate::top::figures::shown;
use crate::top::look::Look;
use crate::top::worker_choice::WorkerChoice;
use crate::top::workers::WorkerFigures;

/// The figures of a worker, with the width of their columns. The request that it runs has what is left.
const COLUMNS: &[(&str, u16)] =
    &[("PROCESS", 8), ("STATE", 8), ("AGE", 6), ("REQUESTS", 8), ("MEMORY", 9), ("CPU", 6), ("FOR", 6)];

/// Draws it; with a line in its place when nothing is known.
pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    application: &str,
    choice: &WorkerChoice,
    answers: &Answers,
    look: Look,
    table: &mut TableState,
) {
    let workers = match answers.workers_of(application) {
        Some(Ok(workers)) => workers,
        Some(Err(reason)) => {
            return tell(frame, area, &format!("its processes are not known: {}", shown(reason)));
        }
        None => return tell(frame, area, "its processes are being asked for"),
    };
    let rows = choice.rows(workers);
    if rows.is_empty() {
        return tell(frame, area, "it has no processes");
    }
    table.select(choice.mark(&rows));
    let widths = COLUMNS.iter().map(|(_, width)| Constraint::Length(*width)).chain([Constraint::Fill(1)]);
    let rows = rows.iter().filter_map(|pid| Some(row(*pid, workers.all.get(pid)?)));
    let list = Table::new(rows, widths)
        .header(head(look))
        .row_highlight_style(look.marked())
        .highlight_symbol("> ")
        .highlight_spacing(HighlightSpacing::Always);
    frame.render_stateful_widget(list, area, table);
}

fn tell(frame: &mut Frame<'_>, area: Rect, text: &str) {
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

fn head(look: Look) -> Row<'static> {
    let figures = COLUMNS.iter().enumerate().map(|(place, (title, _))| cell(place, (*title).to_owned()));
    Row::new(figures.chain([Cell::from("RUNS")])).style(look.head())
}

fn row(pid: u32, worker: &WorkerFigures) -> Row<'static> {
    let unknown = || "-".to_owned();
    let others = worker.in_progress.saturating_sub(1);
    let (runs, time) = match &worker.runs {
        Some((runs, seconds)) if others > 0 => (format!("{runs} and {others} more"), Some(*seconds)),
        Some((runs, seconds)) => (runs.clone(), Some(*seconds)),
        None if worker.in_progress > 0 => (format!("{} in progress", worker.in_progress), None),
        None => (String::new(), None),
    };
    let figures = [
        pid.to_string(),
        worker.state.clone(),
        worker.age.map_or_else(unknown, words::age),
        worker.requests.map_or_else(unknown, |requests| requests.to_string()),
        worker.resident.map_or_else(unknown, words::memory),
        worker.share.map_or_else(unknown, words::share),
        time.map_or_else(String::new, |seconds| words::millis(seconds * 1000.0)),
    ];
    let figures = figures.into_iter().enumerate().map(|(place, figure)| cell(place, figure));
    Row::new(figures.chain([Cell::from(runs)]))
}

/// The state is a word, all others are numbers.
fn cell(place: usize, text: String) -> Cell<'static> {
    let is_word = COLUMNS.get(place).is_some_and(|(title, _)| *title == "STATE");
    let line = Line::raw(text);
    Cell::from(if is_word { line } else { line.right_aligned() })
}
