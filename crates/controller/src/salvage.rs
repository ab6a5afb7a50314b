//! The usable part of a stored document that has problems. Nothing is exposed that the whole would not expose: a
//! listener is left out, and a route answers 503 to everything, as one step less may let in what it kept out.

use corral_config::Problem;
use corral_config::json::{self, Bytes, Value, edit, pointer};

/// Takes out of the document what has problems, or puts something in its place that does no harm. `None` when it
/// is the document itself that cannot be used.
pub(crate) fn salvage(document: &mut Value, problems: &[Problem]) -> Option<()> {
    for problem in problems {
        let path = pointer::steps(&problem.pointer);
        mend_at(document, &path).ok()?;
    }
    Some(())
}

fn mend_at(document: &mut Value, path: &[Bytes]) -> Result<(), edit::EditError> {
    let first = path.first().ok_or(edit::EditError::NotAllowed)?;
    let (part, substitute) = match &**first {
        b"listeners" => (begin(path, 2), None),
        b"routes" if document.member("routes").is_some_and(|routes| routes.as_object().is_some()) => {
            (begin(path, 2), Some(UNAVAILABLE))
        }
        b"routes" => (begin(path, 1), Some(UNAVAILABLE)),
        b"upstreams" if path.len() > 1 => (begin(path, 2), Some(NO_SERVERS)),
        b"settings" => (path, None),
        _ => (begin(path, 1), None),
    };
    // Another problem may have led to the same place.
    if edit::get(document, part).is_err() {
        return Ok(());
    }
    let name = part.iter().map(Bytes::to_string_lossy).collect::<Vec<_>>().join("/");
    match substitute {
        None => {
            tracing::error!("the previous configuration is used without \"{name}\"");
            edit::delete(document, part)
        }
        Some(text) => {
            let value = json::parse(text.as_bytes()).expect("the text is JSON");
            if edit::get(document, part) != Ok(&value) {
                tracing::error!("the previous configuration is used with {text} in the place of \"{name}\"");
            }
            edit::put(document, part, value)
        }
    }
}

fn begin(path: &[Bytes], n: usize) -> &[Bytes] {
    &path[..path.len().min(n)]
}

const UNAVAILABLE: &str = r#"[{"action":{"return":503}}]"#;
const NO_SERVERS: &str = r#"{"servers":{}}"#;

#[cfg(test)]
mod tests {
    use corral_config::Stage;

    use super::*;

    #[track_caller]
    fn check(document: &str, pointers: &[&str], expect: Option<&str>) {
        let mut document = json::parse(document.as_bytes()).unwrap();
        let problem = |pointer: &&str| Problem {
            pointer: (*pointer).to_owned(),
            detail: String::new(),
            advice: String::new(),
            suggestion: None,
            stage: Stage::Validation,
        };
        let problems: Vec<_> = pointers.iter().map(problem).collect();
        let mended =
            salvage(&mut document, &problems).map(|()| String::from_utf8(document.compact()).unwrap());
        assert_eq!(mended.as_deref(), expect, "{pointers:?}");
    }

    #[test]
    fn listeners_and_unknown_members_are_left_out() {
        let document = r#"{"listeners":{"*:80":{},"x/~":{}},"nonsense":1}"#;
        let rest = r#"{"listeners":{"*:80":{}}}"#;
        check(document, &["/listeners/x~1~0/tls/certificate", "/nonsense", "/listeners/x~1~0"], Some(rest));
        check(r#"{"listeners":1}"#, &["/listeners"], Some("{}"));
        check(r#"{"access_log":{"path":1}}"#, &["/access_log/path"], Some("{}"));
    }

    #[test]
    fn routes_and_upstreams_stay_and_answer_with_errors() {
        let named = r#"{"routes":{"a":[{},{}],"b":[]}}"#;
        let rest = r#"{"routes":{"a":[{"action":{"return":503}}],"b":[]}}"#;
        check(named, &["/routes/a/0", "/routes/a/1/action"], Some(rest));
        let rest = r#"{"routes":[{"action":{"return":503}}]}"#;
        check(r#"{"routes":[{},{},{}]}"#, &["/routes/2/match"], Some(rest));
        check(r#"{"routes":7}"#, &["/routes"], Some(rest));
        check(
            r#"{"upstreams":{"a":{"x":1}}}"#,
            &["/upstreams/a/x"],
            Some(r#"{"upstreams":{"a":{"servers":{}}}}"#),
        );
        check(r#"{"upstreams":7}"#, &["/upstreams"], Some("{}"));
    }

    #[test]
    fn settings_lose_what_is_wrong_alone() {
        let document = r#"{"settings":{"http":{"idle_timeout":"x","log_route":true}}}"#;
        let rest = r#"{"settings":{"http":{"log_route":true}}}"#;
        check(document, &["/settings/http/idle_timeout"], Some(rest));
    }

    #[test]
    fn a_document_that_is_no_object_cannot_be_mended() {
        check("[]", &[""], None);
    }
}
