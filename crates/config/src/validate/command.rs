//! `command`: a program with its arguments, as one text or as a list.

use super::context::Context;
use super::schema::Field;
use super::strings::{argument, string_array, text};
use crate::json::Value;
use crate::plan::CommandLine;

/// Reads one.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<CommandLine> {
    let words = match field.value {
        Value::Array(_) => string_array(cx, field, argument),
        _ => split(cx, field)?,
    };
    let mut words = words.into_iter();
    let executable = words.next().filter(|word| !word.is_empty());
    if executable.is_none() {
        cx.problem(format!("The \"{}\" must begin with a program.", field.name));
    }
    Some(CommandLine { executable: executable?.into(), arguments: words.collect() })
}

fn split(cx: &mut Context<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let text = text(cx, field)?;
    let Some(words) = shlex::split(&text) else {
        cx.problem(format!("The \"{}\" string has a quotation mark or a backslash too many.", field.name));
        return None;
    };
    if let Some(word) = words.iter().find(|word| OF_A_SHELL.contains(&word.as_str())) {
        cx.problem_with_advice(
            format!(
                "The \"{}\" has \"{word}\", which only a shell understands, and none runs it.",
                field.name
            ),
            "A shell is asked for by its name: [\"sh\", \"-c\", \"one | two\"].",
        );
        return None;
    }
    Some(words)
}

const OF_A_SHELL: &[&str] = &["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>", "&>", ">&2"];
