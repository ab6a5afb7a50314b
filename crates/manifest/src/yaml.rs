//! YAML to nodes: the part of YAML 1.2 that JSON can say, with nothing guessed.
//!
//! A plain scalar is `null`, a boolean or a number exactly if it is one in YAML's core schema; the
//! spellings of numbers that JSON does not have are refused, because text was probably meant.

use std::collections::HashMap;
use std::rc::Rc;

use corral_config::json::{Bytes, MAX_DEPTH, Number, Value};
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use crate::Source;
use crate::fault::{Fault, Position};
use crate::node::{Node, NodeContent, NodeMember};

/// More values than any configuration has: aliases of aliases can stand for very many.
const MOST_NODES: usize = 1_000_000;

pub(crate) fn read(source: &Source) -> Result<Node, Fault> {
    let file: Rc<str> = source.name.as_str().into();
    let start = Position { file: Rc::clone(&file), line: 1, column: 1 };
    let Ok(text) = std::str::from_utf8(&source.text) else {
        return Err(Fault::new(&start, "The file is not UTF-8, which YAML is written in."));
    };
    let mut reader = Reader {
        text,
        events: Parser::new_from_str(text),
        file,
        anchors: HashMap::new(),
        n_nodes: 0,
        depth: 0,
    };
    reader.document()
}

struct Reader<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
    file: Rc<str>,
    /// By number; what aliases stand for.
    anchors: HashMap<usize, Node>,
    n_nodes: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// The only document; an empty text is an empty object.
    fn document(&mut self) -> Result<Node, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root.unwrap_or_else(|| Node::empty(&self.file))),
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_none() => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span)?);
                }
                _ => {
                    return Err(self.fault(
                        span.start,
                        "A second document starts here; a configuration file holds one.",
                    ));
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok(event)) => return Ok(event),
                Some(Err(error)) => return Err(self.scan_fault(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, Fault> {
        let place = self.place(span.start);
        let tag_mark = span.tag_start().unwrap_or(span.start);
        self.count(1, &place)?;
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_tag(tag.as_deref(), "str", tag_mark)?;
                (anchor, scalar(&text, style, tag.is_some(), &place)?)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "seq", tag_mark)?;
                (anchor, self.nested(&place, Self::sequence)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "map", tag_mark)?;
                (anchor, self.nested(&place, Self::mapping)?)
            }
            Event::Alias(anchor) => return self.alias(anchor, place),
            _ => return Err(Fault::new(&place, "A value is expected here.")),
        };
        let node = Node { place, content };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// The whole of what the anchor names, at the place of the alias.
    fn alias(&mut self, anchor: usize, place: Position) -> Result<Node, Fault> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(Fault::new(&place, "The alias stands inside of what it names."));
        };
        self.count(size(&node), &place)?;
        if self.depth + depth(&node) > MAX_DEPTH {
            return Err(too_deep(&place));
        }
        Ok(Node { place, ..node })
    }

    fn count(&mut self, n_nodes: usize, place: &Position) -> Result<(), Fault> {
        self.n_nodes += n_nodes;
        if self.n_nodes > MOST_NODES {
            return Err(Fault::new(place, "With all its aliases resolved, the document is too large."));
        }
        Ok(())
    }

    fn nested(
        &mut self,
        place: &Position,
        read: fn(&mut Self) -> Result<NodeContent, Fault>,
    ) -> Result<NodeContent, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.depth += 1;
        let content = read(self);
        self.depth -= 1;
        content
    }

    fn sequence(&mut self) -> Result<NodeContent, Fault> {
        let mut elements = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(NodeContent::Array(elements)),
                (event, span) => elements.push(self.node(event, span)?),
            }
        }
    }

    fn mapping(&mut self) -> Result<NodeContent, Fault> {
        let mut members: Vec<NodeMember> = Vec::new();
        loop {
            let (name, style, start) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(NodeContent::Object(members)),
                (Event::Scalar(name, style, ..), span) => (name, style, span.start),
                (_, span) => {
                    let advice = self.advice(span.start);
                    let message = format!("The name of a member must be plain text.{advice}");
                    return Err(self.fault(span.start, &message));
                }
            };
            let name_place = self.place(start);
            if style == ScalarStyle::Plain && name == "<<" {
                return Err(Fault::new(&name_place, "Merge keys (<<) are not part of YAML 1.2."));
            }
            let name = Bytes::from(&*name);
            if let Some(first) = members.iter().find(|member| member.name == name) {
                let message = format!(
                    "The object has two members with the name \"{name}\"; the first is in line {}.",
                    first.name_place.line
                );
                return Err(Fault::new(&name_place, message));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            members.push(NodeMember { name, name_place, value });
        }
    }

    /// Only the tag that says what a node is anyway may be given.
    fn check_tag(&self, tag: Option<&Tag>, expected: &str, mark: Marker) -> Result<(), Fault> {
        match tag {
            Some(tag) if !tag.is_yaml_core_schema_tag(expected) => {
                let advice = self.advice(mark);
                Err(self.fault(mark, &format!("The tag {} has no meaning here.{advice}", tag.original())))
            }
            _ => Ok(()),
        }
    }

    fn place(&self, mark: Marker) -> Position {
        Position { file: Rc::clone(&self.file), line: mark.line().max(1), column: mark.col() + 1 }
    }

    fn fault(&self, mark: Marker, message: &str) -> Fault {
        Fault::new(&self.place(mark), message)
    }

    fn scan_fault(&self, error: &ScanError) -> Fault {
        let info = error.info();
        let mut letters = info.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        let message: String = first.into_iter().chain(letters).chain(['.']).collect();
        self.fault(*error.marker(), &format!("{message}{}", self.advice(*error.marker())))
    }

    /// Advice about text that begins with a character that means something to YAML.
    fn advice(&self, mark: Marker) -> String {
        let line = self.text.lines().nth(mark.line().saturating_sub(1)).unwrap_or_default();
        let rest: String = line.chars().skip(mark.col()).collect();
        let word = rest.split([' ', ',']).next().unwrap_or_default();
        let word = word.strip_suffix(':').unwrap_or(word);
        let is_nested = !word.starts_with(['[', '{']);
        let word = if is_nested { word.trim_end_matches([']', '}']) } else { word };
        match word.chars().next() {
            Some(first) if SPECIAL.contains(&first) => {
                format!(" Text that begins with {first} is written in quotes: \"{word}\".")
            }
            _ => String::new(),
        }
    }
}

/// Characters that plain text cannot begin with.
const SPECIAL: &[char] = &['*', '&', '!', '@', '`', '%', '[', '{', '|', '>'];

fn too_deep(place: &Position) -> Fault {
    Fault::new(place, format!("Arrays and objects must not be nested deeper than {MAX_DEPTH} levels."))
}

fn size(node: &Node) -> usize {
    1 + match &node.content {
        NodeContent::Array(elements) => elements.iter().map(size).sum(),
        NodeContent::Object(members) => members.iter().map(|member| size(&member.value)).sum(),
        NodeContent::Scalar(_) | NodeContent::Text(_) => 0,
    }
}

fn depth(node: &Node) -> usize {
    match &node.content {
        NodeContent::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        NodeContent::Object(members) => {
            1 + members.iter().map(|member| depth(&member.value)).max().unwrap_or(0)
        }
        NodeContent::Scalar(_) | NodeContent::Text(_) => 0,
    }
}

fn scalar(text: &str, style: ScalarStyle, is_tagged: bool, place: &Position) -> Result<NodeContent, Fault> {
    if style == ScalarStyle::Plain && !is_tagged {
        return plain(text, place);
    }
    Ok(Node::text(place.clone(), Bytes::from(text)).content)
}

/// A scalar without quotes: the core schema of YAML 1.2 says what it is.
fn plain(text: &str, place: &Position) -> Result<NodeContent, Fault> {
    let scalar = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => match Number::scan(text.as_bytes()) {
            Ok((number, len)) if len == text.len() => Value::Number(number),
            _ => {
                let message = format!(
                    "{text} is a number that JSON cannot say; write it in decimal, up to 14 digits, or in \
                     quotes if it is text."
                );
                return Err(Fault::new(place, message));
            }
        },
        _ => return Ok(Node::text(place.clone(), Bytes::from(text)).content),
    };
    Ok(NodeContent::Scalar(scalar))
}

/// Whether the core schema (YAML 1.2.2, 10.3.2) takes a plain scalar for a number.
fn is_number(text: &str) -> bool {
    let all = |digits: &str, is_digit: fn(&u8) -> bool| {
        !digits.is_empty() && digits.as_bytes().iter().all(is_digit)
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return all(digits, |byte| (b'0'..=b'7').contains(byte));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, u8::is_ascii_hexdigit);
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(text, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_is_fine = exponent
        .is_none_or(|digits| all(digits.strip_prefix(['-', '+']).unwrap_or(digits), u8::is_ascii_digit));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    exponent_is_fine && all(&digits, u8::is_ascii_digit)
}
