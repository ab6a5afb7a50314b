//! `substitute`: a list of texts and of what takes their place.

use crate::responses::{Substitution, SubstitutionRule};
use crate::template::Template;
use crate::validate::context::Context;
use crate::validate::schema::{self, Field, Member, STRING, required};
use crate::validate::strings::template;

/// Reads the rules.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Substitution> {
    let elements = field.value.as_array()?;
    if elements.len() > MAX_RULES {
        let n = elements.len();
        cx.problem(format!(
            "The \"substitute\" array must contain at most {MAX_RULES} objects, but not {n}."
        ));
        return None;
    }
    let mut rules = Vec::new();
    for (idx, value) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| match value.as_object() {
            Some(members) => {
                let mut draft = RuleDraft::default();
                schema::read_object(cx, members, &[RULE], &mut draft);
                let RuleDraft { from, to } = draft;
                rules.extend(from.zip(to).map(|(from, to)| SubstitutionRule { from, to }));
            }
            None => cx.problem("The \"substitute\" array must contain only object values."),
        });
    }
    Substitution::new(rules)
}

#[derive(Default)]
struct RuleDraft {
    from: Option<Vec<u8>>,
    to: Option<Template>,
}

const RULE: &[Member<RuleDraft>] = &[
    required("from", STRING)
        .means("the text that is replaced, letter by letter; 1024 bytes at most")
        .read(|cx, field, draft| draft.from = text_to_find(cx, field)),
    required("to", STRING)
        .means("the text in its place, which may hold variables; in HTML and XML their values are escaped")
        .read(|cx, field, draft| draft.to = replacement(cx, field)),
];

fn text_to_find(cx: &mut Context<'_>, field: Field<'_>) -> Option<Vec<u8>> {
    let text = field.value.as_bytes()?;
    match text.len() {
        0 => cx.problem("The \"from\" string must not be empty."),
        1..=MAX_FROM => return Some(text.to_vec()),
        _ => cx.problem(format!("The \"from\" string must not be longer than {MAX_FROM} bytes.")),
    }
    None
}

fn replacement(cx: &mut Context<'_>, field: Field<'_>) -> Option<Template> {
    if field.value.as_bytes()?.len() > MAX_TO {
        cx.problem(format!("The \"to\" string must not be longer than {MAX_TO} bytes."));
        return None;
    }
    template(cx, field)
}

/// Each takes memory for as long as the configuration is in force.
const MAX_RULES: usize = 64;

/// As much of a body may be held back.
const MAX_FROM: usize = 1024;

/// As much may come of one byte.
const MAX_TO: usize = 8192;
