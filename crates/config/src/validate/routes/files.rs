//! `match.file` (beyond Unit).

use super::super::advice;
use super::super::context::Context;
use super::super::schema::{self, Field, Member, STRING, optional, required};
use super::super::share::confinement::{ConfinementTable, HasConfinement, check_beginnings};
use super::super::strings::{parse_template, template};
use crate::json::{Bytes, Value};
use crate::route::{Confinement, FileKinds, FileTest, FileTests};
use crate::template::Template;

/// Reads a path, an object, or an array of both.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Box<FileTests>> {
    let mut tests = FileTests::default();
    match field.value {
        Value::Array(elements) => {
            if elements.is_empty() {
                cx.problem("The \"file\" array must contain at least one element.");
            }
            for (idx, value) in elements.iter().enumerate() {
                cx.at_index(idx, |cx| read_one(cx, Field { value, ..field }, &mut tests));
            }
        }
        _ => read_one(cx, field, &mut tests),
    }
    Some(Box::new(tests))
}

fn read_one(cx: &mut Context<'_>, field: Field<'_>, tests: &mut FileTests) {
    let draft = match field.value {
        Value::String(text) => of_text(cx, field.name, text),
        Value::Object(_) => {
            let mut draft = FileDraft::default();
            schema::read_nested(cx, field, &[FILE, ConfinementTable::<FileDraft>::ROWS], &mut draft);
            draft
        }
        other => {
            let advice = advice::for_type(STRING, other);
            return cx.problem_with_advice("The \"file\" must be a path, or an object with one.", advice);
        }
    };
    let FileDraft { path, kinds, is_negated, confinement } = draft;
    let Some(path) = path else { return };
    if path.is_constant() == Some(b"") {
        cx.problem("The path of \"file\" must not be empty.");
    }
    check_beginnings(cx, "file", std::slice::from_ref(&path), &confinement);
    let tests = if is_negated { &mut tests.negative } else { &mut tests.positive };
    tests.push(FileTest { path, kinds, confinement });
}

/// A path alone, with `!` in front of it if no regular file may be there.
fn of_text(cx: &mut Context<'_>, name: &str, text: &Bytes) -> FileDraft {
    let path = text.strip_prefix(b"!").unwrap_or(text);
    let is_negated = path.len() < text.len();
    FileDraft { path: parse_template(cx, name, path), is_negated, ..FileDraft::default() }
}

#[derive(Default)]
struct FileDraft {
    path: Option<Template>,
    kinds: FileKinds,
    is_negated: bool,
    confinement: Confinement,
}

impl HasConfinement for FileDraft {
    fn confinement(&mut self) -> &mut Confinement {
        &mut self.confinement
    }
}

const FILE: &[Member<FileDraft>] = &[
    required("path", STRING)
        .means("the path, as a text with variables; write `$uri` where the request's path belongs")
        .read(|cx, field, draft| draft.path = template(cx, field)),
    optional("is", STRING)
        .default("`\"file\"`")
        .means(
            "what has to be there: a regular `file`, a `folder`, or anything (`exists`); `absent` is nothing. With \
             `!` in front of it the opposite",
        )
        .read(read_kind),
];

const KINDS: [(&str, FileKinds); 4] = [
    ("file", FileKinds::File),
    ("folder", FileKinds::Folder),
    ("exists", FileKinds::Any),
    (ABSENT, FileKinds::Any),
];

/// The negation of `exists`.
const ABSENT: &str = "absent";

fn read_kind(cx: &mut Context<'_>, field: Field<'_>, draft: &mut FileDraft) {
    let text = field.value.as_bytes().map(|text| text.to_string_lossy()).unwrap_or_default();
    let word = text.strip_prefix('!').unwrap_or(&text);
    let Some((word, kinds)) = KINDS.iter().find(|(name, _)| *name == word) else {
        return cx.problem_with_advice(
            format!("The \"is\" value \"{}\" is not a kind of file.", text.escape_debug()),
            "It is \"file\", \"folder\", \"exists\" or \"absent\".",
        );
    };
    draft.kinds = *kinds;
    draft.is_negated = (word.len() < text.len()) != (*word == ABSENT);
}
