//! Checks of strings that many options share: names and paths, templates, patterns.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use corral_syntax::is_token;

use super::context::Context;
use super::schema::{Field, STRING};
use super::{advice, variables};
use crate::condition::Condition;
use crate::json::{Bytes, Value};
use crate::pattern::address::{AddressPatternError, AddressPatternSet};
use crate::pattern::{Flavor, PatternError, PatternSet};
use crate::template::Template;

/// Text in UTF-8; may be empty.
pub(super) fn text(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let Field { name, value } = field;
    let bytes = value.as_bytes()?;
    let text = bytes.to_str().map(str::to_owned);
    if text.is_none() {
        cx.problem(format!("The \"{name}\" string must be valid UTF-8."));
    } else if bytes.contains(&0) {
        cx.problem(format!("The \"{name}\" string must not contain null character."));
        return None;
    }
    text
}

/// Text that names something, so it is not empty.
pub(super) fn name(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = text(cx, field)?;
    if text.is_empty() {
        cx.problem(format!("The \"{}\" string must not be empty.", field.name));
        return None;
    }
    Some(text)
}

/// A file path; any bytes but NUL.
pub(super) fn path(cx: &mut Context<'_>, field: Field<'_>) -> Option<PathBuf> {
    let Field { name, value } = field;
    let bytes = value.as_bytes()?;
    if bytes.is_empty() {
        cx.problem(format!("The \"{name}\" string must not be empty."));
    } else if bytes.contains(&0) {
        cx.problem(format!("The \"{name}\" string must not contain null character."));
    } else {
        return Some(PathBuf::from(OsString::from_vec(bytes.to_vec())));
    }
    None
}

/// An array of absolute paths.
pub(super) fn absolute_paths(cx: &mut Context<'_>, field: Field<'_>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (idx, element) in field.value.as_array().into_iter().flatten().enumerate() {
        cx.at_index(idx, |cx| match element {
            Value::String(text) if text.starts_with(b"/") && !text.contains(&0) => {
                paths.push(PathBuf::from(OsString::from_vec(text.to_vec())));
            }
            _ => cx.problem(format!("The \"{}\" array must contain only absolute paths.", field.name)),
        });
    }
    paths
}

/// An array of strings, each of which `read` takes.
pub(super) fn string_array<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    mut read: impl FnMut(&mut Context<'_>, Field<'_>) -> Option<T>,
) -> Vec<T> {
    let mut elements = Vec::new();
    for (idx, value) in field.value.as_array().into_iter().flatten().enumerate() {
        cx.at_index(idx, |cx| match value {
            Value::String(_) => elements.extend(read(cx, Field { value, ..field })),
            _ => {
                let detail = format!("The \"{}\" array must contain only string values.", field.name);
                cx.problem_with_advice(detail, advice::for_type(STRING, value));
            }
        });
    }
    elements
}

/// A string, or an array of strings, each of which `read` takes.
pub(super) fn one_or_more<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    mut read: impl FnMut(&mut Context<'_>, Field<'_>) -> Option<T>,
) -> Vec<T> {
    match field.value {
        Value::Array(_) => string_array(cx, field, read),
        _ => read(cx, field).into_iter().collect(),
    }
}

/// An element of an array that is handed to a program.
pub(super) fn argument(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    if field.value.as_bytes()?.contains(&0) {
        cx.problem(format!("The \"{}\" array must not contain strings with null character.", field.name));
        return None;
    }
    text(cx, field)
}

/// A string that may contain variables or be JavaScript.
pub(super) fn template(cx: &mut Context<'_>, field: Field<'_>) -> Option<Template> {
    parse_template(cx, field.name, field.value.as_bytes()?)
}

/// As `template`, for a text that is a part of the option `name`.
pub(super) fn parse_template(cx: &mut Context<'_>, name: &str, text: &[u8]) -> Option<Template> {
    let template = match Template::parse_in(text, cx.scope()) {
        Ok(template) => template,
        Err(error) => {
            variables::report(cx, &error, name);
            return None;
        }
    };
    let script = template.script();
    let checked = script.map_or(Ok(()), |script| cx.check_script(script.source()));
    if let Err(error) = checked {
        cx.problem(format!("\"{error}\" in the \"{name}\" value."));
        return None;
    }
    cx.note_groups(&template);
    cx.tables.wants_upstreams |= template.wants_upstreams();
    Some(template)
}

/// The text of an `if`.
pub(super) fn condition(cx: &mut Context<'_>, field: Field<'_>) -> Option<Condition> {
    let text = field.value.as_bytes()?;
    Condition::parse(text, |template| parse_template(cx, field.name, template).ok_or(())).ok()
}

/// One pattern or an array of them.
pub(super) fn patterns(cx: &mut Context<'_>, field: Field<'_>, flavor: Flavor) -> Option<PatternSet> {
    let mut set = PatternSet::default();
    let complete = each(cx, field, |cx, field| add_pattern(cx, field, flavor, &mut set));
    complete.then_some(set)
}

/// One address pattern or an array of them.
pub(super) fn address_patterns(cx: &mut Context<'_>, field: Field<'_>) -> Option<AddressPatternSet> {
    let mut set = AddressPatternSet::default();
    let complete = each(cx, field, |cx, field| add_address_pattern(cx, field.value, &mut set));
    complete.then_some(set)
}

/// Runs `check` on the value or on each element of it; whether all of them were good.
fn each<'a>(
    cx: &mut Context<'_>,
    field: Field<'a>,
    mut check: impl FnMut(&mut Context<'_>, Field<'a>) -> bool,
) -> bool {
    let Value::Array(elements) = field.value else { return check(cx, field) };
    let mut complete = true;
    for (idx, element) in elements.iter().enumerate() {
        complete &= cx.at_index(idx, |cx| check(cx, Field { value: element, ..field }));
    }
    complete
}

/// Whether the pattern could be added.
fn add_pattern(cx: &mut Context<'_>, field: Field<'_>, flavor: Flavor, set: &mut PatternSet) -> bool {
    let Field { name, value } = field;
    let Value::String(text) = value else {
        let expected = if flavor.is_encoded() { "a string" } else { "strings" };
        let advice = advice::for_type(STRING, value);
        cx.problem_with_advice(format!("The \"match\" pattern for \"{name}\" must be {expected}."), advice);
        return false;
    };
    let added = set.add(text, flavor);
    if let Err(error) = &added {
        cx.problem_with_advice(error.describe(name), pattern_advice(error, &text.to_string_lossy()));
    }
    added.is_ok()
}

/// The right form of a pattern that is written as for another server.
fn pattern_advice(error: &PatternError, text: &str) -> String {
    match error {
        PatternError::Encoding if text.contains("%{") => {
            "Apache's variables are conditions of their own: \"host\", \"uri\", \"query\", \"headers\", \"cookies\", \
             \"scheme\" and \"source\"."
                .to_owned()
        }
        PatternError::Encoding => {
            "A \"%\" begins an escape such as \"%20\", and the sign itself is \"%25\". What is compared is decoded."
                .to_owned()
        }
        PatternError::DoubleStar => {
            "One \"*\" stands for any number of characters, \"/\" among them.".to_owned()
        }
        PatternError::Regex(_) => match text.trim_start_matches('!').strip_prefix("~*") {
            Some(regex) => format!("For letters in either case write \"~(?i){}\".", regex.trim_start()),
            None => String::new(),
        },
    }
}

fn add_address_pattern(cx: &mut Context<'_>, value: &Value, set: &mut AddressPatternSet) -> bool {
    let Value::String(text) = value else {
        cx.problem("The \"match\" pattern for \"address\" must be a string.");
        return false;
    };
    let added = set.add(text);
    match added {
        Err(error @ AddressPatternError::Format) => {
            cx.problem_with_advice(error.to_string(), advice::ADDRESS_PATTERN);
        }
        Err(error) => cx.problem(error.to_string()),
        Ok(()) => {}
    }
    added.is_ok()
}

/// A name that a header may have.
pub(super) fn header_name(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let name = name(cx, field)?;
    let is_sound = is_token(name.as_bytes());
    let is_framing = FRAMING.iter().any(|other| name.eq_ignore_ascii_case(other));
    if !is_sound || is_framing {
        cx.problem(format!("The \"{}\" name \"{name}\" is not a header that can be used here.", field.name));
        return None;
    }
    Some(name)
}

/// Fields that say how a message is sent, not what is in it.
const FRAMING: [&str; 4] = ["connection", "content-length", "transfer-encoding", "host"];

/// A member whose name is free, as text.
pub(super) fn member_name(cx: &mut Context<'_>, name: &Bytes) -> Option<String> {
    let text = name.to_str();
    if text.is_none() {
        cx.problem(format!("The name \"{name}\" must be valid UTF-8."));
    }
    text.map(str::to_owned)
}
