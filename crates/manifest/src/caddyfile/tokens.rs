//! Cuts a text into words.

use std::iter::Peekable;
use std::str::Chars;

use super::placeholders::PlainText;
use super::{CaddyfileError, error};

/// A word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaddyToken {
    pub(super) text: String,
    /// In the file.
    pub(super) line: usize,
    /// Words of the same row belong together; a backslash at the end of a line joins the next one to it.
    pub(super) row: usize,
    /// Whether it stood in quotes: a brace among them is a word as any other.
    pub(super) is_quoted: bool,
}

impl CaddyToken {
    pub(super) fn is(&self, brace: &str) -> bool {
        !self.is_quoted && self.text == brace
    }
}

pub(super) fn split(expanded: &PlainText) -> Result<Vec<CaddyToken>, CaddyfileError> {
    let mut cutter = Cutter { chars: expanded.text.chars().peekable(), expanded, row: 0, joined: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = cutter.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Cutter<'a> {
    chars: Peekable<Chars<'a>>,
    expanded: &'a PlainText,
    row: usize,
    /// Rows that were joined to the one before, up to here.
    joined: usize,
}

impl Cutter<'_> {
    fn next(&mut self) -> Result<Option<CaddyToken>, CaddyfileError> {
        loop {
            match self.chars.peek().copied() {
                None => return Ok(None),
                Some('#') => self.skip_comment(),
                Some('\\') => {
                    self.take();
                    if !self.is_at_end_of_line() {
                        return Ok(Some(self.plain("\\")));
                    }
                    self.join();
                }
                Some(quote @ ('"' | '`')) => return self.quoted(quote).map(Some),
                Some(blank) if blank.is_whitespace() => drop(self.take()),
                Some(_) => return self.word().map(Some),
            }
        }
    }

    fn take(&mut self) -> Option<char> {
        let taken = self.chars.next();
        if taken == Some('\n') {
            self.row += 1;
        }
        taken
    }

    fn is_at_end_of_line(&mut self) -> bool {
        matches!(self.chars.peek(), Some('\n' | '\r'))
    }

    /// Goes on with the next row as if it were this one.
    fn join(&mut self) {
        let row = self.row;
        if self.take() == Some('\r') && self.chars.peek() == Some(&'\n') {
            self.take();
        }
        self.joined += self.row - row;
    }

    fn skip_comment(&mut self) {
        while self.chars.peek().is_some_and(|c| *c != '\n') {
            self.take();
        }
    }

    fn word(&mut self) -> Result<CaddyToken, CaddyfileError> {
        let token = self.plain("");
        match token.text.strip_prefix("<<") {
            Some(mark) if !mark.is_empty() => {
                error(token.line, "texts that begin with << are not known here")
            }
            _ => Ok(token),
        }
    }

    /// The rest of a word without quotes.
    fn plain(&mut self, begin: &str) -> CaddyToken {
        let mut token = self.token(begin, false);
        while self.chars.peek().is_some_and(|c| !c.is_whitespace()) {
            token.text.extend(self.take());
        }
        token
    }

    /// In double quotes a backslash stands before a quote that does not end the word; in the others it means nothing.
    fn quoted(&mut self, quote: char) -> Result<CaddyToken, CaddyfileError> {
        self.take();
        let mut token = self.token("", true);
        loop {
            match self.take() {
                None => return error(token.line, format!("the quote {quote} is not closed")),
                Some(c) if c == quote => return Ok(token),
                Some('\\') if quote == '"' && self.chars.peek() == Some(&'"') => {
                    token.text.extend(self.take());
                }
                Some(c) => token.text.push(c),
            }
        }
    }

    fn token(&self, begin: &str, is_quoted: bool) -> CaddyToken {
        let line = self.expanded.line_of(self.row);
        CaddyToken { text: begin.to_owned(), line, row: self.row - self.joined, is_quoted }
    }
}
