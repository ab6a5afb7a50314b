//! Options that every kind of action has (UNIT-COMPAT 11.3 and 11.4).

use super::super::context::Context;
use super::super::schema::{self, Field, Member, OBJECT, STRING};
use super::super::strings::{member_name, template};
use crate::json::{Bytes, Object, Value};
use crate::route::{ActionOptions, HeaderChange};
use crate::template::Template;

/// Reads these options of an action, whatever its kind.
pub(super) fn read(cx: &mut Context<'_>, members: &Object) -> ActionOptions {
    let mut options = ActionOptions::default();
    schema::read_some(cx, members, OPTIONS, &mut options);
    options
}

const OPTIONS: &[Member<ActionOptions>] = &[
    Member::optional("rewrite", STRING, |cx, field, options| options.rewrite = template(cx, field)),
    Member::optional("response_headers", OBJECT, |cx, field, options| {
        options.response_headers = header_changes(cx, field);
    }),
];

fn header_changes(cx: &mut Context<'_>, field: Field<'_>) -> Vec<HeaderChange> {
    let members = field.value.as_object().into_iter().flatten();
    let changes = members.filter_map(|(name, value)| cx.at(name, |cx| header_change(cx, name, value)));
    changes.filter(|change| !is_of_the_server(&change.name)).collect()
}

fn header_change(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<HeaderChange> {
    let value = match value {
        Value::Null => Some(None),
        Value::String(text) => header_value(cx, name, text, value).map(Some),
        _ => {
            cx.problem(format!("The \"{name}\" response header value must either be a string or a null"));
            None
        }
    };
    let name = header_name(cx, name)?;
    Some(HeaderChange { name, value: value? })
}

fn header_name(cx: &mut Context<'_>, name: &Bytes) -> Option<String> {
    if name.is_empty() {
        cx.problem("The response header name must not be empty.");
    } else if name.eq_ignore_ascii_case(b"content-length") {
        cx.problem(format!("The \"{name}\" response header value is not supported"));
    } else if !name.iter().all(|&byte| is_name_byte(byte)) {
        cx.problem(format!(
            "The response header name \"{name}\" contains characters that no header name may have."
        ));
    } else {
        return member_name(cx, name);
    }
    None
}

fn header_value(cx: &mut Context<'_>, name: &Bytes, text: &Bytes, value: &Value) -> Option<Template> {
    let name = name.to_string_lossy();
    if text.iter().any(|&byte| is_control(byte)) {
        cx.problem(format!("The \"{name}\" response header value must not contain control characters."));
        return None;
    }
    template(cx, Field { name: &name, value })
}

/// Fields that the server adds behind those of `response_headers`, which therefore has no effect on them.
fn is_of_the_server(name: &str) -> bool {
    ["connection", "date", "transfer-encoding"].iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// Whether this byte may be part of a field's name (RFC 9110 section 5.6.2).
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether this byte may be no part of a field's value.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}
