//! One application: its figures, what there is to say of it, its workers, and its last minute.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline, TableState, Wrap};

use super::{words, workers};
use crate::top::answers::Answers;
use crate::top::figures::{AppFigures, shown};
use crate::top::history::History;
use crate::top::interval::AppRates;
use crate::top::look::Look;
use crate::top::worker_choice::WorkerChoice;

/// The height of a chart with its title, where there are this many lines for all.
const HIGH: (u16, u16) = (4, 30);

/// The same in a small window; there is none in a smaller one.
const LOW: (u16, u16) = (2, 14);

/// A figure of the last minute, as bars.
struct Chart {
    title: &'static str,
    value: fn(&AppRates) -> Option<f64>,
    words: fn(f64) -> String,
}

const REQUESTS: Chart =
    Chart { title: "requests/s", value: |rates| Some(rates.requests), words: words::rate };
const LATENCY: Chart = Chart { title: "latency", value: |rates| rates.latency, words: words::millis };

/// Draws all of it.
pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    name: &str,
    choice: &WorkerChoice,
    answers: &Answers,
    look: Look,
    table: &mut TableState,
) {
    let wrap = Wrap { trim: true };
    let Some(app) = answers.figures.applications.get(name) else {
        let text = format!("there is no application \"{}\" any more", shown(name));
        frame.render_widget(Paragraph::new(text).wrap(wrap), area);
        return;
    };
    let chart =
        [HIGH, LOW].into_iter().find(|(_, least)| area.height >= *least).map_or(0, |(height, _)| height);
    let figures = figures(name, app, answers.rates_of(name), look);
    let heights = [
        Constraint::Length(3),
        Constraint::Length(height_of(&app.remarks, area)),
        Constraint::Fill(1),
        Constraint::Length(chart),
        Constraint::Length(chart),
    ];
    let [above, middle, below, requests, latency] = Layout::vertical(heights).areas(area);
    frame.render_widget(Paragraph::new(figures), above);
    let remarks: Vec<_> = app.remarks.iter().map(|remark| Line::raw(remark.as_str())).collect();
    frame.render_widget(Paragraph::new(remarks).wrap(wrap), middle);
    workers::render(frame, below, name, choice, answers, look, table);
    let history = answers.history_of(name);
    REQUESTS.render(frame, requests, history, look);
    LATENCY.render(frame, latency, history, look);
}

/// The lines that remarks take, as far as they leave room for the workers.
fn height_of(remarks: &[String], area: Rect) -> u16 {
    let width = usize::from(area.width.max(1));
    let lines = remarks.iter().map(|remark| remark.chars().count().div_ceil(width).max(1)).sum::<usize>();
    u16::try_from(lines).unwrap_or(u16::MAX).min(area.height / 3)
}

/// Three lines.
fn figures(name: &str, app: &AppFigures, rates: Option<&AppRates>, look: Look) -> Vec<Line<'static>> {
    let processes = format!(
        "processes: {} busy, {} idle, {} starting; requests: {} active",
        app.busy(),
        app.idle,
        app.starting,
        app.active
    );
    let now = match rates {
        None => "now: not known yet".to_owned(),
        Some(AppRates { requests, failures, latency }) => {
            let latency = latency.map(|millis| format!(", {} on average", words::millis(millis)));
            let (requests, failures) = (words::rate(*requests), words::rate(*failures));
            format!("now: {requests} requests/s, {failures} failed/s{}", latency.unwrap_or_default())
        }
    };
    let title = format!("application \"{}\"", shown(name));
    vec![Line::styled(title, look.head()), Line::raw(processes), Line::raw(now)]
}

impl Chart {
    fn render(&self, frame: &mut Frame<'_>, area: Rect, history: Option<&History>, look: Look) {
        let [above, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let columns = history.map(|history| history.columns(below.width, self.value)).unwrap_or_default();
        let most = columns.iter().flatten().copied().reduce(f64::max);
        let most = most.map_or("nothing".to_owned(), |most| format!("{} at most", (self.words)(most)));
        let title = format!("{} in the last minute: {most}", self.title);
        frame.render_widget(Line::styled(title, look.strong()), above);
        // Bars have whole numbers.
        let bars = columns.iter().map(|value| value.map(|value| (value * 1000.0) as u64));
        let sparkline = Sparkline::default().data(bars).bar_set(look.bars()).style(look.bar());
        frame.render_widget(sparkline, below);
    }
}
