//! The entries of a map: names, networks or shares, with their values.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::super::context::Context;
use super::super::schema::{self, ARRAY, Field, STRING};
use super::super::strings::parse_template;
use crate::json::{Bytes, Value};
use crate::map::{Network, NetworkFile, SPLIT_ALL, TableName};
use crate::template::Template;

/// Values by names.
pub(super) fn table(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(TableName, Template)> {
    each(cx, field, |cx, name, value| {
        let key = table_name(cx, name);
        let value = text(cx, name, value);
        key.zip(value).into_iter().collect()
    })
}

/// Values by networks, and by files that have networks.
#[derive(Default)]
pub(super) struct GeoDraft {
    pub(super) networks: Vec<(Network, Template)>,
    pub(super) files: Vec<NetworkFile>,
}

pub(super) fn geo(cx: &mut Context<'_>, field: Field<'_>) -> GeoDraft {
    let mut files = Vec::new();
    let networks = each(cx, field, |cx, name, value| {
        if name.starts_with(b"/") {
            let path = PathBuf::from(OsStr::from_bytes(name));
            let pointer = cx.pointer().to_owned();
            files.extend(text(cx, name, value).map(|value| NetworkFile { path, pointer, value }));
            return Vec::new();
        }
        let network = Network::parse(name);
        if network.is_err() {
            let advice = if **name == *b"default" { BESIDE } else { NETWORK };
            cx.problem_with_advice(format!("The name \"{name}\" is not a network."), advice);
        }
        let value = text(cx, name, value);
        network.ok().zip(value).into_iter().collect()
    });
    GeoDraft { networks, files }
}

/// Values by shares; one that has several values is that of each.
pub(super) fn split(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(u32, Template)> {
    let mut shares = each(cx, field, |cx, name, value| {
        let share = SplitShare::parse(name);
        if share.is_none() {
            let advice = if **name == *b"default" { BESIDE } else { SHARE };
            cx.problem_with_advice(format!("The name \"{name}\" is not a share."), advice);
        }
        let values = texts(cx, name, value);
        values.into_iter().filter_map(|value| Some((share?, value))).collect()
    });
    // The rest is behind all others, wherever it is written.
    shares.sort_by_key(|(share, _)| *share == SplitShare::Rest);
    let n_rests = shares.iter().filter(|(share, _)| *share == SplitShare::Rest).count().max(1);
    let sum: u64 = shares.iter().map(|(share, _)| share.hundredths(0)).map(u64::from).sum();
    let Some(left) = u32::try_from(sum).ok().and_then(|sum| SPLIT_ALL.checked_sub(sum)) else {
        let (whole, rest) = (sum / 100, sum % 100);
        cx.problem(format!("The shares must be 100 % together at most, and are {whole}.{rest:02} %."));
        return Vec::new();
    };
    let rest = left.div_ceil(u32::try_from(n_rests).unwrap_or(u32::MAX));
    shares.into_iter().map(|(share, value)| (share.hundredths(rest), value)).collect()
}

/// The entries of an object that `read` takes, each at its place.
fn each<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    mut read: impl FnMut(&mut Context<'_>, &Bytes, &Value) -> Vec<T>,
) -> Vec<T> {
    let mut entries = Vec::new();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| entries.extend(read(cx, name, value)));
    }
    entries
}

fn table_name(cx: &mut Context<'_>, name: &Bytes) -> Option<TableName> {
    if **name == *b"default" {
        cx.problem_with_advice("The name \"default\" is not one of a table.", BESIDE);
        return None;
    }
    match TableName::parse(name) {
        Ok(name) => Some(name),
        Err(error) => {
            let advice = if name.starts_with(b"~*") { EITHER_CASE } else { "" };
            cx.problem_with_advice(error.to_string(), advice);
            None
        }
    }
}

fn text(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<Template> {
    let name = name.to_string_lossy();
    match value {
        Value::String(text) => parse_template(cx, &name, text),
        _ => {
            schema::report_wrong_type(cx, &name, STRING, value);
            None
        }
    }
}

fn texts(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Vec<Template> {
    let Value::Array(values) = value else {
        return match value {
            Value::String(_) => text(cx, name, value).into_iter().collect(),
            _ => {
                schema::report_wrong_type(cx, &name.to_string_lossy(), STRING.or(ARRAY), value);
                Vec::new()
            }
        };
    };
    let values = values.iter().enumerate();
    values.filter_map(|(idx, value)| cx.at_index(idx, |cx| text(cx, name, value))).collect()
}

/// A share as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitShare {
    /// In hundredths of a percent.
    Part(u32),
    /// All that the others leave.
    Rest,
}

impl SplitShare {
    /// Reads `NUMBER%` with two decimals at most, or `*`.
    fn parse(text: &[u8]) -> Option<Self> {
        if text == b"*" {
            return Some(Self::Rest);
        }
        let number = std::str::from_utf8(text.strip_suffix(b"%")?).ok()?.trim_end();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || whole.len() > 3 || decimals.len() > 2 {
            return None;
        }
        let hundredths = format!("{whole}{decimals:0<2}").parse().ok()?;
        (1..=SPLIT_ALL).contains(&hundredths).then_some(Self::Part(hundredths))
    }

    fn hundredths(self, rest: u32) -> u32 {
        match self {
            Self::Part(hundredths) => hundredths,
            Self::Rest => rest,
        }
    }
}

/// Where the value of everything else is said.
const BESIDE: &str = "The value of what is not found is \"default\", beside the table.";

/// An expression of another server.
const EITHER_CASE: &str = "Letters in either case are \"~(?i)EXPRESSION\".";

/// The forms of a network.
const NETWORK: &str = "A network is an address, \"ADDRESS/PREFIX\" or \"FIRST-LAST\", without a port; a \
    file of networks begins with \"/\".";

/// The forms of a share.
const SHARE: &str = "A share is \"5%\" or \"0.25%\", of more than 0 and at most 100, or \"*\" for the rest.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_decimals() {
        for (text, expect) in [
            ("5%", Some(500)),
            ("5 %", Some(500)),
            ("0.5%", Some(50)),
            ("12.34%", Some(1234)),
            ("100%", Some(10_000)),
            ("0.01%", Some(1)),
            ("0%", None),
            ("0.001%", None),
            ("100.01%", None),
            ("1000%", None),
            ("-1%", None),
            ("+1%", None),
            (".5%", None),
            ("5.%", None),
            ("5", None),
            ("%", None),
            ("", None),
        ] {
            assert_eq!(SplitShare::parse(text.as_bytes()), expect.map(SplitShare::Part), "{text}");
        }
        assert_eq!(SplitShare::parse(b"*"), Some(SplitShare::Rest));
    }
}
