//! `match` (contract 9.1 and 9.2).

use super::super::context::Context;
use super::super::schema::{self, ARRAY, Field, Member, OBJECT, STRING, optional};
use super::super::strings::{address_patterns, condition, patterns};
use super::files;
use crate::json::{Bytes, Value};
use crate::pattern::{Flavor, PatternSet};
use crate::route::{Match, NameSet, NameSets, Scheme};

/// Reads all conditions of a step.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>, conditions: &mut Match) {
    schema::read_nested(cx, field, &[LINE, FIELDS, USER, CONNECTION, FILES], conditions);
}

const LINE: &[Member<Match>] = &[
    optional("method", STRING.or(ARRAY))
        .default("any")
        .means("the method; the pattern is compared in capitals")
        .read(|cx, field, conditions| conditions.method = patterns(cx, field, Flavor::UpperCased)),
    optional("host", STRING.or(ARRAY))
        .default("any")
        .means("the `Host` header: in small letters, without port and final dot; letters in either case")
        .read(|cx, field, conditions| conditions.host = patterns(cx, field, Flavor::CaseInsensitive)),
    optional("uri", STRING.or(ARRAY))
        .default("any")
        .means(
        "the path: decoded, without `.` and `..`, without the query, after `rewrite`; letters as they are",
    )
        .read(|cx, field, conditions| conditions.uri = patterns(cx, field, Flavor::PercentEncoded)),
    optional("query", STRING.or(ARRAY))
        .default("any")
        .means("the whole query, decoded (`%XX`, `+` is a space); letters as they are")
        .read(|cx, field, conditions| conditions.query = patterns(cx, field, Flavor::FormEncoded)),
];

const FIELDS: &[Member<Match>] = &[
    optional("arguments", OBJECT.or(ARRAY))
        .default("any")
        .means("an object: parameters of the query by name; letters as they are")
        .read(|cx, field, conditions| conditions.arguments = name_sets(cx, field, Flavor::FormEncoded)),
    optional("headers", OBJECT.or(ARRAY))
        .default("any")
        .means("an object: request headers by name; letters in either case, but not in a regular expression")
        .read(|cx, field, conditions| conditions.headers = name_sets(cx, field, Flavor::CaseInsensitive)),
    optional("cookies", OBJECT.or(ARRAY))
        .default("any")
        .means("an object: cookies by name; letters as they are")
        .read(|cx, field, conditions| conditions.cookies = name_sets(cx, field, Flavor::Plain)),
];

const USER: &[Member<Match>] = &[
    optional("remote_user", STRING.or(ARRAY))
        .default("any")
        .means(
            "the user that [`authenticate`](authentication.md) has let pass before; without a user no pattern matches, \
             negated or not (beyond Unit)",
        )
        .read(|cx, field, conditions| conditions.remote_user = patterns(cx, field, Flavor::Plain)),
    optional("jwt_claims", OBJECT.or(ARRAY))
        .default("any")
        .means(
            "an object: claims of [the token](authentication.md#tokens) by name; of an array, one element has to match \
             (beyond Unit)",
        )
        .read(|cx, field, conditions| conditions.claims = name_sets(cx, field, Flavor::Plain)),
];

const CONNECTION: &[Member<Match>] = &[
    optional("scheme", STRING)
        .default("any")
        .means("`http` or `https`, in either case")
        .read(|cx, field, conditions| conditions.scheme = scheme(cx, field)),
    optional("source", STRING.or(ARRAY))
        .default("any")
        .means("the client's address and port")
        .read(|cx, field, conditions| conditions.source = address_patterns(cx, field)),
    optional("destination", STRING.or(ARRAY))
        .default("any")
        .means("the address and port that it has connected to")
        .read(|cx, field, conditions| conditions.destination = address_patterns(cx, field)),
    optional("if", STRING)
        .default("always")
        .means(
            "a text with variables: no when it is empty, `0`, `false`, `null` or `undefined`; `!` in front \
             turns it around",
        )
        .read(|cx, field, conditions| conditions.condition = condition(cx, field)),
];

const FILES: &[Member<Match>] = &[optional("file", STRING.or(OBJECT).or(ARRAY))
    .default("any")
    .means(
        "a path that has to lead to a regular file, `!` in front of it to none; or an object that says [which kind of \
         file](#files); of a list one is enough (beyond Unit)",
    )
    .read(|cx, field, conditions| conditions.file = files::read(cx, field))];

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
