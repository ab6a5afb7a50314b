//! The groups that the templates of a step's action may name: those of the regular expressions in `match.uri`, or else
//! in `match.host`.

use super::super::context::Context;
use crate::json::{Object, Value};
use crate::pattern::{Flavor, PatternSet};
use crate::route::{CaptureSource, Captures};
use crate::template::Groups;

/// Conditions whose expressions may have groups, the first of which that has an expression counts.
const SOURCES: [(&str, Flavor, CaptureSource); 2] = [
    ("uri", Flavor::PercentEncoded, CaptureSource::Uri),
    ("host", Flavor::CaseInsensitive, CaptureSource::Host),
];

/// The groups of a step. It is read before its members are, whose order is free.
pub(super) fn of_step(cx: &mut Context<'_>, members: &Object) -> Option<Captures> {
    let conditions = members.get(b"match".as_slice())?.as_object()?;
    SOURCES.iter().find_map(|(name, flavor, source)| {
        let mut groups = Groups::new(cx.next_group());
        for text in texts(conditions.get(name.as_bytes())?) {
            let mut set = PatternSet::default();
            // Faults of a pattern are reported where conditions are read.
            if set.add(text, *flavor).is_ok() {
                set.expressions().for_each(|found| groups.add(found.source(), found.group_names()));
            }
        }
        cx.take_groups(&groups);
        (!groups.is_empty()).then_some(Captures { groups, source: *source })
    })
}

/// One text, or those of an array.
fn texts(value: &Value) -> impl Iterator<Item = &[u8]> {
    let elements = value.as_array().unwrap_or(std::slice::from_ref(value));
    elements.iter().filter_map(Value::as_bytes).map(|text| &**text)
}
