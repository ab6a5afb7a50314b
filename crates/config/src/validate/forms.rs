//! The form of options whose values have a wrong type: what other servers have there, written as it is right here.

use super::types::{ARRAY, BOOL, INTEGER, OBJECT, STRING, Types, type_of};
use crate::json::Value;

/// The right form of the option `name` in the place of a value of a wrong type, if it is one that people write.
pub(super) fn of(name: &str, expected: Types, value: &Value) -> Option<String> {
    let found = type_of(value);
    let form = FORMS
        .iter()
        .find(|form| form.name == name && form.found.contains(found) && expected.contains(form.expected))?;
    match &form.words {
        Words::Fixed(text) => Some((*text).to_owned()),
        Words::From(words) => words(value),
    }
}

/// A mistake of the form.
struct Form {
    name: &'static str,
    /// One of the types that are right. Options of the same name elsewhere have others.
    expected: Types,
    /// The types that are written instead.
    found: Types,
    words: Words,
}

enum Words {
    Fixed(&'static str),
    From(fn(&Value) -> Option<String>),
}

const fn fixed(name: &'static str, expected: Types, found: Types, text: &'static str) -> Form {
    Form { name, expected, found, words: Words::Fixed(text) }
}

const fn from(
    name: &'static str,
    expected: Types,
    found: Types,
    words: fn(&Value) -> Option<String>,
) -> Form {
    Form { name, expected, found, words: Words::From(words) }
}

const TEXT: Types = STRING;
const ANY_BUT_OBJECT: Types = BOOL.or(INTEGER).or(STRING).or(ARRAY);

const FORMS: &[Form] = &[
    from("listeners", OBJECT, ANY_BUT_OBJECT, listeners),
    fixed(
        "routes",
        ARRAY,
        TEXT,
        "Write the steps: \"routes\": [{\"match\": {\"uri\": \"/api/*\"}, \"action\": {\"pass\": …}}].",
    ),
    fixed("applications", OBJECT, ANY_BUT_OBJECT, APPLICATIONS),
    fixed(
        "upstreams",
        OBJECT,
        ANY_BUT_OBJECT,
        "Each group has a name: \"upstreams\": {\"NAME\": {\"servers\": {\"127.0.0.1:3000\": {}}}}.",
    ),
    fixed(
        "access_log",
        STRING,
        BOOL,
        "Write the path of the file, \"/var/log/corral/access.log\"; without the option there is no access log.",
    ),
    fixed(
        "tls",
        OBJECT,
        BOOL.or(TEXT).or(ARRAY),
        "Write {\"certificate\": \"NAME\"} with the name of an uploaded bundle, or {\"acme\": true} for automatic \
         certificates.",
    ),
    from("action", OBJECT, TEXT.or(INTEGER), action),
    from("fallback", OBJECT, TEXT.or(INTEGER), action),
    from("match", OBJECT, TEXT.or(ARRAY), conditions),
    from("return", INTEGER, TEXT.or(ARRAY).or(OBJECT), returned),
    fixed(
        "share",
        STRING,
        BOOL.or(OBJECT),
        "Write the path with a variable, \"/srv/www$uri\"; \"index\", \"types\" and \"fallback\" stand beside it.",
    ),
    fixed(
        "proxy",
        STRING,
        ARRAY.or(OBJECT),
        "Several servers are a group in \"upstreams\", which \"pass\": \"upstreams/NAME\" leads to; options of one \
         stand in \"proxy_options\".",
    ),
    from("proxy", STRING, INTEGER, |value| {
        let port = value.as_number()?.as_i64();
        Some(format!("Write \"http://127.0.0.1:{port}\"."))
    }),
    fixed("rewrite", STRING, ARRAY, REWRITE),
    fixed(
        "headers",
        STRING,
        OBJECT.or(ARRAY),
        "Headers of your own are set by \"response_headers\": {\"NAME\": \"VALUE\"}.",
    ),
    fixed("response_headers", OBJECT, TEXT.or(ARRAY), HEADERS),
    fixed("request_headers", OBJECT, TEXT.or(ARRAY), HEADERS),
    from("cache_control", STRING, INTEGER, |value| {
        Some(format!("Write \"max-age={}\".", value.as_number()?.as_i64()))
    }),
    fixed(
        "errors",
        OBJECT,
        TEXT.or(ARRAY),
        "Write an action for each status: {\"404\": {\"share\": \"/srv/www/404.html\"}}.",
    ),
    fixed(
        "index",
        STRING,
        ARRAY,
        "An application has one. Several names are tried by the action that passes to it: \"try\": [\"$uri\", \
         \"$uri/index.html\", \"/index.php\"].",
    ),
    from("limit_rate", INTEGER, TEXT, |value| {
        Some(format!("Write the number of bytes in a second: {}.", bytes_in(value)?))
    }),
    from("limit_requests", OBJECT, TEXT.or(INTEGER), rate),
    from("limit_connections", OBJECT, TEXT.or(INTEGER), |value| {
        Some(format!("Write {{\"connections\": {}}}.", number_in(value)?))
    }),
    fixed(
        "authenticate",
        OBJECT,
        TEXT.or(BOOL),
        "Write {\"basic\": {\"file\": \"/etc/corral/users\"}}; \"jwt\", \"forward\" and \"client_certificate\" are \
         others.",
    ),
    fixed("environment", OBJECT, TEXT.or(ARRAY), "Write {\"NAME\": \"VALUE\"}."),
    fixed("params", OBJECT, TEXT.or(ARRAY), "Write {\"NAME\": \"VALUE\"}."),
    fixed(
        "options",
        OBJECT,
        TEXT.or(ARRAY),
        "Write {\"file\": \"/etc/php.ini\"}, or single settings: {\"admin\": {\"memory_limit\": \"256M\"}}.",
    ),
    fixed("admin", OBJECT, TEXT.or(ARRAY), "Write {\"NAME\": \"VALUE\"}."),
    fixed(
        "limits",
        OBJECT,
        INTEGER.or(TEXT),
        "Write which: {\"timeout\": SECONDS, \"requests\": NUMBER, \"memory\": BYTES}.",
    ),
    fixed(
        "isolation",
        OBJECT,
        BOOL.or(TEXT),
        "Write what is to be isolated: {\"namespaces\": {\"mount\": true}}.",
    ),
    fixed(
        "compression",
        OBJECT,
        BOOL.or(TEXT).or(ARRAY),
        "Write {\"compressors\": [{\"encoding\": \"gzip\"}]}.",
    ),
    from("servers", OBJECT, TEXT.or(ARRAY), servers),
    fixed(
        "health",
        OBJECT,
        BOOL.or(TEXT),
        "Write {\"path\": \"/health\"}; all of its options have defaults.",
    ),
    fixed("sticky", OBJECT, BOOL.or(TEXT), "Write the name of the cookie: {\"cookie\": \"NAME\"}."),
    fixed("forwarded", OBJECT, BOOL.or(TEXT), FORWARDED),
    fixed("proxy_protocol", OBJECT, BOOL.or(TEXT), "Write whom to believe: {\"source\": \"10.0.0.0/8\"}."),
];

/// The form of a listener.
pub(super) const LISTENER: &str =
    "Write {\"pass\": \"routes\"}, or another place that requests are passed to.";

/// The form of an application.
pub(super) const APPLICATION: &str = "Write {\"type\": \"php\", …}, with the options of that type.";

const APPLICATIONS: &str =
    "Each application has a name: \"applications\": {\"NAME\": {\"type\": \"php\", …}}.";

const HEADERS: &str = "Write {\"NAME\": \"VALUE\"}, and null as the value to remove a header.";

const FORWARDED: &str =
    "Write whom to believe, and what: {\"source\": \"10.0.0.0/8\", \"client_ip\": \"X-Forwarded-For\"}.";

/// The form of `rewrite` for texts as other servers have them.
pub(super) const REWRITE: &str = "\"rewrite\" is the new path alone. Which requests get it says the step: {\"match\": \
    {\"uri\": \"~^/old/\"}, \"action\": {\"rewrite\": \"/new$uri\", …}}; a redirect is \"return\": 301 with \
    \"location\".";

/// The form of a route that is called `name`.
pub(super) fn route(name: &str) -> String {
    if name.starts_with('/') {
        return format!(
            "A path is a condition of a step: \"routes\": [{{\"match\": {{\"uri\": \"{name}\"}}, \"action\": {{…}}}}]."
        );
    }
    "A route is an array of steps: [{\"match\": {…}, \"action\": {…}}].".to_owned()
}

/// Listeners as an address, or an array of addresses.
fn listeners(value: &Value) -> Option<String> {
    let first = value.as_array().map_or(Some(value), |elements| elements.first())?;
    let address = match first {
        Value::Number(number) => format!("*:{}", number.as_i64()),
        Value::String(text) => text.to_string_lossy().into_owned(),
        _ => "*:80".to_owned(),
    };
    let address = crate::address::ListenAddress::meant(address.as_bytes())
        .map_or_else(|| "*:80".to_owned(), |address| address.to_string());
    Some(format!("Write \"listeners\": {{\"{address}\": {{\"pass\": \"routes\"}}}}."))
}

/// An action that is written as its destination, path or status.
fn action(value: &Value) -> Option<String> {
    if let Some(status) = value.as_number() {
        return Some(format!("Write {{\"return\": {}}}.", status.as_i64()));
    }
    let text = value.as_bytes()?.to_string_lossy();
    let kind = match &*text {
        _ if text.starts_with("http://") || text.starts_with("https://") => "proxy",
        _ if text.starts_with('/') => "share",
        "routes" => "pass",
        _ if ["routes/", "applications/", "upstreams/"].iter().any(|kind| text.starts_with(kind)) => "pass",
        _ => {
            let forms = "Write {\"pass\": \"applications/NAME\"}, {\"share\": \"/srv/www$uri\"}, {\"proxy\": \
                \"http://127.0.0.1:3000\"} or {\"return\": 404}.";
            return Some(forms.to_owned());
        }
    };
    Some(format!("Write {{\"{kind}\": \"{text}\"}}."))
}

/// Conditions that are a path.
fn conditions(value: &Value) -> Option<String> {
    let paths = String::from_utf8(value.compact()).ok()?;
    Some(format!("Write {{\"uri\": {paths}}}.")).filter(|_| paths.len() < LONGEST_SHOWN)
}

/// A status with where it leads, in one text or array.
fn returned(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.to_string_lossy().into_owned(),
        Value::Array(elements) => elements.iter().map(shown).collect::<Vec<_>>().join(" "),
        _ => return Some("Write the status alone; \"location\" and \"body\" stand beside it.".to_owned()),
    };
    let (status, rest) = text.split_once(' ')?;
    let status: u16 = status.parse().ok()?;
    let rest = rest.trim().trim_end_matches(';').trim_matches('"');
    let beside = if (300..400).contains(&status) { "location" } else { "body" };
    Some(format!("Write \"return\": {status}, \"{beside}\": \"{rest}\"."))
        .filter(|text| text.len() < LONGEST_SHOWN)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy().into_owned(),
        other => String::from_utf8_lossy(&other.compact()).into_owned(),
    }
}

/// A rate as a text, as nginx has it, or a number.
fn rate(value: &Value) -> Option<String> {
    let number = number_in(value)?;
    let unit = if shown(value).contains('m') { "m" } else { "s" };
    Some(format!("Write {{\"rate\": \"{number}/{unit}\"}}."))
}

/// The first number in a value.
fn number_in(value: &Value) -> Option<u32> {
    let text = shown(value);
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// The bytes of a size such as `500k`.
fn bytes_in(value: &Value) -> Option<u64> {
    let number = u64::from(number_in(value)?);
    let text = shown(value).to_ascii_lowercase();
    let unit = text.chars().find(|letter| letter.is_ascii_lowercase());
    let factor = match unit {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        _ => 1,
    };
    Some(number * factor)
}

/// Servers as an address, or an array of addresses.
fn servers(value: &Value) -> Option<String> {
    let all = value.as_array().unwrap_or_else(|| std::slice::from_ref(value));
    let names: Option<Vec<_>> = all.iter().map(|one| Some(one.as_bytes()?.to_string_lossy())).collect();
    let members: Vec<_> = names?.iter().map(|name| format!("\"{name}\": {{}}")).collect();
    let text = format!("Write {{{}}}.", members.join(", "));
    Some(text).filter(|text| text.len() < LONGEST_SHOWN)
}

/// Bytes of a value that is repeated in an advice.
const LONGEST_SHOWN: usize = 300;

#[cfg(test)]
mod tests {
    use super::super::types::NUMBER;
    use super::*;
    use crate::json::parse;

    #[track_caller]
    fn check(name: &str, expected: Types, value: &str, form: Option<&str>) {
        assert_eq!(of(name, expected, &parse(value.as_bytes()).unwrap()).as_deref(), form, "{name}: {value}");
    }

    #[test]
    fn values_are_written_anew() {
        check(
            "return",
            INTEGER,
            r#""301 https://$host/x""#,
            Some(r#"Write "return": 301, "location": "https://$host/x"."#),
        );
        check("return", INTEGER, r#"[404, "gone"]"#, Some(r#"Write "return": 404, "body": "gone"."#));
        check("servers", OBJECT, r#"["a:1", "b:2"]"#, Some(r#"Write {"a:1": {}, "b:2": {}}."#));
        check("servers", OBJECT, "[1]", None);
        check("limit_requests", OBJECT, r#""rate=10r/s""#, Some(r#"Write {"rate": "10/s"}."#));
        check("limit_requests", OBJECT, "5", Some(r#"Write {"rate": "5/s"}."#));
        check("limit_requests", OBJECT, r#""many""#, None);
        check("match", OBJECT, r#""/api/*""#, Some(r#"Write {"uri": "/api/*"}."#));
        check("action", OBJECT, r#""applications/a""#, Some(r#"Write {"pass": "applications/a"}."#));
        check("action", OBJECT, "404", Some(r#"Write {"return": 404}."#));
        check("listeners", OBJECT, "80", Some(r#"Write "listeners": {"*:80": {"pass": "routes"}}."#));
        check(
            "listeners",
            OBJECT,
            r#"["localhost:8080"]"#,
            Some(r#"Write "listeners": {"127.0.0.1:8080": {"pass": "routes"}}."#),
        );
        check("listeners", OBJECT, "[]", None);
    }

    #[test]
    fn options_of_the_same_name_elsewhere_have_their_own_form() {
        check(
            "headers",
            STRING,
            "{}",
            Some("Headers of your own are set by \"response_headers\": {\"NAME\": \"VALUE\"}."),
        );
        check("headers", OBJECT.or(ARRAY), r#""x""#, None);
        check("return", NUMBER, "null", None);
    }

    #[test]
    fn long_values_are_not_repeated() {
        check("match", OBJECT, &format!("\"{}\"", "x".repeat(1000)), None);
        check("return", INTEGER, &format!("\"301 {}\"", "x".repeat(1000)), None);
    }
}
