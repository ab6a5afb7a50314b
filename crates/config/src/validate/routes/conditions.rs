//! `match` (contract 9.1 and 9.2).

use super::super::context::Context;
use super::super::schema::{self, ARRAY, Field, Member, OBJECT, STRING};
use super::super::strings::{address_patterns, condition, patterns};
use crate::json::{Bytes, Value};
use crate::pattern::{Flavor, PatternSet};
use crate::route::{Match, NameSet, NameSets, Scheme};

/// Reads all conditions of a step.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>, conditions: &mut Match) {
    schema::read_nested(cx, field, &[LINE, FIELDS, CONNECTION], conditions);
}

const LINE: &[Member<Match>] = &[
    Member::optional("method", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.method = patterns(cx, field, Flavor::UpperCased);
    }),
    Member::optional("host", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.host = patterns(cx, field, Flavor::CaseInsensitive);
    }),
    Member::optional("uri", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.uri = patterns(cx, field, Flavor::PercentEncoded);
    }),
    Member::optional("query", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.query = patterns(cx, field, Flavor::FormEncoded);
    }),
];

const FIELDS: &[Member<Match>] = &[
    Member::optional("arguments", OBJECT.or(ARRAY), |cx, field, conditions| {
        conditions.arguments = name_sets(cx, field, Flavor::FormEncoded);
    }),
    Member::optional("headers", OBJECT.or(ARRAY), |cx, field, conditions| {
        conditions.headers = name_sets(cx, field, Flavor::CaseInsensitive);
    }),
    Member::optional("cookies", OBJECT.or(ARRAY), |cx, field, conditions| {
        conditions.cookies = name_sets(cx, field, Flavor::Plain);
    }),
];

const CONNECTION: &[Member<Match>] = &[
    Member::optional("scheme", STRING, |cx, field, conditions| conditions.scheme = scheme(cx, field)),
    Member::optional("source", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.source = address_patterns(cx, field);
    }),
    Member::optional("destination", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.destination = address_patterns(cx, field);
    }),
    Member::optional("if", STRING, |cx, field, conditions| conditions.condition = condition(cx, field)),
];

fn scheme(cx: &mut Context<'_>, field: Field<'_>) -> Option<Scheme> {
    let text = field.value.as_bytes()?;
    if text.eq_ignore_ascii_case(b"http") {
        return Some(Scheme::Http);
    }
    if text.eq_ignore_ascii_case(b"https") {
        return Some(Scheme::Https);
    }
    cx.problem("The \"scheme\" can either be \"http\" or \"https\".");
    None
}

/// One object of named patterns, or an array of them.
fn name_sets(cx: &mut Context<'_>, field: Field<'_>, flavor: Flavor) -> NameSets {
    let Value::Array(elements) = field.value else {
        return NameSets(vec![name_set(cx, field, flavor)]);
    };
    let sets = elements
        .iter()
        .enumerate()
        .map(|(idx, element)| cx.at_index(idx, |cx| name_set(cx, Field { value: element, ..field }, flavor)));
    NameSets(sets.collect())
}

fn name_set(cx: &mut Context<'_>, field: Field<'_>, flavor: Flavor) -> NameSet {
    let Some(members) = field.value.as_object() else {
        let expected = if flavor.is_encoded() { "an object" } else { "objects" };
        cx.problem(format!("The \"match\" patterns for \"{}\" must be {expected}.", field.name));
        return NameSet::default();
    };
    let pairs = members.iter().filter_map(|(name, value)| {
        cx.at(name, |cx| named_patterns(cx, name, Field { value, ..field }, flavor))
    });
    NameSet(pairs.collect())
}

fn named_patterns(
    cx: &mut Context<'_>,
    name: &Bytes,
    field: Field<'_>,
    flavor: Flavor,
) -> Option<(Vec<u8>, PatternSet)> {
    if name.is_empty() {
        cx.problem("The \"match\" pattern objects must not contain empty member names.");
        return None;
    }
    let set = patterns(cx, field, flavor);
    match flavor.read_literal(name) {
        Ok(name) => Some((name, set?)),
        Err(error) => {
            cx.problem(error.describe(field.name));
            None
        }
    }
}
