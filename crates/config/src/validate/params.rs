//! `params`: variables that go with a request to an application, or to a server that is spoken to as CGI has it.
//! Actions, applications and their targets have them alike.

use super::advice;
use super::context::Context;
use super::label::Label;
use super::schema::{Field, OBJECT, STRING, optional};
use super::strings::{member_name, parse_template};
use crate::gateway::{EntryPoint, Param};
use crate::json::{Bytes, Value};

/// The row of an application, and of its targets.
pub(super) const OF_APPLICATION: Label = optional("params", OBJECT).means(
    "an object: [variables that go with a request](cgi-variables.md#params), as texts with variables, beside those of \
     CGI or in their place; `null` takes one away (beyond Unit)",
);

/// The row of an action.
pub(super) const OF_ACTION: Label = optional("params", OBJECT).means(
    "an object: [variables that go with a request](cgi-variables.md#params) to an application or to `fastcgi`, `scgi` \
     and `uwsgi`, as texts with variables; they go before those of applications and targets. `null` takes one away \
     (beyond Unit)",
);

/// Prefixes of the names by which WSGI, Rack and PSGI hand over objects.
const INTERFACES: [&str; 5] = ["wsgi.", "rack.", "psgi.", "psgix.", "corral."];

/// Keeps the variables of an application, or of its targets, for the router; none where none has any. The targets' go
/// before the application's.
pub(super) fn set_entries(cx: &mut Context<'_>, of_application: &[Param], of_targets: Vec<EntryPoint>) {
    let is_plain = |own: &EntryPoint| own.params.is_empty() && own.root.is_none();
    if of_application.is_empty() && of_targets.iter().all(is_plain) {
        return;
    }
    let with_all = |own: EntryPoint| EntryPoint { params: merged(of_application, own.params), ..own };
    cx.set_entries(of_targets.into_iter().map(with_all).collect());
}

/// A target with these variables.
pub(super) fn of_target(params: Vec<Param>) -> EntryPoint {
    EntryPoint { params, ..EntryPoint::default() }
}

fn merged(outer: &[Param], own: Vec<Param>) -> Vec<Param> {
    let is_own = |name: &String| own.iter().any(|(known, _)| known == name);
    let kept: Vec<_> = outer.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    kept.into_iter().chain(own).collect()
}

/// Variables of the configuration, which are named as those of CGI are.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Param> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| param(cx, name, value))).collect()
}

fn param(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<Param> {
    let text = member_name(cx, name)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=') {
        cx.problem("The name of a variable must consist of ASCII characters without \"=\" and blanks.");
        return None;
    }
    if INTERFACES.iter().any(|interface| text.starts_with(interface)) {
        cx.problem(format!(
            "The variable \"{text}\" belongs to the interface of an application, and is not a text."
        ));
        return None;
    }
    match value {
        Value::Null => Some((text, None)),
        Value::String(template) if template.contains(&0) => {
            cx.problem(format!("The \"{text}\" string must not contain null character."));
            None
        }
        Value::String(template) => Some((text, Some(parse_template(cx, name.to_str()?, template)?))),
        _ => {
            cx.problem_with_advice(
                "The \"params\" values must be either strings or null.",
                advice::for_type(STRING, value),
            );
            None
        }
    }
}
