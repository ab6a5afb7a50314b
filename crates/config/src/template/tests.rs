//! Syntax, names and rendering.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Exception, Groups, MapName, MapNames, MapValue, Scope, Template, Variable, Variables};

/// Every value is its variable's description, so that the output shows what was asked.
struct Shown;

impl Variables for Shown {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let text = match variable {
            Variable::Header(name) => format!("<header {}>", String::from_utf8_lossy(name)),
            Variable::Argument(name) => format!("<arg {}>", String::from_utf8_lossy(name)),
            Variable::Cookie(name) => format!("<cookie {}>", String::from_utf8_lossy(name)),
            Variable::ResponseHeader(name) => format!("<response {}>", String::from_utf8_lossy(name)),
            other => format!("<{other:?}>"),
        };
        out.extend_from_slice(text.as_bytes());
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        self.append(&Variable::Map(map), out);
        Ok(MapValue::Rendered)
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let mut out = Vec::new();
    Template::parse(text.as_bytes()).unwrap().render(&mut Shown, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expect, "{text}");
}

#[track_caller]
fn check_refused(text: &str, expect: &str) {
    let error = Template::parse(text.as_bytes()).expect_err(text);
    assert_eq!(error.to_string(), expect, "{text}");
}

#[track_caller]
fn check_constant(text: &str, expect: Option<&str>) {
    let template = Template::parse(text.as_bytes()).unwrap();
    assert_eq!(template.is_constant(), expect.map(str::as_bytes), "{text}");
}

#[test]
fn variables_are_found_in_text() {
    check("", "");
    check("/www", "/www");
    check("$uri", "<Uri>");
    check("/www$uri", "/www<Uri>");
    check("${host}name", "<Host>name");
    check("$method$host", "<Method><Host>");
    check("$host/$uri.", "<Host>/<Uri>.");
    check("$host1", "<Host>1");
    check("a{b}`", "a{b}`");
    check("$request_line $request_uri", "<RequestLine> <RequestUri>");
    check("$remote_addr [$time_local]", "<RemoteAddr> [<TimeLocal>]");
    check("$status $body_bytes_sent", "<Status> <BodyBytesSent>");
    check("$request_time $request_id", "<RequestTime> <RequestId>");
    check("$remote_user $jwt_claim_email", "<RemoteUser> <Claim(\"email\")>");
}

#[test]
fn names_of_fields_are_folded_and_others_are_not() {
    check("$header_User_Agent", "<header user-agent>");
    check("${header_x}", "<header x>");
    check("$response_header_Content_Type", "<response content-type>");
    check("$arg_Foo_bar", "<arg Foo_bar>");
    check("$cookie_SID", "<cookie SID>");
}

#[test]
fn names_in_braces_may_have_digits() {
    check("${arg_a1}", "<arg a1>");
    check("${cookie_1}", "<cookie 1>");
    check("${header_x2}$host2", "<header x2><Host>2");
    check("$arg_a1", "<arg a>1");
    check("$time_iso8601.", "<TimeIso8601>.");
}

/// `expect` is none for a text that is refused.
#[track_caller]
fn check_in_scope(text: &str, expect: Option<&str>) {
    let maps = MapNames::from_iter([("a".to_owned(), true), ("v2".to_owned(), false)]);
    let names = [None, Some("host"), None, Some("name")].map(|name| name.map(str::to_owned));
    let mut groups = Groups::new(0);
    groups.add("x", &names);
    let scope = Scope { maps: Some(&maps), groups: Some(&groups) };
    let template = Template::parse_in(text.as_bytes(), scope).ok();
    let shown = template.map(|template| {
        let mut out = Vec::new();
        template.render(&mut Shown, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    });
    assert_eq!(shown.as_deref(), expect, "{text}");
}

#[test]
fn a_document_has_names_of_its_own() {
    check_in_scope("$map_a.", Some("<Map(MapName { key: 0, is_constant: true })>."));
    check_in_scope("${map_v2}", Some("<Map(MapName { key: 1, is_constant: false })>"));
    check_in_scope("$map_v2", None);
    check_in_scope("$map_", None);
    check_in_scope("$1-$20", Some("<Group(1)>-<Group(2)>0"));
    check_in_scope("${3}$0", Some("<Group(3)><Group(0)>"));
    check_in_scope("$4", None);
    check_in_scope("${12}", None);
    check_in_scope("${99999999999999999999999}", None);
    // Names are behind all numbers.
    check_in_scope("$name", Some("<Group(5)>"));
    check_in_scope("$host", Some("<Host>"));
    check_in_scope("$other", None);
}

#[test]
fn a_dollar_is_a_literal() {
    check("$dollar", "$");
    check("a${dollar}uri", "a$uri");
    check_constant("$dollar$dollar", Some("$$"));
}

#[test]
fn constants_are_known() {
    check_constant("", Some(""));
    check_constant("/www", Some("/www"));
    check_constant("/www$uri", None);
}

#[test]
fn faults_are_explained() {
    check_refused("$", "Invalid variable at position 0");
    check_refused("ab$", "Invalid variable at position 2");
    check_refused("$1", "Invalid variable at position 0");
    check_refused("a${1}", "Invalid variable at position 1");
    check_refused("${1a}", "Invalid variable at position 0");
    check_refused("$map_x", "Unknown variable \"map_x\"");
    check_refused("${uri1}", "Unknown variable \"uri1\"");
    check_refused("$$uri", "Invalid variable at position 0");
    check_refused("$uri${}", "Invalid variable at position 4");
    check_refused("${uri", "Invalid variable at position 0");
    check_refused("${uri ", "Invalid variable at position 0");
    check_refused("${ur-i}", "Invalid variable at position 0");
    check_refused("$url", "Unknown variable \"url\"");
    check_refused("$Uri", "Unknown variable \"Uri\"");
    check_refused("$header_", "Unknown variable \"header_\"");
    check_refused("${arg_}", "Unknown variable \"arg_\"");
    check_refused("$jwt_claim_", "Unknown variable \"jwt_claim_\"");
    check_refused("$cookie_1", "Unknown variable \"cookie_\"");
    check_refused("$response_header_", "Unknown variable \"response_header_\"");
}

#[test]
fn what_begins_with_a_backtick_is_a_script() {
    let script = |text: &str| {
        Template::parse(text.as_bytes()).unwrap().script().map(|script| script.source().to_owned())
    };
    assert_eq!(script("`/www${uri}`").as_deref(), Some("`/www${uri}`"));
    assert_eq!(script("`").as_deref(), Some("`"));
    assert_eq!(script(" `x`"), None);
    assert_eq!(script("/`x`"), None);
    check_constant("`x`", None);
    check("/`${uri}`", "/`<Uri>`");
    let error = Template::parse(b"`\xff`").unwrap_err().to_string();
    assert_eq!(error, "\"SyntaxError: the source is not valid UTF-8\"");
    let error = Template::parse(b"`x`").unwrap().render(&mut Shown, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "js exception: scripts cannot be evaluated here");
}

proptest! {
    #[test]
    fn no_template_panics(input in "[$`{}a-z_0-9 ]{0,30}", bytes in vec(any::<u8>(), 0..30)) {
        crate::fuzz::fuzz_template(input.as_bytes());
        crate::fuzz::fuzz_template(&bytes);
    }
}
