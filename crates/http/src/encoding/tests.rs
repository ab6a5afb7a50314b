//! Choices by `Accept-Encoding`.

use super::*;

/// Field values, what is available, and the choice.
#[track_caller]
fn check(values: &[&str], available: &[ContentCoding], expect: Option<ContentCoding>) {
    let accepted = Accepted::parse(values.iter().map(|value| value.as_bytes()));
    assert_eq!(accepted.choose(available), expect, "{values:?} of {available:?}");
}

const ALL: &[ContentCoding] =
    &[ContentCoding::Identity, ContentCoding::Gzip, ContentCoding::Zstd, ContentCoding::Br];
const PLAIN: &[ContentCoding] = &[ContentCoding::Identity];

#[test]
fn the_best_of_equals_is_ours_to_choose() {
    check(&["gzip, deflate, br, zstd"], ALL, Some(ContentCoding::Br));
    check(&["gzip, zstd"], ALL, Some(ContentCoding::Zstd));
    check(&["gzip", "BR"], ALL, Some(ContentCoding::Br));
    check(&["x-gzip"], ALL, Some(ContentCoding::Gzip));
    check(&["*"], ALL, Some(ContentCoding::Br));
    check(&["gzip, br"], &[ContentCoding::Identity, ContentCoding::Gzip], Some(ContentCoding::Gzip));
    check(&["gzip, br"], PLAIN, Some(ContentCoding::Identity));
}

#[test]
fn weights_decide() {
    check(&["br;q=0.5, gzip;q=0.501"], ALL, Some(ContentCoding::Gzip));
    check(&["br;q=0, *"], ALL, Some(ContentCoding::Zstd));
    check(&["gzip;q=0.1"], ALL, Some(ContentCoding::Gzip));
    check(&["gzip;q=0.1, identity;q=0.2"], ALL, Some(ContentCoding::Identity));
    check(&["gzip ; Q=1.000"], ALL, Some(ContentCoding::Gzip));
    check(&["gzip;q=0"], ALL, Some(ContentCoding::Identity));
}

#[test]
fn the_file_itself_is_sent_unless_forbidden() {
    check(&[], ALL, Some(ContentCoding::Identity));
    check(&[""], ALL, Some(ContentCoding::Identity));
    check(&["deflate"], ALL, Some(ContentCoding::Identity));
    check(&["identity;q=0"], PLAIN, None);
    check(&["*;q=0"], PLAIN, None);
    check(&["*;q=0, identity"], PLAIN, Some(ContentCoding::Identity));
    check(&["identity;q=0, gzip"], ALL, Some(ContentCoding::Gzip));
    check(&["*;q=0.5"], PLAIN, Some(ContentCoding::Identity));
}

#[test]
fn malformed_elements_count_for_nothing() {
    for value in
        ["br;q=2", "br;q=1.001", "br;q=0.1234", "br;q=", "br;q=.5", "br;x=1", "br;q=1;q=1", "b r", "br;q=0.x"]
    {
        check(&[value], ALL, Some(ContentCoding::Identity));
    }
}

#[test]
fn nobody_looks_for_siblings_in_vain() {
    let accepts = |value: &'static str| Accepted::parse([value.as_bytes()].into_iter()).accepts_compressed();
    assert!(accepts("gzip") && accepts("*"));
    assert!(!accepts("") && !accepts("identity") && !accepts("gzip;q=0"));
}
