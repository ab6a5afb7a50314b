//! `{$NAME}` and `{$NAME:default}`: their values take their places before the text is cut into words, so that one may
//! be several words or lines.

/// A text without placeholders.
#[derive(Debug, Default)]
pub(super) struct PlainText {
    pub(super) text: String,
    /// For each line of the text, the one in the file.
    pub(super) lines: Vec<usize>,
    /// Names without a value or a default, with their lines in the file.
    pub(super) unset: Vec<(usize, String)>,
}

impl PlainText {
    /// The line in the file of a row of the text, both counted as they are: from 1, and from 0.
    pub(super) fn line_of(&self, row: usize) -> usize {
        self.lines.get(row).or(self.lines.last()).copied().unwrap_or(1)
    }

    fn line(&self) -> usize {
        self.lines.last().copied().unwrap_or(1)
    }

    fn push_text(&mut self, text: &str) {
        for _ in text.matches('\n') {
            self.lines.push(self.line() + 1);
        }
        self.text.push_str(text);
    }

    /// All lines of a value are where its placeholder is.
    fn push_value(&mut self, value: &str) {
        for _ in value.matches('\n') {
            self.lines.push(self.line());
        }
        self.text.push_str(value);
    }
}

pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> PlainText {
    let mut expanded = PlainText { lines: vec![1], ..PlainText::default() };
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some((before, behind)) = rest.split_once("{$") {
        expanded.push_text(before);
        let inner = behind.split_once('}').filter(|(inner, _)| is_placeholder(inner));
        let Some((inner, after)) = inner else {
            expanded.push_text("{$");
            rest = behind;
            continue;
        };
        let (name, default) = inner.split_once(':').map_or((inner, None), |(name, text)| (name, Some(text)));
        match variable(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_value(&value),
            None => expanded.unset.push((expanded.line(), name.to_owned())),
        }
        rest = after;
    }
    expanded.push_text(rest);
    expanded
}

fn is_placeholder(inner: &str) -> bool {
    !inner.is_empty() && !inner.starts_with(':') && !inner.contains('\n')
}
