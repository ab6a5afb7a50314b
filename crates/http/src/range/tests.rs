//! Range fields and the layout of replies with several parts.

use super::*;

/// A field, a size, and `first-last` of each part, or `whole` or `none`.
#[track_caller]
fn check(field: &str, size: u64, expect: &str) {
    let show = |ranges: &[ByteRange]| {
        let shown: Vec<_> = ranges.iter().map(|range| format!("{}-{}", range.first, range.last)).collect();
        shown.join(" ")
    };
    let seen = match select(field.as_bytes(), size) {
        RangeSelection::Whole => "whole".into(),
        RangeSelection::Unsatisfiable => "none".into(),
        RangeSelection::One(one) => show(&[one]),
        RangeSelection::Many(many) => show(&many),
    };
    assert_eq!(seen, expect, "{field} of {size}");
}

#[test]
fn one_range_is_cut_to_the_size() {
    check("bytes=0-0", 10, "0-0");
    check("bytes=2-", 10, "2-9");
    check("bytes=2-99", 10, "2-9");
    check("bytes=-3", 10, "7-9");
    check("bytes=-99", 10, "0-9");
    check("bytes=0-99999999999999999999999", 10, "0-9");
    check("BYTES= 1-2 ,", 10, "1-2");
}

#[test]
fn what_is_past_the_end_cannot_be_satisfied() {
    check("bytes=10-", 10, "none");
    check("bytes=10-12,20-30", 10, "none");
    check("bytes=-0", 10, "none");
    check("bytes=99999999999999999999999-", 10, "none");
    check("bytes=0-", 0, "none");
    check("bytes=-5", 0, "whole");
    check("bytes=-0", 0, "none");
}

#[test]
fn malformed_fields_are_ignored() {
    for field in [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=,",
        "bytes=a-b",
        "bytes=5-2",
        "bytes=1-2,5-2",
        "bytes=+1-2",
        "bytes=1-2-3",
        "lines=1-2",
        "bytes 1-2",
        "bytes=1 - 2",
        "bytes=--1",
        "bytes=0x1-2",
        "bytes =1-2",
    ] {
        check(field, 10, "whole");
    }
}

#[test]
fn ranges_are_joined_but_keep_their_order() {
    check("bytes=0-9,1000-1009", 5000, "0-9 1000-1009");
    check("bytes=1000-1009,0-9", 5000, "1000-1009 0-9");
    check("bytes=0-9,10-19", 5000, "0-19");
    check("bytes=0-9,100-109", 5000, "0-109");
    check("bytes=0-,-1", 5000, "0-4999");
    check("bytes=3000-3009,1000-1009,3005-3019,9000-", 5000, "3000-3019 1000-1009");
    check(&format!("bytes={}", ["0-"; 64].join(",")), 5000, "0-4999");
    check(&format!("bytes={}", ["0-"; 65].join(",")), 5000, "whole");
}

#[test]
fn content_range_shows_both_ends_and_the_size() {
    let mut out = Vec::new();
    ByteRange { first: 2, last: 9 }.append_content_range(10, &mut out);
    out.push(b'|');
    append_unsatisfied(10, &mut out);
    assert_eq!(out, b"bytes 2-9/10|bytes */10");
}

#[test]
fn parts_are_as_long_as_announced() {
    let file: Vec<u8> = (0..2000u32).map(|n| b'a' + (n % 26) as u8).collect();
    for content_type in [None, Some(&b"text/plain"[..])] {
        let RangeSelection::Many(ranges) = select(b"bytes=1990-,0-2", 2000) else { panic!("two ranges") };
        let multipart = Multipart::new(ranges, 2000, content_type, Boundary::new(u64::MAX));
        let mut out = Vec::new();
        for range in multipart.ranges() {
            multipart.append_part_head(range, &mut out);
            out.extend_from_slice(&file[range.first as usize..=range.last as usize]);
        }
        multipart.append_end(&mut out);
        assert_eq!(out.len() as u64, multipart.content_length());
        let text = String::from_utf8(out).expect("ASCII");
        assert!(text.starts_with("\r\n--18446744073709551615\r\n"), "{text}");
        assert!(text.contains("\r\nContent-Range: bytes 1990-1999/2000\r\n\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nabc\r\n--18446744073709551615--\r\n"), "{text}");
        assert_eq!(text.contains("Content-Type: text/plain\r\n"), content_type.is_some());
        assert_eq!(multipart.content_type(), b"multipart/byteranges; boundary=18446744073709551615");
    }
}

proptest::proptest! {
    #[test]
    fn any_list_of_ranges_is_kept_in_bounds(field in "bytes=[0-9, -]{0,40}", size in 0u32..2000) {
        let mut data = size.to_le_bytes()[..3].to_vec();
        data.extend_from_slice(field.as_bytes());
        crate::fuzz::fuzz_range(&data);
    }
}
