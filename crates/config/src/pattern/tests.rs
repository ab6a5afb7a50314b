//! Each form against values, and the wildcard matcher against a naive one.

use proptest::prelude::*;

use super::{Flavor, PatternSet};

fn compile(patterns: &[&str], flavor: Flavor) -> PatternSet {
    let mut set = PatternSet::default();
    for pattern in patterns {
        set.add(pattern.as_bytes(), flavor).unwrap();
    }
    set
}

#[track_caller]
fn check_flavor(flavor: Flavor, patterns: &[&str], matching: &[&str], others: &[&str]) {
    let set = compile(patterns, flavor);
    for value in matching {
        assert_eq!(set.matches(value.as_bytes()), Ok(true), "{patterns:?} must match {value:?}");
    }
    for value in others {
        assert_eq!(set.matches(value.as_bytes()), Ok(false), "{patterns:?} must not match {value:?}");
    }
}

#[track_caller]
fn check(patterns: &[&str], matching: &[&str], others: &[&str]) {
    check_flavor(Flavor::Plain, patterns, matching, others);
}

#[track_caller]
fn check_refused(pattern: &str, flavor: Flavor, expect: &str) {
    let error = PatternSet::default().add(pattern.as_bytes(), flavor).expect_err(pattern);
    assert_eq!(error.to_string(), expect, "{pattern}");
}

/// Compares the answer of a set for a value on which `~^(a+)+$` is given up.
#[track_caller]
fn check_undecided(patterns: &[&str], expect: Option<bool>) {
    let value = "a".repeat(64) + "!";
    assert_eq!(compile(patterns, Flavor::Plain).matches(value.as_bytes()).ok(), expect, "{patterns:?}");
}

#[test]
fn what_cannot_be_decided_is_neither_a_match_nor_none() {
    check_undecided(&["~^(a+)+$"], None);
    check_undecided(&["!~^(a+)+$"], None);
    check_undecided(&["!~^(a+)+$", "*"], None);
    check_undecided(&["~^(a+)+$", "/b"], None);
    // It is decided before the expression is looked at.
    check_undecided(&["a*", "~^(a+)+$"], Some(true));
    check_undecided(&["!a*", "~^(a+)+$"], Some(false));
}

#[test]
fn text_and_wildcards() {
    check(&[""], &[""], &["a"]);
    check(&["/a"], &["/a"], &["", "/", "/A", "/a/", "x/a"]);
    check(&["*"], &["", "a"], &[]);
    check(&["/a*"], &["/a", "/ab"], &["/", "", "x/a"]);
    check(&["*.php"], &[".php", "/x.php"], &["php", "/x.php/", "/x.phpx"]);
    check(&["a*a"], &["aa", "aba"], &["a", "", "ab", "ba"]);
    check(&["*ab*"], &["ab", "xab", "abx", "aab"], &["", "a", "ba"]);
    check(&["*a*b*"], &["ab", "xaxbx"], &["ba", "a", "b"]);
    check(&["ab*bc*cd"], &["abbccd", "abxbcxcd"], &["abccd", "abcd", "abbcd"]);
    check(&["a*aba*"], &["aaba", "aabaaba"], &["aba", "aab"]);
}

#[test]
fn regular_expressions() {
    check(&["~b+"], &["b", "abbc"], &["", "a", "B"]);
    check(&["~^/v[12]/"], &["/v1/", "/v2/x"], &["/v3/", "x/v1/"]);
    check(&["~"], &["", "a"], &[]);
    check(&["~(?i)abc$"], &["ABC", "xabc"], &["abcd"]);
    check(&["~^.$"], &["a"], &["é", ""]);
}

#[test]
fn negation_and_arrays() {
    check(&["!a"], &["", "b"], &["a"]);
    check(&["!"], &["a"], &[""]);
    check(&["!~^a"], &["b", ""], &["a", "ab"]);
    check(&["!*x"], &["", "xy"], &["x", "yx"]);
    check(&["!!a"], &["a", "b"], &["!a"]);
    check(&[], &["", "a"], &[]);
    check(&["a", "b"], &["a", "b"], &["c", ""]);
    check(&["a*", "!ab"], &["a", "ac"], &["ab", "b"]);
    check(&["!ab", "a*", "c"], &["a", "c"], &["ab", "b"]);
    check(&["!a", "!b"], &["c", ""], &["a", "b"]);
}

#[test]
fn of_several_values_one_has_to_match_and_none_may_be_excluded() {
    let check = |patterns: &[&str], values: &[&str], expect: bool| {
        let values: Vec<_> = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        let found = compile(patterns, Flavor::Plain).matches_some(&values);
        assert_eq!(found, Ok(expect), "{patterns:?} {values:?}");
    };
    check(&["a"], &["b", "a"], true);
    check(&["a"], &["b"], false);
    check(&["a", "!b"], &["a", "b"], false);
    check(&["a", "!b"], &["b", "a"], false);
    check(&["!b"], &["a"], true);
    check(&["!b"], &["a", "b"], false);
    check(&["!b"], &[], false);
    check(&["*"], &[], false);
    check(&[], &["a"], true);
}

#[test]
fn flavors_read_patterns_differently() {
    check_flavor(Flavor::CaseInsensitive, &["WWW.*.Org"], &["www.x.org", "WWW..ORG"], &["www.org"]);
    check_flavor(Flavor::CaseInsensitive, &["*Foo*Bar*"], &["xFOObar", "foo-BAR-"], &["barfoo"]);
    check_flavor(Flavor::CaseInsensitive, &["a"], &["a", "A"], &["b"]);
    check_flavor(Flavor::CaseInsensitive, &["~a"], &["a"], &["A"]);
    check_flavor(Flavor::UpperCased, &["get", "p*"], &["GET", "POST"], &["get", "HEAD"]);
    check_flavor(Flavor::UpperCased, &["~^g"], &["g"], &["GET"]);
    check_flavor(Flavor::PercentEncoded, &["/a%2Ab"], &["/a*b"], &["/a%2Ab", "/axb"]);
    check_flavor(Flavor::PercentEncoded, &["/%41*%20"], &["/A ", "/Ax "], &["/%41%20"]);
    check_flavor(Flavor::PercentEncoded, &["/a+b"], &["/a+b"], &["/a b"]);
    check_flavor(Flavor::PercentEncoded, &["%21x", "!%7ey"], &["!x"], &["x", "~y"]);
    check_flavor(Flavor::PercentEncoded, &["~^/%41"], &["/%41"], &["/A"]);
}

#[test]
fn faults_are_explained() {
    let double = "The \"match\" pattern must not contain double \"*\" markers.";
    check_refused("a**b", Flavor::Plain, double);
    check_refused("!**", Flavor::Plain, double);
    check_refused(
        "~[",
        Flavor::Plain,
        "Invalid regular expression: missing terminating ] for character class",
    );
    check_refused(
        "!~a)b",
        Flavor::Plain,
        "Invalid regular expression: unmatched closing parenthesis at offset 1",
    );
    check_refused(
        "~*a",
        Flavor::Plain,
        "Invalid regular expression: quantifier does not follow a repeatable item at offset 0",
    );
    check_refused("/%", Flavor::PercentEncoded, "The pattern is encoded but is invalid.");
    check_refused("/%4*1", Flavor::PercentEncoded, "The pattern is encoded but is invalid.");
    check_refused("~100%", Flavor::PercentEncoded, "The pattern is encoded but is invalid.");
    let error = PatternSet::default().add(b"~\xff", Flavor::Plain).unwrap_err();
    assert_eq!(error.to_string(), "Invalid regular expression: the expression is not valid UTF-8");
}

/// The definition, word for word: a star is any run of bytes.
fn matches_naively(pattern: &[u8], value: &[u8]) -> bool {
    match pattern.split_first() {
        None => value.is_empty(),
        Some((b'*', rest)) => (0..=value.len()).any(|skip| matches_naively(rest, &value[skip..])),
        Some((byte, rest)) => value.first() == Some(byte) && matches_naively(rest, &value[1..]),
    }
}

proptest! {
    #[test]
    fn wildcards_match_what_the_definition_matches(pattern in "(\\*?[ab]{0,3}){0,4}\\*?", value in "[ab]{0,10}") {
        prop_assume!(!pattern.contains("**"));
        let expect = matches_naively(pattern.as_bytes(), value.as_bytes());
        prop_assert_eq!(compile(&[&pattern], Flavor::Plain).matches(value.as_bytes()), Ok(expect));
        let shouted = value.to_ascii_uppercase();
        prop_assert_eq!(compile(&[&pattern], Flavor::CaseInsensitive).matches(shouted.as_bytes()), Ok(expect));
    }

    #[test]
    fn no_pattern_panics(input in "[!~*%a-f0-9(){}\\[\\]+?\\\\|^$\n.]{0,40}") {
        crate::fuzz::fuzz_pattern(input.as_bytes());
    }
}
