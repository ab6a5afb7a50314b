//! The choices that were made with keys, and the meaning of the next key.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::answers::Answers;
use super::figures::shown;
use super::mark;
use super::rows::RowChoice;
use super::worker_choice::WorkerChoice;
use super::workers::{EndOrder, Ending};

/// The longest filter, in characters.
const LONGEST_FILTER: usize = 40;

/// The choices that were made with keys.
#[derive(Debug, Default)]
pub(super) struct TopState {
    pub(super) choice: RowChoice,
    /// The application on which the mark was put; the first one without it.
    selected: Option<String>,
    /// The application that is shown alone.
    pub(super) opened: Option<String>,
    /// The order of its workers, and the mark in that list.
    pub(super) workers: WorkerChoice,
    pub(super) mode: KeyMode,
    /// The outcome of what was done last, until the next key.
    pub(super) message: Option<String>,
    /// The application that is being restarted.
    restarting: Option<String>,
}

/// The meaning that keys have now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum KeyMode {
    /// Each is a command.
    #[default]
    Commands,
    /// They are typed into the filter.
    Filter,
    /// They answer whether this application is to be restarted.
    RestartQuestion(String),
    /// They answer whether a worker is to end.
    EndQuestion(EndOrder),
    /// They close the list of keys.
    Help,
}

/// The part of a key's effect that is not a choice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    Nothing,
    Quit,
    /// The application with this name is to be restarted.
    Restart(String),
    /// A worker is to end.
    End(EndOrder),
}

impl TopState {
    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent, answers: &Answers) -> KeyEffect {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return KeyEffect::Quit;
        }
        self.message = None;
        // Another letter with Ctrl or Alt is not the letter.
        if matches!(key.code, KeyCode::Char(_)) && (is_control || key.modifiers.contains(KeyModifiers::ALT)) {
            return KeyEffect::Nothing;
        }
        match std::mem::take(&mut self.mode) {
            KeyMode::Commands => self.command(key.code, answers),
            KeyMode::Filter => {
                self.type_into_filter(key.code, answers);
                KeyEffect::Nothing
            }
            KeyMode::RestartQuestion(application) => self.answer(key.code, application),
            KeyMode::EndQuestion(order) => self.answer_end(key.code, order),
            KeyMode::Help => KeyEffect::Nothing,
        }
    }

    fn command(&mut self, key: KeyCode, answers: &Answers) -> KeyEffect {
        match key {
            KeyCode::Char('q') => return KeyEffect::Quit,
            KeyCode::Char('?') => self.mode = KeyMode::Help,
            KeyCode::Char('R') => self.ask(answers),
            KeyCode::Esc | KeyCode::Backspace if self.opened.is_some() => self.opened = None,
            KeyCode::Char('d') if self.opened.is_some() => self.ask_end(Ending::Drain, answers),
            KeyCode::Char('x') if self.opened.is_some() => self.ask_end(Ending::Now, answers),
            _ if self.opened.is_some() => self.choose_worker(key, answers),
            KeyCode::Esc if self.choice.filter.is_empty() => return KeyEffect::Quit,
            KeyCode::Esc => self.choice.filter.clear(),
            KeyCode::Enter => {
                self.opened = self.marked(answers).map(str::to_owned);
                self.workers = WorkerChoice::default();
            }
            KeyCode::Char('s') => self.choice.key = self.choice.key.next(),
            KeyCode::Char('r') => self.choice.is_reversed = !self.choice.is_reversed,
            KeyCode::Char('/') => self.mode = KeyMode::Filter,
            _ => self.move_mark(key, answers),
        }
        KeyEffect::Nothing
    }

    fn type_into_filter(&mut self, key: KeyCode, answers: &Answers) {
        let filter = &mut self.choice.filter;
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => return filter.clear(),
            KeyCode::Backspace => {
                filter.pop();
            }
            KeyCode::Char(letter) if filter.chars().count() < LONGEST_FILTER => filter.push(letter),
            KeyCode::Char(_) => {}
            _ => self.move_mark(key, answers),
        }
        self.mode = KeyMode::Filter;
    }

    fn answer(&mut self, key: KeyCode, application: String) -> KeyEffect {
        if !matches!(key, KeyCode::Char('y' | 'Y')) {
            return KeyEffect::Nothing;
        }
        self.message = Some(format!("{} is being restarted", shown(&application)));
        self.restarting = Some(application.clone());
        KeyEffect::Restart(application)
    }

    /// Asks whether the application at hand is to be restarted.
    fn ask(&mut self, answers: &Answers) {
        if let Some(other) = &self.restarting {
            self.message = Some(format!("{} is still being restarted", shown(other)));
            return;
        }
        let opened = self.opened.as_deref();
        let application = opened.or_else(|| self.marked(answers));
        if let Some(application) = application.filter(|name| answers.figures.applications.contains_key(*name))
        {
            self.mode = KeyMode::RestartQuestion(application.to_owned());
        }
    }

    /// Takes the outcome of a restart.
    pub(super) fn restarted(&mut self, application: &str, outcome: Result<(), String>) {
        self.restarting = None;
        self.message = Some(match outcome {
            Ok(()) => format!("{}: restarted", shown(application)),
            Err(error) => format!("{}: {}", shown(application), shown(&error)),
        });
    }

    /// The row with the mark, if there is any row.
    pub(super) fn mark(&self, rows: &[&str]) -> Option<usize> {
        let selected = self.selected.as_deref();
        let found = rows.iter().position(|row| Some(*row) == selected);
        found.or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// The application with the mark.
    fn marked<'a>(&self, answers: &'a Answers) -> Option<&'a str> {
        let rows = self.choice.rows(answers);
        self.mark(&rows).and_then(|at| rows.get(at).copied())
    }

    fn move_mark(&mut self, key: KeyCode, answers: &Answers) {
        let rows = self.choice.rows(answers);
        let to = self.mark(&rows).and_then(|at| mark::moved(at, rows.len(), key));
        if let Some(row) = to.and_then(|to| rows.get(to)) {
            self.selected = Some((*row).to_owned());
        }
    }

    /// Sorts the workers of the application that is open, or moves the mark among them.
    fn choose_worker(&mut self, key: KeyCode, answers: &Answers) {
        let workers = self.opened.as_deref().and_then(|name| answers.workers_of(name)?.ok());
        self.workers.press(key, workers);
    }

    /// Asks whether the worker with the mark is to end.
    fn ask_end(&mut self, ending: Ending, answers: &Answers) {
        let Some(application) = &self.opened else { return };
        let workers = answers.workers_of(application).and_then(Result::ok);
        if let Some(pid) = workers.and_then(|workers| self.workers.marked(workers)) {
            self.mode = KeyMode::EndQuestion(EndOrder { application: application.clone(), pid, ending });
        }
    }

    fn answer_end(&mut self, key: KeyCode, order: EndOrder) -> KeyEffect {
        if !matches!(key, KeyCode::Char('y' | 'Y')) {
            return KeyEffect::Nothing;
        }
        self.message = Some(order.begun());
        KeyEffect::End(order)
    }

    /// Takes the outcome of an order to end a worker.
    pub(super) fn ended(&mut self, order: &EndOrder, outcome: Result<(), String>) {
        self.message = Some(order.outcome(outcome));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::top::rows::SortKey;

    fn answers() -> Answers {
        let status = json!({ "applications": {"a": {}, "bad\u{1b}": {}, "shop": {}} });
        let mut answers = Answers::new(&status, Instant::now(), Duration::from_secs(1));
        answers.add_workers("shop", Ok(json!({ "7": {}, "8": {} })), Instant::now());
        answers
    }

    /// Presses keys: letters as they are, and others by signs.
    fn press(state: &mut TopState, keys: &str) -> KeyEffect {
        let answers = answers();
        let mut effect = KeyEffect::Nothing;
        for key in keys.chars() {
            let code = match key {
                '⏎' => KeyCode::Enter,
                '⎋' => KeyCode::Esc,
                '⌫' => KeyCode::Backspace,
                '↑' => KeyCode::Up,
                '↓' => KeyCode::Down,
                '⇱' => KeyCode::Home,
                '⇲' => KeyCode::End,
                letter => KeyCode::Char(letter),
            };
            effect = state.press(code.into(), &answers);
        }
        effect
    }

    fn marked(state: &TopState) -> String {
        state.marked(&answers()).unwrap_or_default().to_owned()
    }

    #[test]
    fn keys_quit() {
        for keys in ["q", "⎋", "jq", "⏎q", "⏎⎋⎋", "/x⎋⎋", "/x⏎⎋⎋", "?xq", "Rnq"] {
            assert_eq!(press(&mut TopState::default(), keys), KeyEffect::Quit, "{keys}");
        }
        for keys in ["⏎⎋", "/q", "/x⎋", "/x⏎⎋", "?q", "Rq", "⌫", "x"] {
            assert_eq!(press(&mut TopState::default(), keys), KeyEffect::Nothing, "{keys}");
        }
        for before in ["", "⏎", "/x", "?", "R"] {
            let mut state = TopState::default();
            press(&mut state, before);
            let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(state.press(interrupt, &answers()), KeyEffect::Quit, "{before}");
        }
    }

    #[test]
    fn letters_with_control_are_others() {
        let mut state = TopState::default();
        let key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::CONTROL);
        assert_eq!(state.press(key, &answers()), KeyEffect::Nothing);
    }

    #[test]
    fn the_mark_moves_and_stays_within() {
        for (keys, expected) in [
            ("", "a"),
            ("j", "bad\u{1b}"),
            ("↓↓", "shop"),
            ("jjjj", "shop"),
            ("jjjjk", "bad\u{1b}"),
            ("↑", "a"),
            ("⇲", "shop"),
            ("⇲⇱", "a"),
            ("/h", "shop"),
            ("/no", ""),
            ("jj/a⏎", "a"),
        ] {
            let mut state = TopState::default();
            press(&mut state, keys);
            assert_eq!(marked(&state), expected, "{keys}");
        }
    }

    #[test]
    fn an_application_is_opened_and_left() {
        let mut state = TopState::default();
        press(&mut state, "jj⏎");
        assert_eq!(state.opened.as_deref(), Some("shop"));
        // Commands of the list do nothing here.
        press(&mut state, "kksr/");
        assert_eq!((state.opened.as_deref(), &state.choice), (Some("shop"), &RowChoice::default()));
        press(&mut state, "⌫");
        assert_eq!(state.opened, None);
        press(&mut state, "/no⏎⏎");
        assert_eq!(state.opened, None, "there is no application");
    }

    #[test]
    fn rows_are_chosen() {
        let mut state = TopState::default();
        press(&mut state, "ssr/sHx⌫");
        let expected = RowChoice { key: SortKey::Latency, is_reversed: true, filter: "sH".to_owned() };
        assert_eq!((&state.choice, &state.mode), (&expected, &KeyMode::Filter));
        press(&mut state, "⏎");
        assert_eq!((&state.choice, &state.mode), (&expected, &KeyMode::Commands));
        press(&mut state, "/⎋");
        assert_eq!(state.choice.filter, "");
        press(&mut state, &format!("/{}", "x".repeat(100)));
        assert_eq!(state.choice.filter.len(), LONGEST_FILTER);
    }

    #[test]
    fn a_restart_follows_a_question() {
        let mut state = TopState::default();
        press(&mut state, "jjR");
        assert_eq!(state.mode, KeyMode::RestartQuestion("shop".to_owned()));
        for no in ["n", "⏎", "⎋", "R"] {
            assert_eq!(press(&mut state, no), KeyEffect::Nothing);
            assert_eq!(state.mode, KeyMode::Commands);
            press(&mut state, "R");
        }
        assert_eq!(press(&mut state, "y"), KeyEffect::Restart("shop".to_owned()));
        press(&mut state, "kR");
        assert_eq!(state.message.as_deref(), Some("shop is still being restarted"));
        state.restarted("shop", Ok(()));
        assert_eq!(state.message.as_deref(), Some("shop: restarted"));
        assert_eq!(press(&mut state, "⏎Ry"), KeyEffect::Restart("bad\u{1b}".to_owned()));
        state.restarted("bad\u{1b}", Err("it\ndies".to_owned()));
        assert_eq!(state.message.as_deref(), Some("bad\\u{1b}: it\\ndies"));
        press(&mut state, "x");
        assert_eq!(state.message, None);
    }

    #[test]
    fn a_worker_is_ended_after_a_question() {
        let mut state = TopState::default();
        let order = |pid, ending| EndOrder { application: "shop".to_owned(), pid, ending };
        press(&mut state, "jj⏎d");
        assert_eq!(state.mode, KeyMode::EndQuestion(order(7, Ending::Drain)));
        for no in ["n", "⏎", "⎋", "d", "x"] {
            assert_eq!(press(&mut state, no), KeyEffect::Nothing);
            assert_eq!(state.mode, KeyMode::Commands);
            press(&mut state, "d");
        }
        assert_eq!(press(&mut state, "y"), KeyEffect::End(order(7, Ending::Drain)));
        assert_eq!(state.message.as_deref(), Some("process 7 is being told to end after its requests"));
        assert_eq!(press(&mut state, "jxY"), KeyEffect::End(order(8, Ending::Now)));
        state.ended(&order(8, Ending::Now), Ok(()));
        assert_eq!(state.message.as_deref(), Some("process 8 ends"));
        assert_eq!(press(&mut state, "kx"), KeyEffect::Nothing);
        assert_eq!((state.mode, state.message), (KeyMode::EndQuestion(order(7, Ending::Now)), None));
    }

    #[test]
    fn no_worker_is_ended_that_is_not_seen() {
        // In the list of applications, and in one whose workers are not known.
        for keys in ["d", "x", "jjd", "⏎d", "⏎x", "j⏎d", "⏎jd"] {
            let mut state = TopState::default();
            assert_eq!(press(&mut state, keys), KeyEffect::Nothing, "{keys}");
            assert_eq!(state.mode, KeyMode::Commands, "{keys}");
        }
    }

    #[test]
    fn no_question_is_about_what_is_not_there() {
        let mut state = TopState::default();
        press(&mut state, "/no⏎R");
        assert_eq!(state.mode, KeyMode::Commands);
        state.opened = Some("gone".to_owned());
        press(&mut state, "R");
        assert_eq!(state.mode, KeyMode::Commands);
    }
}
