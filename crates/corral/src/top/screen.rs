//! The terminal: taken over for as long as the command runs, and put back as it was in every case.

use std::io::{self, BufWriter, Stdout, stdout};
use std::mem::ManuallyDrop;
use std::panic;
use std::process;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{MoveTo, Show};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{execute, style};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::look::Look;

/// The size of terminals that do not know theirs, as those behind a serial line.
const USUAL: Rect = Rect::new(0, 0, 80, 24);

/// The exit code of a Rust program that has panicked.
const PANICKED: i32 = 101;

/// The terminal while the command has it.
pub(super) struct Screen {
    /// Not dropped: it would write to a terminal that may be gone, and then say so on standard error.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    _guard: TerminalGuard,
}

/// Puts the terminal back when it is dropped.
struct TerminalGuard;

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open(look: Look) -> io::Result<Self> {
        style::force_color_output(look.has_colours);
        put_back_on_panic();
        let guard = TerminalGuard;
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        let (columns, rows) = size()?;
        let viewport = if columns == 0 || rows == 0 { Viewport::Fixed(USUAL) } else { Viewport::Fullscreen };
        // One write for a picture: it does not flicker over slow lines.
        let backend = CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, stdout()));
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        Ok(Self { terminal: ManuallyDrop::new(terminal), _guard: guard })
    }

    /// Shows a picture, of which the changed parts are written.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(picture).map(drop)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        put_back();
    }
}

/// Whichever thread panics, its message is readable, and the command ends.
fn put_back_on_panic() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        put_back();
        before(panic);
        process::exit(PANICKED);
    }));
}

/// A terminal that is gone cannot be put back. One without a second screen is left empty.
fn put_back() {
    let _ = execute!(stdout(), Clear(ClearType::All), MoveTo(0, 0), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
