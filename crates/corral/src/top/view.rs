//! The picture: what the daemon is, a line that tells something, the applications or one of them, and the keys.

mod application;
mod head;
mod help;
mod overview;
mod words;
mod workers;

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, TableState, Wrap};

use super::answers::Answers;
use super::figures::shown;
use super::look::Look;
use super::state::{KeyMode, TopState};

/// The columns and lines without which there is no picture.
const LEAST: (u16, u16) = (72, 12);

/// Draws the picture.
pub(super) struct View {
    look: Look,
    /// How far the list was scrolled.
    table: TableState,
    /// The same of the list of workers.
    workers: TableState,
}

impl View {
    /// For a terminal with these looks.
    pub(super) fn new(look: Look) -> Self {
        Self { look, table: TableState::new(), workers: TableState::new() }
    }

    /// Draws what is known, as it was chosen.
    pub(super) fn render(
        &mut self,
        frame: &mut Frame<'_>,
        state: &TopState,
        answers: &Answers,
        now: Instant,
    ) {
        let (area, look) = (frame.area(), self.look);
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let text =
                format!("the terminal is too small: {} columns and {} lines are needed", LEAST.0, LEAST.1);
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
            return;
        }
        let heights =
            [Constraint::Length(2), Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)];
        let [top, notice, body, foot] = Layout::vertical(heights).areas(area);
        frame.render_widget(head::paragraph(answers, look), top);
        frame.render_widget(told(state, answers, now, look), notice);
        match (&state.mode, &state.opened) {
            (KeyMode::Help, _) => frame.render_widget(help::paragraph(look), body),
            (_, Some(name)) => {
                application::render(frame, body, name, &state.workers, answers, look, &mut self.workers);
            }
            (_, None) => overview::render(frame, body, state, answers, look, &mut self.table),
        }
        frame.render_widget(Line::raw(keys(state)), foot);
    }
}

/// The line that asks or tells something.
fn told(state: &TopState, answers: &Answers, now: Instant, look: Look) -> Line<'static> {
    let text = match &state.mode {
        KeyMode::RestartQuestion(name) => Some(format!("Restart \"{}\"? [y/N]", shown(name))),
        KeyMode::EndQuestion(order) => Some(order.question()),
        KeyMode::Filter => Some(format!("filter: {}_", shown(&state.choice.filter))),
        KeyMode::Commands | KeyMode::Help => answers.absence(now).or_else(|| state.message.clone()),
    };
    match text {
        Some(text) => Line::styled(text, look.notice()),
        None if state.opened.is_some() => Line::raw(state.workers.words()),
        None => Line::raw(state.choice.words()),
    }
}

/// The keys that do something now.
fn keys(state: &TopState) -> &'static str {
    match (&state.mode, &state.opened) {
        (KeyMode::RestartQuestion(_), _) => "y restart   any other key: no",
        (KeyMode::EndQuestion(_), _) => "y end it   any other key: no",
        (KeyMode::Filter, _) => "Enter keep   Esc remove",
        (KeyMode::Help, _) => "any key goes back",
        (KeyMode::Commands, Some(_)) => {
            "q quit  Esc back  s sort  r reverse  d drain  x end  R restart  ? help"
        }
        (KeyMode::Commands, None) => {
            "q quit   Enter open   s sort   r reverse   / filter   R restart   ? help"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Buffer;
    use ratatui::crossterm::event::KeyCode;
    use ratatui::style::Color;
    use serde_json::{Value, json};

    use super::*;

    const COLOURED: Look = Look { has_colours: true, has_unicode: true };

    fn status(total: u64, failed: u64) -> Value {
        json!({
            "daemon": {"version": "1.2.3", "pid": 7, "uptime": 66},
            "connections": {"active": 1, "idle": 2},
            "requests": {"total": total},
            "listeners": {"*:81": {"state": "down", "last_error": "it is in use"}},
            "upstreams": {"backend": {"servers": {
                "127.0.0.1:1": {"state": "up", "requests": {"active": 3, "total": total}},
                "127.0.0.1:2": {"state": "up"}
            }}},
            "applications": {
                "shop": {
                    "processes": {"running": 8, "starting": 1, "idle": 5},
                    "requests": {"active": 4, "total": total, "failed": failed, "duration_ms": total * 12},
                    "memory": 67_108_864
                },
                "bad\u{1b}[2J": {"last_error": "it does not load"}
            }
        })
    }

    fn answers() -> Answers {
        let begin = Instant::now();
        let mut answers = Answers::new(&status(100, 0), begin, Duration::from_secs(1));
        answers.add(&status(300, 1), begin + Duration::from_secs(2));
        answers
    }

    fn draw(look: Look, width: u16, height: u16, state: &TopState, answers: &Answers) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut view = View::new(look);
        terminal.draw(|frame| view.render(frame, state, answers, Instant::now())).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The lines of a picture.
    fn lines(width: u16, height: u16, state: &TopState, answers: &Answers) -> Vec<String> {
        let buffer = draw(COLOURED, width, height, state, answers);
        let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    fn pressed(keys: &[KeyCode], answers: &Answers) -> TopState {
        let mut state = TopState::default();
        for key in keys {
            state.press((*key).into(), answers);
        }
        state
    }

    #[test]
    fn the_overview_fits_into_80_columns() {
        let answers = answers();
        let lines = lines(80, 24, &TopState::default(), &answers);
        assert_eq!(lines[0], "corral 1.2.3, process 7, up 1 min 6 s");
        assert_eq!(lines[1], "1 connection active, 2 idle; 100 requests/s; 0.5 % failed");
        assert_eq!(lines[2], "sorted by requests, highest first");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&lines[3]), "APPLICATION BUSY ACTIVE REQUESTS/S FAILED/S LATENCY MEMORY");
        assert_eq!(words(&lines[4]), "> shop 3 of 8 +1 4 100 0.5 12 ms 64.0 MiB");
        assert_eq!(words(&lines[5]), "bad\\u{1b}[2J 0 of 0 0 0 0 - -");
        let below = lines[17..23].join("\n");
        let expected = "needs attention\n  listener *:81 does not listen: it is in use\n  \
            application \"bad\\u{1b}[2J\": it does not load\nupstreams\n  \
            \"backend\": 2 of 2 servers up, 3 requests active, 100/s";
        assert!(below.contains(expected), "{below}");
        assert!(lines[23].starts_with("q quit"), "{}", lines[23]);
    }

    #[test]
    fn an_application_is_shown_alone() {
        let answers = answers();
        let lines = lines(80, 24, &pressed(&[KeyCode::Enter], &answers), &answers);
        assert_eq!(lines[3], "application \"shop\"");
        assert_eq!(lines[4], "processes: 3 busy, 5 idle, 1 starting; requests: 4 active");
        assert_eq!(lines[5], "now: 100 requests/s, 0.5 failed/s, 12 ms on average");
        assert_eq!(lines[6], "300 requests, 1 failed, 12.0 ms on average; 64.0 MiB of memory");
        let all = lines.join("\n");
        for part in
            ["requests/s in the last minute: 100 at most", "latency in the last minute: 12 ms at most", "█"]
        {
            assert!(all.contains(part), "{part:?} is not in {all}");
        }
    }

    /// The same with two workers of the shop.
    fn answers_with_workers() -> Answers {
        let mut answers = answers();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let started = now - 330;
        let workers = |cpu: f64| {
            json!({
                "4194304": {
                    "state": "busy", "started": started, "requests": 123_456, "memory": {"rss": 67_108_864}, "cpu": cpu,
                    "in_progress": 3, "request": {"method": "GET", "path": "/users/:n/posts", "seconds": 1.25}
                },
                "77": {"state": "idle", "requests": 0, "memory": {"rss": 1_048_576}, "in_progress": 0}
            })
        };
        let begin = Instant::now();
        answers.add_workers("shop", Ok(workers(1.0)), begin);
        answers.add_workers("shop", Ok(workers(1.5)), begin + Duration::from_secs(2));
        answers
    }

    #[test]
    fn the_workers_of_an_application_are_shown() {
        let answers = answers_with_workers();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines = lines(80, 24, &pressed(&[KeyCode::Enter], &answers), &answers);
        assert_eq!(lines[2], "processes sorted by time of their request, highest first");
        assert_eq!(words(&lines[7]), "PROCESS STATE AGE REQUESTS MEMORY CPU FOR RUNS");
        assert!(lines[8].starts_with(">  4194304 busy      5 min "), "{lines:#?}");
        assert!(lines[8].contains(" 123456  64.0 MiB   25 %  1.2 s GET /users/:n/"), "{lines:#?}");
        assert_eq!(words(&lines[9]), "77 idle - 0 1.0 MiB -");
        assert!(lines[23].contains("d drain  x end"), "{lines:#?}");
    }

    #[test]
    fn workers_that_are_not_known_are_told() {
        let mut answers = answers();
        let state = pressed(&[KeyCode::Enter], &answers);
        assert_eq!(lines(80, 24, &state, &answers)[7], "its processes are being asked for");
        answers.add_workers("shop", Err("no\nanswer".to_owned()), Instant::now());
        assert_eq!(lines(80, 24, &state, &answers)[7], "its processes are not known: no\\nanswer");
        answers.add_workers("shop", Ok(json!({})), Instant::now());
        assert_eq!(lines(80, 24, &state, &answers)[7], "it has no processes");
    }

    #[test]
    fn an_application_that_has_gone_is_told() {
        let mut answers = answers();
        let state = pressed(&[KeyCode::Enter], &answers);
        answers.add(&json!({ "daemon": {"pid": 7} }), Instant::now());
        assert_eq!(lines(80, 24, &state, &answers)[3], "there is no application \"shop\" any more");
        assert_eq!(lines(80, 24, &TopState::default(), &answers)[3], "there are no applications");
        let none = pressed(&[KeyCode::Char('/'), KeyCode::Char('x'), KeyCode::Enter], &answers);
        assert!(lines(80, 24, &none, &answers)[2].ends_with("; filter \"x\""));
    }

    #[test]
    fn questions_help_and_filters_are_shown() {
        let answers = answers_with_workers();
        for (keys, expected) in [
            (&[KeyCode::Char('R')][..], "Restart \"shop\"? [y/N]"),
            (
                &[KeyCode::Enter, KeyCode::Char('d')],
                "Let process 4194304 of \"shop\" end after its requests? [y/N]",
            ),
            (
                &[KeyCode::Enter, KeyCode::Char('x')],
                "End process 4194304 of \"shop\" at once, with its requests? [y/N]",
            ),
            (&[KeyCode::Char('/'), KeyCode::Char('b')], "filter: b_"),
            (&[KeyCode::Char('/'), KeyCode::Char('y')], "no application has \"y\" in its name"),
            (&[KeyCode::Char('?')], "restarts the application"),
        ] {
            let lines = lines(80, 24, &pressed(keys, &answers), &answers);
            assert!(lines.iter().any(|line| line.contains(expected)), "{expected:?} is not in {lines:#?}");
        }
    }

    #[test]
    fn a_daemon_that_is_away_is_told_in_one_line() {
        let mut answers = answers();
        answers.fail(&"no socket ".repeat(20));
        let lines = lines(80, 24, &TopState::default(), &answers);
        assert!(lines[2].starts_with("the daemon is away and asked again: no socket"), "{}", lines[2]);
        assert!(lines[3].contains("APPLICATION"), "{}", lines[3]);
    }

    #[test]
    fn every_size_has_a_picture() {
        let answers = answers_with_workers();
        let states = [&[KeyCode::Enter][..], &[], &[KeyCode::Char('?')]].map(|keys| pressed(keys, &answers));
        for state in &states {
            for (width, height) in [(1, 1), (20, 5), (71, 12), (72, 11), (72, 12), (80, 13), (300, 100)] {
                let lines = lines(width, height, state, &answers);
                let is_small = width < LEAST.0 || height < LEAST.1;
                assert_eq!(lines[0].starts_with("corral"), !is_small, "{lines:#?}");
            }
        }
        let small = lines(30, 5, &states[0], &answers);
        assert_eq!(
            small.join(" ").trim_end(),
            "the terminal is too small: 72 columns and 12 lines are needed"
        );
    }

    #[test]
    fn many_applications_are_scrolled_through() {
        let applications = (0..100).map(|n| (format!("app{n:02}"), json!({})));
        let applications = Value::Object(applications.collect());
        let status = json!({ "applications": applications });
        let answers = Answers::new(&status, Instant::now(), Duration::from_secs(1));
        let lines = lines(80, 24, &pressed(&[KeyCode::End], &answers), &answers);
        assert!(lines.iter().any(|line| line.starts_with("> app99")), "{lines:#?}");
    }

    #[test]
    fn without_colours_no_cell_has_one() {
        let answers = answers_with_workers();
        let plain = Look { has_colours: false, has_unicode: false };
        for keys in [&[KeyCode::Enter][..], &[], &[KeyCode::Char('R')], &[KeyCode::Char('?')]] {
            let state = pressed(keys, &answers);
            let buffer = draw(plain, 80, 24, &state, &answers);
            assert!(buffer.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)));
            assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
            let coloured = draw(COLOURED, 80, 24, &state, &answers);
            assert!(coloured.content.iter().any(|cell| cell.fg != Color::Reset));
        }
    }
}
