//! `options_by_path` of PHP applications: settings for the requests of some paths (beyond Unit).

use super::context::Context;
use super::label::Label;
use super::php::{self, PhpOptions};
use super::schema::{self, Field, OBJECT, optional};
use crate::json::{Bytes, Value};
use crate::pattern::{Flavor, PatternSet};
use crate::plan::PhpPathOptions;

/// The row of the option.
pub(super) const BY_PATH: Label = optional("options_by_path", OBJECT).means(
    "an object: [settings for some paths](#settings-for-some-paths), by patterns as in `match.uri`, each with `admin` \
     and `user` as in `options` (beyond Unit)",
);

/// Settings that PHP takes while it starts, for all requests.
const OF_THE_START: [&str; 4] = ["extension", "zend_extension", "disable_functions", "disable_classes"];

/// Reads all patterns, in the order of the document.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<PhpPathOptions> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(pattern, value)| cx.at(pattern, |cx| read_one(cx, pattern, value))).collect()
}

fn read_one(cx: &mut Context<'_>, pattern: &Bytes, value: &Value) -> Option<PhpPathOptions> {
    if let Err(error) = PatternSet::default().add(pattern, Flavor::PercentEncoded) {
        cx.problem(format!("The pattern \"{pattern}\" is invalid: {error}."));
        return None;
    }
    let Some(members) = value.as_object() else {
        schema::report_wrong_type(cx, &pattern.to_string_lossy(), OBJECT, value);
        return None;
    };
    let mut draft = PhpOptions::default();
    schema::read_object(cx, members, &[php::SETTINGS], &mut draft);
    let PhpOptions { admin, user, .. } = draft;
    for (side, settings) in [(&b"admin"[..], &admin), (b"user", &user)] {
        for (name, _) in settings.iter().filter(|(name, _)| is_of_the_start(name)) {
            cx.at(side, |cx| cx.at(name.as_bytes(), |cx| report_start(cx, name)));
        }
    }
    Some(PhpPathOptions { pattern: pattern.to_str()?.to_owned(), admin, user })
}

fn is_of_the_start(name: &str) -> bool {
    name.starts_with("opcache.") || OF_THE_START.contains(&name)
}

fn report_start(cx: &mut Context<'_>, name: &str) {
    cx.problem_with_advice(
        format!("PHP takes the setting \"{name}\" when it starts, so that it is the same for all paths."),
        "It belongs in the \"options\" of the application.",
    );
}
