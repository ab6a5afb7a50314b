//! `uidmap` and `gidmap`: which numbers of a user namespace stand for which outside.

use super::super::context::Context;
use super::super::scalars::integer;
use super::super::schema::{self, Field, INTEGER, Member, required};
use crate::json::Value;
use crate::plan::IdRange;

/// Reads a map. The kernel refuses one whose ranges overlap, without saying so.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<IdRange> {
    let elements = field.value.as_array().map_or(&[][..], |elements| elements);
    if elements.len() > MAX_RANGES {
        cx.problem(format!("The \"{}\" array must not contain more than {MAX_RANGES} ranges.", field.name));
    }
    let mut ranges: Vec<IdRange> = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| {
            let Some(range) = read_range(cx, field.name, element) else { return };
            if ranges.iter().any(|other| overlap(*other, range)) {
                cx.problem(format!("The \"{}\" range overlaps another one.", field.name));
            }
            ranges.push(range);
        });
    }
    ranges
}

fn read_range(cx: &mut Context<'_>, name: &str, element: &Value) -> Option<IdRange> {
    let Some(members) = element.as_object() else {
        cx.problem(format!("The \"{name}\" array must contain only object values."));
        return None;
    };
    let mut draft = MapDraft::default();
    schema::read_object(cx, members, &[RANGE], &mut draft);
    let range = IdRange { container: draft.container?, host: draft.host?, size: draft.size? };
    let is_too_long = |first: u32| u64::from(first) + u64::from(range.size) > u64::from(u32::MAX);
    if is_too_long(range.container) || is_too_long(range.host) {
        cx.problem(format!("The \"{name}\" range goes beyond the greatest number, {GREATEST}."));
        return None;
    }
    Some(range)
}

/// Written by the rows below.
#[derive(Default)]
struct MapDraft {
    container: Option<u32>,
    host: Option<u32>,
    size: Option<u32>,
}

const RANGE: &[Member<MapDraft>] = &[
    required("container", INTEGER).read(|cx, field, draft| draft.container = number(cx, field, 0)),
    required("host", INTEGER).read(|cx, field, draft| draft.host = number(cx, field, 0)),
    required("size", INTEGER).read(|cx, field, draft| draft.size = number(cx, field, 1)),
];

fn number(cx: &mut Context<'_>, field: Field<'_>, least: i64) -> Option<u32> {
    integer(cx, field, least..=i64::from(GREATEST)).and_then(|number| u32::try_from(number).ok())
}

fn overlap(a: IdRange, b: IdRange) -> bool {
    let meet = |a_first: u32, b_first: u32| {
        let (a_first, b_first) = (u64::from(a_first), u64::from(b_first));
        a_first < b_first + u64::from(b.size) && b_first < a_first + u64::from(a.size)
    };
    meet(a.container, b.container) || meet(a.host, b.host)
}

/// The one above stands for "no user".
const GREATEST: u32 = u32::MAX - 1;

/// The kernel's limit (user_namespaces(7)).
const MAX_RANGES: usize = 340;
