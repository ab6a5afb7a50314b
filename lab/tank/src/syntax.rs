//! Calls in a line of text, such as `line(1,1000,5m) const(1000,1m)`: what schedules and stop rules are written in.
//! Each argument keeps its column, so that an error names the place.

use std::str::FromStr;
use std::time::Duration;

/// A text that does not follow the rules; columns count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub(crate) struct SyntaxError {
    pub(crate) column: usize,
    pub(crate) message: String,
}

impl SyntaxError {
    pub(crate) fn expected(column: usize, expected: &str, found: &str) -> Self {
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("{found:?}") };
        Self { column, message: format!("expected {expected}, found {found}") }
    }
}

/// A name with arguments in parentheses.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) column: usize,
    pub(crate) name: &'a str,
    pub(crate) arguments: Vec<Argument<'a>>,
}

impl<'a> Call<'a> {
    /// The arguments, if there are as many as the call needs; `form` shows a right call.
    pub(crate) fn exactly<const N: usize>(&self, form: &str) -> Result<[Argument<'a>; N], SyntaxError> {
        self.arguments.as_slice().try_into().map_err(|_| {
            let found = format!("{} arguments", self.arguments.len());
            SyntaxError { column: self.column, message: format!("expected {form}, found {found}") }
        })
    }
}

/// The text between two commas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument<'a> {
    pub(crate) column: usize,
    pub(crate) text: &'a str,
}

impl Argument<'_> {
    pub(crate) fn expected(&self, expected: &str) -> SyntaxError {
        SyntaxError::expected(self.column, expected, self.text)
    }

    pub(crate) fn parse<T: FromStr>(&self, expected: &str) -> Result<T, SyntaxError> {
        self.text.parse().map_err(|_| self.expected(expected))
    }

    pub(crate) fn duration(&self) -> Result<Duration, SyntaxError> {
        duration(self.text).map_err(|error| self.expected(&error))
    }
}

/// All calls of a text, which stand one after the other.
pub(crate) fn calls(text: &str) -> Result<Vec<Call<'_>>, SyntaxError> {
    let mut found = Vec::new();
    let mut at = skip_spaces(text, 0);
    while at < text.len() {
        let (call, end) = call(text, at)?;
        found.push(call);
        at = skip_spaces(text, end);
    }
    Ok(found)
}

fn call(text: &str, start: usize) -> Result<(Call<'_>, usize), SyntaxError> {
    let rest = &text[start..];
    let n_name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, behind) = rest.split_at(n_name);
    if name.is_empty() {
        return Err(SyntaxError::expected(start + 1, "a name", behind));
    }
    let open = start + n_name;
    let inner = behind.strip_prefix('(');
    let inner = inner.ok_or_else(|| SyntaxError::expected(open + 1, "\"(\"", behind))?;
    let Some(n_inner) = inner.find(')') else {
        return Err(SyntaxError::expected(text.len() + 1, "\")\"", ""));
    };
    let arguments = arguments(&inner[..n_inner], open + 1);
    Ok((Call { column: start + 1, name, arguments }, open + n_inner + 2))
}

fn arguments(inner: &str, start: usize) -> Vec<Argument<'_>> {
    let mut at = start;
    let argument = |part| {
        let column = skip_spaces(part, 0) + at + 1;
        at += part.len() + 1;
        Argument { column, text: part.trim() }
    };
    inner.split(',').map(argument).collect()
}

fn skip_spaces(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.len() - rest.trim_start().len()
}

/// Units of durations in milliseconds, largest first.
const UNITS: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1000)];

/// The longest duration that is accepted: 30 days.
const LONGEST_MS: u64 = 30 * 86_400_000;

/// Reads `30s`, `1h30m`, `500ms`, and `30`, which is in seconds. The error says what was expected.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "a duration such as 30s, 5m, 1h30m or 500ms";
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = rest.split_at(n_digits);
        let number: u64 = digits.parse().map_err(|_| EXPECTED.to_owned())?;
        let unit = UNITS.iter().find(|(unit, _)| behind.starts_with(unit));
        let (unit, factor) = match unit {
            Some(unit) => *unit,
            None if behind.is_empty() && rest == text => ("", 1000),
            None => return Err(EXPECTED.to_owned()),
        };
        total = number.checked_mul(factor).and_then(|ms| total.checked_add(ms)).unwrap_or(u64::MAX);
        rest = &behind[unit.len()..];
    }
    match total {
        0 => Err(if text == "0" { "a duration above 0" } else { EXPECTED }.to_owned()),
        1..=LONGEST_MS => Ok(Duration::from_millis(total)),
        _ => Err("a duration of at most 30 days".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match calls(text) {
            Ok(calls) => calls.iter().map(in_words).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    fn in_words(call: &Call<'_>) -> String {
        let arguments: Vec<_> =
            call.arguments.iter().map(|argument| format!("{}@{}", argument.text, argument.column)).collect();
        format!("{}@{}[{}]", call.name, call.column, arguments.join(" "))
    }

    #[test]
    fn calls_keep_their_columns() {
        check("", "");
        check("const(1,2s)", "const@1[1@7 2s@9]");
        check(" a( 1 , x%)  b()", "a@2[1@5 x%@9] b@14[@16]");
    }

    #[test]
    fn broken_calls_say_where() {
        check("const", "column 6: expected \"(\", found nothing");
        check("const 1", "column 6: expected \"(\", found \" 1\"");
        check("const(1,2", "column 10: expected \")\", found nothing");
        check("a(1);b(2)", "column 5: expected a name, found \";b(2)\"");
    }

    #[test]
    fn durations_have_units() {
        for (text, expected) in
            [("30", 30_000), ("30s", 30_000), ("1h30m", 5_400_000), ("500ms", 500), ("1m1ms", 60_001)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(expected)), "{text}");
        }
        for text in ["", "s", "1x", "1m30", "1.5s", "-1s", "0", "0s", "31d", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
