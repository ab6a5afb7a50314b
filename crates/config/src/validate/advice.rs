//! Sentences behind the words of a problem: what would have been right. Unit says what is wrong, and its
//! words stay as they are.

use super::types::{ARRAY, BOOL, INTEGER, NUMBER, STRING, Types, type_of};
use crate::json::{Number, Value};

/// The forms of an address to listen on.
pub(super) const LISTENER: &str = "An address is \"*:PORT\", \"IP:PORT\", \"[IPv6]:PORT\", \"unix:PATH\" or \
    \"unix:@NAME\", with a PORT from 1 to 65535; a host name is not one.";

/// The forms of `rate`.
pub(super) const RATE: &str =
    "A rate is a number of requests in a second, a minute or an hour: \"10/s\", \"100/m\" or \"1000/h\".";

/// Where a listener's certificates come from.
pub(super) const CERTIFICATE: &str =
    "Name an uploaded bundle, or set \"acme\" to true for automatic certificates.";

/// How a certificate and its key in files become a bundle.
pub(super) const BUNDLE: &str = "A bundle has chain and key in one. Upload it, `cat CHAIN KEY | corral certificate put \
    NAME -`, or put it beside the configuration file as certificates/NAME.pem; then \"certificate\": \"NAME\" names \
    it.";

/// The form of a host name.
pub(super) const HOST_NAME: &str = "A host name is written as in a browser, without \"https://\" and port; \"*.\" in \
    front stands for one label, and an address is none.";

/// The form of the URL of a directory.
pub(super) const DIRECTORY: &str = "The form is \"https://HOST/PATH\", as the authority has published it.";

/// The forms of an origin.
pub(super) const ORIGIN: &str = "The form is \"https://HOST\" as browsers write it, with \":PORT\" where that is not \
    the usual one, and without a path; \"*.\" in front of the host stands for all names below it.";

/// The form of the URL of a set of keys.
pub(super) const KEY_URL: &str = "The form is \"https://HOST/PATH\" or \"http://HOST:PORT/PATH\".";

/// The form of the URL of `forward`.
pub(super) const FORWARD_URL: &str = "The form is \"http://HOST:PORT/PATH\" or \"https://HOST:PORT/PATH\".";

/// The forms of `proxy`.
pub(super) const PROXY: &str = "The form is \"http://HOST:PORT\", \"https://HOST:PORT\" or \"http://unix:PATH\", \
     with a port and without a path.";

/// The forms of a server in `mirror`.
pub(super) const MIRROR: &str = "The form is \"http://HOST:PORT\", \"https://HOST:PORT\", \"http://unix:PATH\" or \
    \"upstreams/NAME\", with a port and without a path.";

/// The forms of `fastcgi`, `scgi` and `uwsgi`.
pub(super) const GATEWAY: &str = "The form is \"unix:PATH\", \"HOST:PORT\" or \"upstreams/NAME\".";

/// The forms of a name in `servers`.
pub(super) const SERVER: &str = "The form is \"HOST:PORT\", \"http://HOST:PORT\", \"https://HOST:PORT\" or \
    \"unix:PATH\", with a port and without a path.";

/// The forms of an address pattern.
pub(super) const ADDRESS_PATTERN: &str = "A pattern is an IP address, a range \"FROM-TO\", a network such as \
    \"10.0.0.0/8\", any of these with \":PORT\" or \":FROM-TO\" behind it, \"*:PORT\" or \"unix\"; a host name is \
    not one.";

/// How a value of a wrong type is written in the right one; empty when that cannot be known.
pub(super) fn for_type(expected: Types, value: &Value) -> String {
    match value {
        Value::String(text) => for_text(expected, text.to_string_lossy().trim()),
        Value::Number(_) | Value::Bool(_) if expected == STRING => {
            format!("Write it in quotes: \"{}\".", String::from_utf8_lossy(&value.compact()))
        }
        _ => String::new(),
    }
}

fn for_text(expected: Types, text: &str) -> String {
    if expected.contains(NUMBER) {
        return for_number(expected, text);
    }
    if expected.contains(BOOL) {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => "Write it without quotes: true.".to_owned(),
            "false" | "no" | "off" | "0" => "Write it without quotes: false.".to_owned(),
            _ => String::new(),
        };
    }
    if expected.contains(ARRAY) {
        return "Write it in brackets, each string in quotes of its own.".to_owned();
    }
    String::new()
}

fn for_number(expected: Types, text: &str) -> String {
    match Number::scan(text.as_bytes()) {
        Ok((number, len)) if len == text.len() => {
            let is_accepted = expected.contains(type_of(&Value::Number(number)));
            if is_accepted { format!("Write it without quotes: {text}.") } else { String::new() }
        }
        Ok(_) if expected.contains(INTEGER) => {
            "Write a number without quotes or a unit: times are in seconds, sizes in bytes.".to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{ANY, OBJECT};
    use super::*;
    use crate::json::parse;

    #[track_caller]
    fn check(expected: Types, value: &str, advice: &str) {
        assert_eq!(for_type(expected, &parse(value.as_bytes()).unwrap()), advice, "{value}");
    }

    #[test]
    fn numbers_have_no_quotes_and_no_unit() {
        check(INTEGER, r#""8""#, "Write it without quotes: 8.");
        check(INTEGER.or(OBJECT), r#"" -1 ""#, "Write it without quotes: -1.");
        check(NUMBER, r#""0.5""#, "Write it without quotes: 0.5.");
        check(INTEGER, r#""0.5""#, "");
        let unit = "Write a number without quotes or a unit: times are in seconds, sizes in bytes.";
        check(INTEGER, r#""30s""#, unit);
        check(INTEGER, r#""8M""#, unit);
        check(INTEGER, r#""many""#, "");
        check(INTEGER, r#""""#, "");
    }

    #[test]
    fn booleans_have_no_quotes_and_two_names() {
        for (text, word) in
            [("true", "true"), ("Yes", "true"), ("on", "true"), ("FALSE", "false"), ("no", "false")]
        {
            check(BOOL, &format!("\"{text}\""), &format!("Write it without quotes: {word}."));
        }
        check(BOOL, r#""perhaps""#, "");
        check(BOOL, "1", "");
    }

    #[test]
    fn strings_have_quotes_and_arrays_brackets() {
        check(STRING, "8080", r#"Write it in quotes: "8080"."#);
        check(STRING, "true", r#"Write it in quotes: "true"."#);
        check(STRING.or(ARRAY), "true", "");
        check(STRING, "null", "");
        check(STRING, "[1]", "");
        check(ARRAY, r#""-m app""#, "Write it in brackets, each string in quotes of its own.");
        check(OBJECT, r#""x""#, "");
        check(ANY, "{}", "");
    }
}
