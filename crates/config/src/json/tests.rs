//! The dialect, case by case, and that printing loses nothing.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{Bytes, Number, Value, parse};

/// `expect` is the value in compact form.
#[track_caller]
fn check(text: &str, expect: &str) {
    let value = parse(text.as_bytes()).map_err(|error| format!("{text}: {error}")).unwrap();
    assert_eq!(String::from_utf8(value.compact()).unwrap(), expect, "{text}");
}

/// `place` is offset, line and column of the fault; `detail` a part of its description.
#[track_caller]
fn check_fault(text: &str, place: (usize, usize, usize), detail: &str) {
    let error = parse(text.as_bytes()).expect_err(text);
    let (offset, line, column) = place;
    assert_eq!((error.offset, error.position), (offset, Some((line, column))), "{text}: {error}");
    assert!(error.detail.contains(detail), "{text}: {error}");
    assert!(error.detail.ends_with('.'), "{text}: {error}");
}

#[test]
fn values_of_all_types() {
    check("null", "null");
    check(" true ", "true");
    check("\tfalse\r\n", "false");
    check("\"\"", r#""""#);
    check("[]", "[]");
    check("{}", "{}");
    check("[1, [2, {\"a\": null}]]", r#"[1,[2,{"a":null}]]"#);
    check("{\"b\": 1, \"a\": 2}", r#"{"b":1,"a":2}"#);
    check("\u{feff}{}", "{}");
}

#[test]
fn comments_and_trailing_commas() {
    check("// first\n{ /* a */ \"a\" /* b */ : /**/ 1 // c\n , }// end", r#"{"a":1}"#);
    check("[1, 2, /* * / */ ]", "[1,2]");
    check("[\n1,\n//]\n]", "[1]");
    check("\"// no comment\"", r#""// no comment""#);
}

#[test]
fn numbers_keep_their_spelling() {
    for text in ["0", "-0", "10", "1e1", "1E+1", "10.0", "-1.25e-2", "99999999999999", "9e18"] {
        check(text, text);
    }
}

#[test]
fn strings_are_decoded() {
    check(r#""\"\\\/\b\f\n\r\t""#, r#""\"\\/\b\f\n\r\t""#);
    check(r#""\u0041\u00e9\u20ac""#, r#""Aé€""#);
    check(r#""\ud83d\ude00""#, r#""😀""#);
    check(r#""\u0000\u001f""#, r#""\u0000\u001f""#);
    check("\"\u{7f}\"", "\"\u{7f}\"");
}

#[test]
fn bytes_that_are_not_utf8_pass_through() {
    let text = b"{\"\xff\":\"a\xfe\"}";
    assert_eq!(parse(text).unwrap().compact(), text);
    let error = parse(b"[\"\xff\", x]").unwrap_err();
    assert_eq!((error.offset, error.position), (6, None));
}

#[test]
fn faults_are_located() {
    check_fault("", (0, 1, 1), "empty");
    check_fault(" \n ", (3, 2, 2), "empty");
    check_fault("\u{feff}", (0, 1, 1), "empty");
    check_fault("\u{feff}x", (0, 1, 1), "value is expected");
    check_fault("nul", (0, 1, 1), "value is expected");
    check_fault("[1] 2", (4, 1, 5), "after the end");
    check_fault("{", (0, 1, 1), "closing brace");
    check_fault("[{\"a\": 1,", (1, 1, 2), "closing brace");
    check_fault("{a: 1}", (1, 1, 2), "double quote");
    check_fault("{,}", (1, 1, 2), "double quote");
    check_fault("{\n \"é\" 1}", (8, 2, 6), "colon");
    check_fault("{\"a\"", (4, 1, 5), "colon");
    check_fault("{\"a\":}", (5, 1, 6), "no value");
    check_fault("{\"a\":", (5, 1, 6), "no value");
    check_fault("{\"a\": 1 \"b\": 2}", (8, 1, 9), "comma");
    check_fault("{\"a\": 1,\n \"a\": 2}", (10, 2, 2), "two members");
    check_fault("{\"a\": 1, \"\\u0061\": 2}", (9, 1, 10), "two members");
    check_fault("[1", (0, 1, 1), "closing bracket");
    check_fault("[1 2]", (3, 1, 4), "comma");
    check_fault("[,]", (1, 1, 2), "value is expected");
    check_fault("[1,,]", (3, 1, 4), "value is expected");
    check_fault("/", (0, 1, 1), "slash");
    check_fault("/* * ", (0, 1, 1), "no end");
    check_fault("[1, / 2]", (4, 1, 5), "slash");
}

#[test]
fn faults_in_strings() {
    check_fault("\"abc", (0, 1, 1), "closing quote");
    check_fault("\"a\nb\"", (2, 1, 3), "control character");
    check_fault("\"\\x\"", (1, 1, 2), "backslash");
    check_fault("\"\\", (1, 1, 2), "backslash");
    check_fault("\"\\u12g4\"", (1, 1, 2), "hexadecimal");
    check_fault("\"\\u+123\"", (1, 1, 2), "hexadecimal");
    check_fault("\"\\u12", (1, 1, 2), "hexadecimal");
    check_fault("\"\\ud800\"", (1, 1, 2), "surrogate");
    check_fault("\"\\ud800\\n\"", (1, 1, 2), "surrogate");
    check_fault("\"\\ud800\\u0041\"", (1, 1, 2), "surrogate");
    check_fault("\"\\udc00\"", (1, 1, 2), "surrogate");
}

#[test]
fn faults_in_numbers() {
    check_fault("-", (1, 1, 2), "digit");
    check_fault("01", (0, 1, 1), "leading zeros");
    check_fault("-00", (1, 1, 2), "leading zeros");
    check_fault(".5", (0, 1, 1), "value is expected");
    check_fault("+5", (0, 1, 1), "value is expected");
    check_fault("5.", (2, 1, 3), "decimal point");
    check_fault("5.e1", (2, 1, 3), "decimal point");
    check_fault("5e", (2, 1, 3), "exponent");
    check_fault("5e+", (3, 1, 4), "exponent");
    check_fault("123456789012345", (0, 1, 1), "14 characters");
    check_fault("1e19", (0, 1, 1), "out of range");
    check_fault("-1e400", (0, 1, 1), "out of range");
    check_fault("1x", (1, 1, 2), "after the end");
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    let value = parse(nested(100).as_bytes()).unwrap();
    assert_eq!(value.depth(), 100);
    let error = parse(nested(101).as_bytes()).unwrap_err();
    assert_eq!(error.offset, 100);
    assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
}

#[test]
fn integers_are_told_from_fractions() {
    let is_integer = |text: &str| parse(text.as_bytes()).unwrap().as_number().unwrap().is_integer();
    assert!(is_integer("1e1") && is_integer("10.0") && is_integer("-0.0") && is_integer("9e18"));
    assert!(!is_integer("0.5") && !is_integer("1e-1"));
}

#[test]
fn pretty_form_is_that_of_unit() {
    let text = r#"{"listeners": {"*:80": {"pass": "routes"}}, "routes": [{"action": {"return": 200}}, {}], "empty": {}, "n": 1}"#;
    let expect = concat!(
        "{\r\n\t\"listeners\": {\r\n\t\t\"*:80\": {\r\n\t\t\t\"pass\": \"routes\"\r\n\t\t}\r\n\t},\r\n\r\n",
        "\t\"routes\": [\r\n\t\t{\r\n\t\t\t\"action\": {\r\n\t\t\t\t\"return\": 200\r\n\t\t\t}\r\n",
        "\t\t},\r\n\t\t{}\r\n\t],\r\n\r\n",
        "\t\"empty\": {},\r\n\t\"n\": 1\r\n}\r\n",
    );
    assert_eq!(String::from_utf8(parse(text.as_bytes()).unwrap().pretty()).unwrap(), expect);
    assert_eq!(Value::from("x").pretty(), b"\"x\"\r\n");
    assert_eq!(Value::empty_object().pretty(), b"{}\r\n");
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,2})?([eE][+-]?[0-9])?";
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(Number::scan(text.as_bytes()).unwrap().0)),
        vec(any::<u8>(), 0..20).prop_map(|bytes| Value::String(Bytes::from(bytes))),
        ".{0,10}".prop_map(|text| Value::from(text.as_str())),
    ];
    scalar.prop_recursive(5, 60, 6, |inner| {
        let name = vec(any::<u8>(), 0..5).prop_map(Bytes::from);
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            btree_map(name, inner, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(value in any_value()) {
        prop_assert_eq!(parse(&value.compact()), Ok(value.clone()));
        prop_assert_eq!(parse(&value.pretty()), Ok(value));
    }

    #[test]
    fn no_input_panics(input in vec(any::<u8>(), 0..200)) {
        crate::fuzz::fuzz_json(&input);
    }

    #[test]
    fn no_almost_json_panics(input in "[\\[\\]{}:,\"\\\\/*u0-9a-fe.+\\- \n]{0,60}") {
        crate::fuzz::fuzz_json(input.as_bytes());
    }
}
