//! Rules against seconds that are made up.

use super::Rule;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::tally::Tally;

/// A second of answers: `200*9 500 timeout 50ms:200`.
fn second(words: &str) -> Tally {
    let mut tally = Tally::default();
    for word in words.split_whitespace() {
        let (word, n) = word.split_once('*').unwrap_or((word, "1"));
        let (ms, word) = word.split_once("ms:").unwrap_or(("1", word));
        let end = ms.parse::<u64>().expect("a number of milliseconds") * 1_000_000;
        let failure = Failure::ALL.into_iter().find(|failure| failure.key() == word);
        let status = word.parse().unwrap_or(0);
        let job = Job { taken: 0, ..Job::new(0, 0) };
        let outcome = Outcome { job, marks: Marks::default(), end, failure, status, size_out: 0, size_in: 0 };
        (0..n.parse().expect("a number")).for_each(|_: u32| tally.record(&outcome, true));
    }
    tally
}

/// The number of the second, from 1, that ends the run.
#[track_caller]
fn check(rule: &str, seconds: &[&str], expected: Option<usize>) {
    let mut rules = Rule::parse_all(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
    let ends = |words: &&str| rules.iter_mut().any(|rule| rule.is_broken_by(&second(words), 7));
    assert_eq!(seconds.iter().position(ends).map(|at| at + 1), expected, "{rule} {seconds:?}");
}

#[test]
fn means_and_percentiles_have_limits() {
    check("time(10ms,2s)", &["20ms:200", "1ms:200", "20ms:200", "20ms:200"], Some(4));
    check("time(10ms,2s)", &["20ms:200", "1ms:200*19 99ms:200"], None);
    check("quantile(90,10ms,1s)", &["1ms:200*9 99ms:200", "1ms:200*8 99ms:200*2"], Some(2));
}

#[test]
fn statuses_are_counted_or_shared() {
    check("http(5xx,10%,2s)", &["200*9 500", "200*9 503", "200"], Some(2));
    check("http(5xx,10%,1s)", &["200*10 500", "404*9"], None);
    check("http(404,2,1s)", &["404", "404*2"], Some(2));
    check("http(5xx,50%,1s)", &["500 timeout"], Some(1));
    check("http(5xx,51%,1s)", &["500 timeout"], None);
}

#[test]
fn errors_of_the_network_have_numbers() {
    check("net(xx,1,1s)", &["200 500", "timeout"], Some(2));
    check("net(110,1,1s)", &["reset", "timeout"], Some(2));
    check("net(10x,50%,1s)", &["200*2 reset", "200 reset"], Some(2));
}

#[test]
fn a_second_without_an_end_tells_nothing() {
    check("time(10ms,2s)", &["20ms:200", "", "20ms:200"], Some(3));
    check("limit(3s)", &["", "", ""], Some(3));
    check("instances(7,2s)", &["", ""], Some(2));
    check("instances(8,1s)", &["200"], None);
}

#[test]
fn rules_are_told_as_they_were_written() {
    let rules = Rule::parse_all(" time(1s, 10s)  http(5xx,10%,10s)").expect("they are right");
    let texts: Vec<_> = rules.iter().map(Rule::text).collect();
    assert_eq!(texts, ["time(1s, 10s)", "http(5xx,10%,10s)"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, expected) in [
        ("tme(1s,1s)", "column 1: expected time, quantile, http, net, instances or limit, found \"tme\""),
        ("time(1s)", "column 1: expected time(MEAN,PERIOD), found 1 arguments"),
        ("time(1s,500ms)", "column 9: expected whole seconds, found \"500ms\""),
        ("http(5,1,1s)", "column 6: expected a status such as 404 or 5xx, found \"5\""),
        ("http(5xx,101%,1s)", "column 10: expected a percentage from 0 to 100, found \"101%\""),
        ("net(1234,1,1s)", "column 5: expected an error number such as 110, 11x or xx, found \"1234\""),
        ("net(xx,x,1s)", "column 8: expected a number such as 10, or a share such as 5%, found \"x\""),
    ] {
        let error = Rule::parse_all(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}
