//! Every option is in the index, and has a test that proves it.

mod claims;
mod numbers;

use std::collections::BTreeSet;

use corral_testkit::options;

use crate::sources::{repository, sources, text};

#[test]
fn every_option_has_a_test_and_every_test_names_options_that_exist() {
    let claims = claims::claims();
    let known: BTreeSet<String> = options::options().iter().map(|row| row.path.to_owned()).collect();
    // A test of an option inside an object is one of the object.
    let is_claimed = |option: &str| claims.keys().any(|claim| is_or_is_in(claim, option));
    let is_tested = |option: &String| is_claimed(option) || is_claimed(&twin(option));
    let untested: Vec<_> = known.iter().filter(|option| !is_tested(option)).collect();
    let unknown: Vec<_> = claims.iter().filter(|(option, _)| !known.contains(*option)).collect();
    assert!(
        untested.is_empty() && unknown.is_empty(),
        "no test has these on an `Options:` line of its documentation: {untested:#?}\n\
         these are named there and not in options.txt: {unknown:#?}"
    );
}

/// Upstreams have the options of `proxy_options` among their own members, read by the same tables.
fn twin(option: &str) -> String {
    option.replace("upstreams.{N}.", "routes[].action.proxy_options.")
}

fn is_or_is_in(option: &str, outer: &str) -> bool {
    option.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whatever the validator reads is in the index, so that it is walked.
#[test]
fn every_member_that_the_validator_reads_is_in_the_index() {
    let options = options::options();
    let names: BTreeSet<&str> = options
        .iter()
        .filter_map(|row| row.path.rsplit('.').next())
        .map(|name| name.trim_end_matches("[]"))
        .collect();
    let mut missing = BTreeSet::new();
    for path in sources(&repository().join("crates/config/src")) {
        let text = text(&path);
        let members = ["optional(", "required("].iter().flat_map(|call| text.split(call).skip(1));
        let quoted = members.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
        missing.extend(quoted.filter(|name| !names.contains(name)).map(str::to_owned));
    }
    assert!(missing.is_empty(), "not in options.txt: {missing:#?}");
}
