//! A window with `corral top` in it, and what a person sees there.

use std::fs;
use std::process::Command;

use corral_testkit::{Address, Daemon, PATIENCE, Site, eventually, executables, site, within};

use crate::terminal::Terminal;

/// The window with a shell in it that runs `corral top`, and then says how it has ended.
pub(super) struct Window {
    terminal: Terminal,
    /// The settings of the terminal before and after.
    settings: Site,
}

impl Window {
    /// A window of 80 columns and 24 lines.
    #[track_caller]
    pub(super) fn open(server: &Daemon) -> Self {
        Self::open_with(server, "TERM=xterm-256color LANG=C.UTF-8")
    }

    /// The same with these variables alone of those that terminals know.
    #[track_caller]
    pub(super) fn open_with(server: &Daemon, variables: &str) -> Self {
        let settings = site().writable_folder("out");
        let (before, after) = (settings.path("out/before"), settings.path("out/after"));
        let script = format!(
            "unset NO_COLOR TERM LANG LC_ALL LC_CTYPE; stty rows 24 cols 80; stty -g >{}; \
             env {variables} $CORRAL top --interval 0.2; code=$?; stty -g >{}; echo \"code $code.\"",
            before.display(),
            after.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("CORRAL_CONTROL", server.control_address());
        command.env("CORRAL", &executables().corral);
        Self { terminal: Terminal::running(Address::fresh(), &command), settings }
    }

    /// Everything that was written to the terminal.
    pub(super) fn written(&self) -> String {
        self.terminal.shown()
    }

    /// The lines that are seen now.
    pub(super) fn lines(&self) -> Vec<String> {
        seen(&self.written())
    }

    /// Waits until the lines are as they are wanted.
    #[track_caller]
    pub(super) fn expect_lines(&self, what: &str, is_wanted: impl Fn(&[String]) -> bool) {
        let found = within(PATIENCE, || is_wanted(&self.lines()).then_some(()));
        assert!(found.is_some(), "not seen: {what}\n{}", self.lines().join("\n"));
    }

    /// Waits until a line has this in it.
    #[track_caller]
    pub(super) fn expect(&self, text: &str) {
        self.expect_lines(text, |lines| lines.iter().any(|line| line.contains(text)));
    }

    /// Waits until no line has this in it.
    #[track_caller]
    pub(super) fn expect_gone(&self, text: &str) {
        self.expect_lines(&format!("no {text}"), |lines| !lines.iter().any(|line| line.contains(text)));
    }

    /// Waits until these applications are seen in this order, and no others.
    #[track_caller]
    pub(super) fn expect_order(&self, names: &[&str]) {
        self.expect_lines(&names.join(", "), |lines| listed(lines) == names);
    }

    /// Types these keys.
    pub(super) fn types(&mut self, keys: &str) {
        self.terminal.types(keys);
    }

    /// The process of `corral top`.
    #[track_caller]
    pub(super) fn process(&self) -> u32 {
        eventually("it runs", || {
            let is_top = |pid: &u32| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains("corral\0top\0")
            };
            self.terminal.processes().into_iter().find(is_top)
        })
    }

    /// Gives the window another size.
    #[track_caller]
    pub(super) fn resize(&self, rows: u16, columns: u16) {
        let shell = self.terminal.processes()[0];
        let window = fs::read_link(format!("/proc/{shell}/fd/0")).expect("it has one");
        let (rows, columns) = (rows.to_string(), columns.to_string());
        let resized =
            Command::new("stty").arg("-F").arg(&window).args(["rows", &rows, "cols", &columns]).status();
        assert!(resized.expect("stty is installed").success());
    }

    /// Waits for the end with this code, and compares the terminal with what it was.
    #[track_caller]
    pub(super) fn expect_end(&self, code: i32) {
        self.expect(&format!("code {code}."));
        let read = |name: &str| fs::read_to_string(self.settings.path(name)).expect("it was written");
        assert_eq!(read("out/before"), read("out/after"));
        let written = self.written();
        let last = |sequence: &str| written.rfind(sequence);
        assert!(last("\x1b[?1049l") > last("\x1b[?1049h"), "the second screen is left");
        assert!(last("\x1b[?25h") > last("\x1b[?25l"), "the cursor is seen");
        assert_eq!(self.lines()[0], format!("code {code}."), "nothing else is left");
    }

    /// Closes the window.
    pub(super) fn close(self) -> Vec<u32> {
        let processes = self.terminal.processes();
        self.terminal.close();
        processes
    }
}

/// The applications of the list, from top to bottom.
fn listed(lines: &[String]) -> Vec<&str> {
    let rows = lines.iter().skip_while(|line| !line.contains("APPLICATION")).skip(1);
    let rows = rows.take_while(|line| line.starts_with("> ") || line.starts_with("  "));
    rows.filter_map(|line| line[2..].split_whitespace().next()).collect()
}

/// The largest terminal.
const SIZE: (usize, usize) = (60, 200);

/// The lines of a terminal that these bytes were written to. Colours are not seen, and the two screens are one.
fn seen(written: &str) -> Vec<String> {
    let mut screen = vec![[' '; SIZE.1]; SIZE.0];
    let (mut row, mut column) = (0, 0);
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\x1b' => {
                let Some((parameters, end)) = sequence(&mut rest) else { continue };
                match (end, &*parameters) {
                    ('H', _) => (row, column) = place(&parameters),
                    ('J', "2") => screen.fill([' '; SIZE.1]),
                    ('h' | 'l', "?1049") => {
                        screen.fill([' '; SIZE.1]);
                        (row, column) = (0, 0);
                    }
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            character => {
                if let Some(cell) = screen.get_mut(row).and_then(|line| line.get_mut(column)) {
                    *cell = character;
                }
                column += 1;
            }
        }
    }
    screen.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
}

/// The rest of a control sequence: parameters, and what ends it. Nothing for others, and for one that is not complete.
fn sequence(rest: &mut impl Iterator<Item = char>) -> Option<(String, char)> {
    if rest.next()? != '[' {
        return None;
    }
    let mut parameters = String::new();
    loop {
        match rest.next()? {
            end @ '\x40'..='\x7e' => return Some((parameters, end)),
            parameter => parameters.push(parameter),
        }
    }
}

/// The row and column of a movement, which count from 1 there.
fn place(parameters: &str) -> (usize, usize) {
    let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().unwrap_or(1));
    let mut next = || numbers.next().unwrap_or(1).saturating_sub(1);
    (next(), next())
}

#[test]
fn a_terminal_is_understood() {
    let lines = seen("old\x1b[?1049h\x1b[2J\x1b[2;3Hab\x1b[1m\x1b[38;5;1mc\x1b[0m\r\nd\x1b[1;1He\x1b[");
    assert_eq!(lines[..4], ["e", "  abc", "d", ""]);
}
