//! The looks of a terminal: whether it has colours, and which characters it can show.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;

/// The looks of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) has_colours: bool,
    /// Whether characters beyond ASCII are shown.
    pub(super) has_unicode: bool,
}

/// Bars of characters that every terminal has.
const PLAIN_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: ":",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

impl Look {
    /// The looks that the environment tells: `NO_COLOR`, `TERM` and the locale.
    pub(super) fn of_environment() -> Self {
        Self::of(|name| std::env::var(name).unwrap_or_default())
    }

    fn of(variable: impl Fn(&str) -> String) -> Self {
        let term = variable("TERM");
        let is_plain = ["", "dumb", "unknown"].contains(&&*term)
            || term.starts_with("vt")
            || ["-m", "-mono"].iter().any(|end| term.ends_with(end));
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(&variable).into_iter().find(|name| !name.is_empty());
        let locale = locale.unwrap_or_default().to_lowercase();
        Self {
            has_colours: variable("NO_COLOR").is_empty() && !is_plain,
            has_unicode: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }

    /// The bars of a sparkline.
    pub(super) fn bars(self) -> bar::Set<'static> {
        if self.has_unicode { bar::NINE_LEVELS } else { PLAIN_BARS }
    }

    /// A title, and a question.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The heads of columns.
    pub(super) fn head(self) -> Style {
        self.coloured(Color::Cyan, self.strong())
    }

    /// The row with the mark.
    pub(super) fn marked(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Things that do not work.
    pub(super) fn fault(self) -> Style {
        self.coloured(Color::Red, self.strong())
    }

    /// A line that tells something.
    pub(super) fn notice(self) -> Style {
        self.coloured(Color::Yellow, self.strong())
    }

    /// The bars of a sparkline.
    pub(super) fn bar(self) -> Style {
        self.coloured(Color::Green, Style::new())
    }

    fn coloured(self, colour: Color, style: Style) -> Style {
        if self.has_colours { style.fg(colour) } else { style }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], has_colours: bool, has_unicode: bool) {
        let value = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
        let look = Look::of(|name| value(name).unwrap_or_default().to_owned());
        assert_eq!(look, Look { has_colours, has_unicode }, "{variables:?}");
    }

    #[test]
    fn terminals_look_as_their_environment_says() {
        check(&[("TERM", "xterm-256color"), ("LANG", "de_DE.UTF-8")], true, true);
        check(&[("TERM", "xterm"), ("NO_COLOR", "1"), ("LANG", "C.utf8")], false, true);
        check(&[("TERM", "screen"), ("NO_COLOR", ""), ("LC_ALL", "C"), ("LANG", "C.UTF-8")], true, false);
        check(&[("TERM", "linux"), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], true, true);
        for term in ["dumb", "vt220", "xterm-mono", "linux-m", ""] {
            check(&[("TERM", term)], false, false);
        }
        check(&[], false, false);
    }

    #[test]
    fn without_colours_styles_are_bold_or_reversed() {
        let look = Look { has_colours: false, has_unicode: true };
        for style in [look.strong(), look.head(), look.marked(), look.fault(), look.notice(), look.bar()] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
