//! `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` in strings and names.
//!
//! Templates of the configuration look alike (`${uri}`), so only these two prefixes are read here;
//! `$${env:` and `$${file:` stand for themselves with one dollar sign less. What is inserted is not
//! read again.

use corral_config::json::Bytes;

use crate::fault::{Fault, Position};
use crate::node::{Node, NodeContent, NodeMember, NodeText};

/// Everything that substitutions can name.
pub trait Surroundings {
    /// The value of an environment variable, if it is set.
    fn variable(&self, name: &str) -> Option<Vec<u8>>;

    /// The content of a file that was named in the text `source`.
    ///
    /// # Errors
    ///
    /// With the reason, to stand behind the name of the file.
    fn file(&self, path: &str, source: &str) -> Result<Vec<u8>, String>;
}

/// Replaces everything below `node`; reports what cannot be.
pub(crate) fn replace(node: &mut Node, world: &dyn Surroundings, faults: &mut Vec<Fault>) {
    let Node { place, content } = node;
    match content {
        NodeContent::Scalar(_) => {}
        NodeContent::Text(text) => match expand(&text.bytes, place, world) {
            Ok(Some(ExpandedText { bytes, is_all })) => {
                let written = Some(std::mem::take(&mut text.bytes));
                *text = NodeText { bytes: Bytes::from(bytes), is_substitute: is_all, written };
            }
            Ok(None) => {}
            Err(message) => faults.push(Fault::new(place, message)),
        },
        NodeContent::Array(elements) => {
            elements.iter_mut().for_each(|element| replace(element, world, faults));
        }
        NodeContent::Object(members) => replace_members(members, world, faults),
    }
}

fn replace_members(members: &mut [NodeMember], world: &dyn Surroundings, faults: &mut Vec<Fault>) {
    for idx in 0..members.len() {
        let NodeMember { name, name_place, value } = &mut members[idx];
        replace(value, world, faults);
        match expand(name, name_place, world) {
            Ok(Some(expanded)) => *name = Bytes::from(expanded.bytes),
            Ok(None) => continue,
            Err(message) => {
                faults.push(Fault::new(name_place, message));
                continue;
            }
        }
        let member = &members[idx];
        let is_same =
            |(other, candidate): &(usize, &NodeMember)| *other != idx && candidate.name == member.name;
        if let Some((_, other)) = members.iter().enumerate().find(is_same) {
            let (name, line) = (&member.name, other.name_place.line);
            let message =
                format!("The object has a member with the name \"{name}\" already, in line {line}.");
            faults.push(Fault::new(&member.name_place, message));
        }
    }
}

struct ExpandedText {
    bytes: Vec<u8>,
    /// The text was one substitution and nothing else.
    is_all: bool,
}

/// `None` when there is nothing to replace.
fn expand(text: &[u8], place: &Position, world: &dyn Surroundings) -> Result<Option<ExpandedText>, String> {
    let Some(first) = next_reference(text, 0) else { return Ok(None) };
    let mut out = Vec::new();
    let mut copied = 0;
    let mut is_all = false;
    let mut next = Some(first);
    while let Some(reference) = next {
        out.extend_from_slice(&text[copied..reference.start]);
        if reference.is_escaped {
            out.extend_from_slice(&text[reference.start + 1..reference.body]);
            copied = reference.body;
        } else {
            let Some(len) = text[reference.body..].iter().position(|&byte| byte == b'}') else {
                let start = String::from_utf8_lossy(&text[reference.start..]).into_owned();
                return Err(format!("\"{start}\" has no closing brace (}})."));
            };
            let end = reference.body + len;
            out.extend(resolve(reference.kind, &text[reference.body..end], place, world)?);
            copied = end + 1;
            is_all = reference.start == 0 && copied == text.len();
        }
        next = next_reference(text, copied);
    }
    out.extend_from_slice(&text[copied..]);
    Ok(Some(ExpandedText { bytes: out, is_all }))
}

#[derive(Clone, Copy)]
enum ReferenceKind {
    Variable,
    File,
}

struct TextReference {
    kind: ReferenceKind,
    /// The position of its first dollar sign.
    start: usize,
    /// Behind the prefix.
    body: usize,
    is_escaped: bool,
}

fn next_reference(text: &[u8], from: usize) -> Option<TextReference> {
    (from..text.len()).find_map(|start| {
        let rest = &text[start..];
        let is_escaped = rest.starts_with(b"$${");
        let unescaped = if is_escaped { &rest[1..] } else { rest };
        let kinds: [(&[u8], ReferenceKind); 2] =
            [(b"${env:", ReferenceKind::Variable), (b"${file:", ReferenceKind::File)];
        let (prefix, kind) = kinds.into_iter().find(|(prefix, _)| unescaped.starts_with(prefix))?;
        Some(TextReference { kind, start, body: start + usize::from(is_escaped) + prefix.len(), is_escaped })
    })
}

fn resolve(
    kind: ReferenceKind,
    body: &[u8],
    place: &Position,
    world: &dyn Surroundings,
) -> Result<Vec<u8>, String> {
    let body = String::from_utf8_lossy(body);
    match kind {
        ReferenceKind::Variable => variable(&body, world),
        ReferenceKind::File => match world.file(&body, &place.file) {
            Ok(content) => {
                let len = content.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
                Ok(content[..len].to_vec())
            }
            Err(reason) => Err(format!("The file \"{body}\" cannot be inserted: {reason}.")),
        },
    }
}

fn variable(body: &str, world: &dyn Surroundings) -> Result<Vec<u8>, String> {
    let (name, default) = match body.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (body, None),
    };
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
    };
    if !is_name(name) {
        return Err(format!("\"{name}\" is not a name of an environment variable."));
    }
    let value = world.variable(name);
    match (value, default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.as_bytes().to_vec()),
        (None, None) => Err(format!(
            "The environment variable \"{name}\" is not set; \"${{env:{name}:-VALUE}}\" would give it a \
             default."
        )),
    }
}
