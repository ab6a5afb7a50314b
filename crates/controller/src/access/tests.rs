//! Requests with tokens, right and wrong, on both kinds of sockets.

use hyper::Request;

use super::*;

fn access(is_port: bool) -> ControlAccess {
    let token = |text: &str| Some(ControlToken(text.to_owned()));
    ControlAccess::new(token("secret"), token("reader"), is_port)
}

fn head(method: &str, target: &str, fields: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// The status of the refusal, or the level.
fn admitted(access: &ControlAccess, head: &Parts) -> Result<AccessLevel, u16> {
    access.admit(head).map(|grant| grant.level).map_err(|refusal| refusal.status.as_u16())
}

#[track_caller]
fn check(values: &[&str], expected: Result<AccessLevel, u16>) {
    let fields: Vec<_> = values.iter().map(|value| ("Authorization", *value)).collect();
    assert_eq!(admitted(&access(false), &head("GET", "/config", &fields)), expected, "{values:?}");
}

#[test]
fn only_a_token_admits() {
    check(&["Bearer secret"], Ok(AccessLevel::Full));
    check(&["bearer  secret "], Ok(AccessLevel::Full));
    check(&["Bearer reader"], Ok(AccessLevel::Read));
    for wrong in [
        &[][..],
        &["secret"],
        &["Bearer"],
        &["Bearer "],
        &["Bearer secre"],
        &["Bearer secrets"],
        &["Basic secret"],
    ] {
        check(wrong, Err(401));
    }
    check(&["Bearer Secret"], Err(401));
    check(&["Bearer secret", "Bearer secret"], Err(401));
    check(&["Bearer reader", "Bearer secret"], Err(401));
}

/// A request with the token for reading.
#[track_caller]
fn check_reader(method: &str, target: &str, expected: Result<AccessLevel, u16>) {
    let head = head(method, target, &[("Authorization", "Bearer reader")]);
    assert_eq!(admitted(&access(false), &head), expected, "{method} {target}");
}

#[test]
fn a_reader_sees_everything_and_changes_nothing() {
    for target in
        ["/", "/config", "/config/a", "/config/history/1", "/status", "/metrics", "/certificates", "/x"]
    {
        check_reader("GET", target, Ok(AccessLevel::Read));
        check_reader("HEAD", target, Ok(AccessLevel::Read));
        for method in ["PUT", "POST", "DELETE", "PATCH", "OPTIONS"] {
            check_reader(method, target, Err(403));
        }
    }
    for action in ["restart", "run", "exec"] {
        for method in ["GET", "HEAD", "POST"] {
            check_reader(method, &format!("/control/applications/a/{action}"), Err(403));
            check_reader(method, &format!("/control//applications/./a/x/../{action}?dry_run"), Err(403));
            check_reader(method, &format!("/%63ontrol/applications/a%2Fb/{action}"), Err(403));
        }
    }
    check_reader("PUT", "/config?dry_run=true", Err(403));
}

#[test]
fn a_socket_without_a_token_is_open() {
    let open = ControlAccess::new(None, None, false);
    for fields in [&[][..], &[("Authorization", "Bearer x")]] {
        assert_eq!(admitted(&open, &head("PUT", "/config", fields)), Ok(AccessLevel::Full));
    }
}

#[test]
fn a_token_does_not_admit_pages_of_others() {
    let page = [("Authorization", "Bearer secret"), ("Host", "localhost"), ("Origin", "http://evil.example")];
    assert_eq!(admitted(&access(true), &head("GET", "/config", &page)), Err(403));
    assert_eq!(admitted(&access(true), &head("GET", "/config", &page[..2])), Ok(AccessLevel::Full));
}
