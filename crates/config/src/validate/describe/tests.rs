//! The texts of options in the schema.

use super::*;

/// The schema of what is at a path, where `*` stands for a free name and `[]` for an element.
fn at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|piece| !piece.is_empty()).try_fold(schema, |schema, piece| match piece {
        "*" => schema.member("additionalProperties"),
        "[]" => schema.member("items"),
        name => schema.member("properties")?.member(name),
    })
}

#[track_caller]
fn check(path: &str, expect: &str) {
    let schema = configuration_schema();
    let found = at(&schema, path).unwrap_or_else(|| panic!("{path} is not described"));
    let types = found.member("type").map_or_else(Vec::new, Value::compact);
    assert_eq!(String::from_utf8(types).unwrap(), expect, "{path}");
}

#[test]
fn options_are_described_with_their_types() {
    check("", r#""object""#);
    check("listeners.*.pass", r#""string""#);
    check("listeners.*.backlog", r#""number""#);
    check("routes", r#"["array","object"]"#);
    check("routes.[].match.uri", r#"["string","array"]"#);
    check("routes.*.[].match.uri", r#"["string","array"]"#);
    check("routes.[].action.return", r#"["integer","string"]"#);
    check("routes.[].action.share", r#"["string","array"]"#);
    check("routes.[].action.fallback.share", r#"["string","array"]"#);
    check("applications.*.processes", r#"["integer","string","object"]"#);
    check("applications.*.processes.max", r#""integer""#);
    check("applications.*.targets.*.root", r#""string""#);
    check("applications.*.targets.*.factory", r#""boolean""#);
    check("applications.*.path", r#"["string","array"]"#);
    check("settings.http.static.mime_types", r#""object""#);
    check("access_log.path", r#""string""#);
}

/// The description and default of what is at a path.
#[track_caller]
fn check_text(path: &str, description: &str, default: Option<&str>) {
    let schema = configuration_schema();
    let found = at(&schema, path).unwrap_or_else(|| panic!("{path} is not described"));
    assert_eq!(found.member("description"), Some(&Value::from(description)), "{path}");
    let found = found.member("default").map(|default| String::from_utf8(default.compact()).unwrap());
    assert_eq!(found.as_deref(), default, "{path}");
}

#[test]
fn options_are_described_with_the_manual_s_words() {
    check_text("settings.http.idle_timeout", IDLE, Some("180"));
    check_text("settings.http.error_format", FORMAT, Some("\"html\""));
    check_text(
        "settings.http.body_temp_path",
        "the folder of the files that larger bodies are kept in (default: `--tmpdir`)",
        None,
    );
    check_text("listeners.*.tls.session", "an object with `cache_size`, `timeout`, `tickets`", None);
    check_text("applications.*.preload", PRELOAD, Some("false"));
    check_text("applications.*.targets.*.callable", CALLABLE, None);
    check_text("applications.*.options", OPTIONS, None);
    check_text("upstreams.*.servers.*.weight", WEIGHT, Some("1"));
}

const IDLE: &str = "seconds that a connection may wait for a request, the first one or the next; then it is \
                    closed without a word";
const FORMAT: &str = "`negotiated`: plain error pages are `application/problem+json` for clients that prefer \
                      it (beyond Unit)";
const PRELOAD: &str = "ruby: the application is loaded once, before the workers are forked from it\n\n\
                       perl: the script is loaded once, before the workers are forked from it";
const CALLABLE: &str = "several entry points, each with `module`, `callable`, `factory`, `prefix` and `params` of its own, \
                        for `\"pass\": \"applications/site/NAME\"`";
const OPTIONS: &str = "php: an object with `admin`, `user`, `file`, `sapi_name`\n\n\
                       java: options of the virtual machine: `-Xmx512m`, `-Dname=value`, … (default: none)";
const WEIGHT: &str = "the server's share of the requests; 0 means that it is never chosen";

/// Members without a description, and texts that only the manual's page can carry.
fn unsuited(schema: &Value, path: &str, found: &mut Vec<String>) {
    let members = schema.member("properties").and_then(Value::as_object);
    for (name, member) in members.into_iter().flatten() {
        let path = format!("{path}.{name}");
        let text = member.member("description").and_then(Value::as_bytes).and_then(|text| text.to_str());
        if text.is_none_or(|text| text.is_empty() || text.contains("](") || text.contains("see below")) {
            found.push(format!("{path}: {text:?}"));
        }
        unsuited(member, &path, found);
    }
    for inner in ["items", "additionalProperties"].iter().filter_map(|name| schema.member(name)) {
        unsuited(inner, &format!("{path}.*"), found);
    }
}

#[test]
fn every_option_is_described_by_a_text_that_stands_alone() {
    let mut found = Vec::new();
    unsuited(&configuration_schema(), "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// Keywords that JSON Schema does not have, or not with such a value.
fn invalid(schema: &Value, found: &mut Vec<String>) {
    let properties = schema.member("properties").and_then(Value::as_object);
    for (keyword, value) in schema.as_object().expect("a schema is an object") {
        let is_valid = match &*keyword.to_string() {
            "description" => value.as_bytes().is_some(),
            "default" => true,
            "type" => value.as_bytes().is_some() || value.as_array().is_some_and(|names| names.len() > 1),
            "properties" => properties.is_some(),
            "required" => value.as_array().is_some_and(|names| {
                names.iter().all(|name| properties.unwrap().contains_key(name.as_bytes().unwrap()))
            }),
            "additionalProperties" => *value == Value::Bool(false) || value.as_object().is_some(),
            "items" => value.as_object().is_some(),
            _ => false,
        };
        if !is_valid {
            found.push(format!("{keyword}: {value:?}"));
        }
    }
    let members = properties.into_iter().flatten().map(|(_, member)| member);
    let inner = ["items", "additionalProperties"].iter().filter_map(|name| schema.member(name));
    for schema in members.chain(inner).filter(|schema| **schema != Value::Bool(false)) {
        invalid(schema, found);
    }
}

#[test]
fn the_schema_has_the_keywords_of_json_schema() {
    let mut found = Vec::new();
    invalid(&configuration_schema(), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn required_members_are_told_and_others_refused() {
    let schema = configuration_schema();
    let client = at(&schema, "listeners.*.tls.client").unwrap();
    assert_eq!(client.member("required"), Some(&Value::Array(vec![Value::from("ca")])));
    // A target of PHP needs a root, one of Python a module.
    assert_eq!(at(&schema, "applications.*.targets.*").unwrap().member("required"), None);
    assert_eq!(schema.member("additionalProperties"), Some(&Value::Bool(false)));
}
