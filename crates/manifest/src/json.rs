//! JSON to nodes: `corral_config::json` reads the values, and a second walk over the same text finds
//! out where they are.

use std::rc::Rc;

use corral_config::json::{self, Bytes, Value};

use crate::Source;
use crate::fault::{Fault, Position};
use crate::node::{Node, NodeContent, NodeMember};

pub(crate) fn read(source: &Source) -> Result<Node, Fault> {
    let text = source.text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&source.text);
    let mut walk = Walk { text, at: 0, lines: LineIndex::of(&source.name, text) };
    match json::parse_text(text) {
        Ok(value) => Ok(walk.node(value)),
        Err(error) => Err(Fault { place: walk.lines.place(error.offset), message: error.detail }),
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text that was parsed already, so that only its structure has to be followed.
struct Walk<'a> {
    text: &'a [u8],
    /// 0 <= at <= text.len()
    at: usize,
    lines: LineIndex<'a>,
}

impl Walk<'_> {
    fn node(&mut self, value: Value) -> Node {
        self.skip_space();
        let place = self.lines.place(self.at);
        let content = match value {
            Value::Array(elements) => {
                self.at += 1; // the bracket
                let nodes = elements.into_iter().map(|element| {
                    let node = self.node(element);
                    self.skip_comma();
                    node
                });
                let nodes = nodes.collect();
                self.skip_closing();
                NodeContent::Array(nodes)
            }
            Value::Object(members) => {
                self.at += 1; // the brace
                let members = members.into_iter().map(|(name, value)| self.member(name, value)).collect();
                self.skip_closing();
                NodeContent::Object(members)
            }
            Value::String(bytes) => {
                self.skip_string();
                return Node::text(place, bytes);
            }
            scalar => {
                self.skip_word();
                NodeContent::Scalar(scalar)
            }
        };
        Node { place, content }
    }

    fn member(&mut self, name: Bytes, value: Value) -> NodeMember {
        self.skip_space();
        let name_place = self.lines.place(self.at);
        self.skip_string();
        self.skip_space();
        self.at += 1; // the colon
        let value = self.node(value);
        self.skip_comma();
        NodeMember { name, name_place, value }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// White space and comments.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            match rest {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => {
                    let end = rest[2..].windows(2).position(|two| two == b"*/");
                    self.at += end.map_or(rest.len(), |end| end + 4);
                }
                _ => return,
            }
        }
    }

    fn skip_comma(&mut self) {
        self.skip_space();
        if self.peek() == Some(b',') {
            self.at += 1;
        }
    }

    fn skip_closing(&mut self) {
        self.skip_space();
        self.at = (self.at + 1).min(self.text.len());
    }

    /// The string whose opening quote is next.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at = (self.at + 1).min(self.text.len()),
                _ => {}
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
    }
}

/// Byte offsets to lines and columns.
struct LineIndex<'a> {
    file: Rc<str>,
    text: &'a [u8],
    /// Where each line starts; the first is 0.
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn of(name: &str, text: &'a [u8]) -> Self {
        let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        Self { file: name.into(), text, starts }
    }

    fn place(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        let before = &self.text[self.starts[line - 1]..offset.min(self.text.len())];
        let column = String::from_utf8_lossy(before).chars().count() + 1;
        Position { file: Rc::clone(&self.file), line, column }
    }
}
