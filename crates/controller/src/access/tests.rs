//! Requests with tokens and sessions, right and wrong, on both kinds of sockets.

use hyper::Request;

use super::*;

fn access(is_port: bool) -> ControlAccess {
    let token = |text: &str| Some(ControlToken(text.to_owned()));
    ControlAccess::new(token("secret"), token("reader"), is_port)
}

fn open(is_port: bool) -> ControlAccess {
    ControlAccess::new(None, None, is_port)
}

fn head(method: &str, target: &str, fields: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// The level, or the status of the refusal.
fn admitted(access: &ControlAccess, head: &Parts) -> Result<AccessLevel, u16> {
    access.admit(head, Instant::now()).map(|grant| grant.level).map_err(|refusal| refusal.status.as_u16())
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
        &["Bearer Secret"],
        &["Bearer secret", "Bearer secret"],
        &["Bearer reader", "Bearer secret"],
    ] {
        check(wrong, Err(401));
    }
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
    check_reader("POST", "/dashboard/tokens", Err(403));
}

#[test]
fn a_socket_without_a_token_is_open() {
    for fields in [&[][..], &[("Authorization", "Bearer x")], &[("Cookie", "corral_session=x")]] {
        assert_eq!(admitted(&open(false), &head("PUT", "/config", fields)), Ok(AccessLevel::Full));
    }
}

#[test]
fn a_token_does_not_admit_pages_of_others() {
    let page = [("Authorization", "Bearer secret"), ("Host", "localhost"), ("Origin", "http://evil.example")];
    assert_eq!(admitted(&access(true), &head("GET", "/config", &page)), Err(403));
    assert_eq!(admitted(&access(true), &head("GET", "/config", &page[..2])), Ok(AccessLevel::Full));
}

/// Everything that a page of the API's own origin sends, with a cookie.
fn own_page(cookie: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Host", "127.0.0.1:80".to_owned()),
        ("Origin", "http://127.0.0.1:80".to_owned()),
        ("Cookie", cookie.to_owned()),
    ]
}

fn with(fields: &[(&'static str, String)], method: &str, target: &str) -> Parts {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    head(method, target, &fields)
}

fn session(access: &ControlAccess, level: AccessLevel) -> String {
    let secret = access.begin_session(level, "root".into(), Instant::now()).unwrap();
    format!("corral_session_80={secret}")
}

#[test]
fn a_session_takes_the_place_of_a_token() {
    for access in [access(true), access(false), open(true)] {
        let cookie = session(&access, AccessLevel::Full);
        assert_eq!(admitted(&access, &with(&own_page(&cookie), "PUT", "/config")), Ok(AccessLevel::Full));
        let reader = session(&access, AccessLevel::Read);
        let page = own_page(&format!("a=b;{reader} ; c=d"));
        assert_eq!(admitted(&access, &with(&page, "GET", "/config")), Ok(AccessLevel::Read));
        assert_eq!(admitted(&access, &with(&page, "PUT", "/config")), Err(403));
        assert_eq!(admitted(&access, &with(&page, "GET", "/control/applications/a/restart")), Err(403));
    }
}

#[test]
fn a_cookie_alone_changes_nothing() {
    let access = access(true);
    let cookie = session(&access, AccessLevel::Full);
    let host = ("Host", "127.0.0.1:80".to_owned());
    let cookie = ("Cookie", cookie);
    let alone = [host.clone(), cookie.clone()];
    assert_eq!(admitted(&access, &with(&alone, "GET", "/config")), Ok(AccessLevel::Full));
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        assert_eq!(admitted(&access, &with(&alone, method, "/config")), Err(403), "{method}");
    }
    for (site, expected) in [
        ("same-origin", Ok(AccessLevel::Full)),
        ("none", Err(403)),
        ("same-site", Err(403)),
        ("cross-site", Err(403)),
    ] {
        let page = [host.clone(), cookie.clone(), ("Sec-Fetch-Site", site.to_owned())];
        assert_eq!(admitted(&access, &with(&page, "PUT", "/config")), expected, "{site}");
    }
    for origin in ["null", "http://127.0.0.1:81", "http://evil.example", "http://localhost:80"] {
        let page = [host.clone(), cookie.clone(), ("Origin", origin.to_owned())];
        for method in ["GET", "PUT"] {
            assert_eq!(admitted(&access, &with(&page, method, "/config")), Err(403), "{origin}");
        }
    }
}

#[test]
fn cookies_that_are_not_one_session_admit_nothing() {
    let access = access(true);
    let cookie = session(&access, AccessLevel::Full);
    let wrong = [
        format!("{cookie}; {cookie}"),
        format!("{cookie}; corral_session_80=x"),
        format!("corral_session_80=; {cookie}"),
        cookie.replace("_80", ""),
        cookie.replace("_80", "_81"),
        cookie.to_uppercase(),
        format!("x{cookie}"),
        format!("{cookie}x"),
        cookie[..cookie.len() - 1].to_owned(),
        "corral_session_80".to_owned(),
        "corral_session_80=".to_owned(),
    ];
    for cookie in wrong {
        assert_eq!(admitted(&access, &with(&own_page(&cookie), "GET", "/config")), Err(401), "{cookie}");
    }
    let mut twice = own_page(&cookie);
    twice.push(("Cookie", cookie.clone()));
    assert_eq!(admitted(&access, &with(&twice, "GET", "/config")), Err(401));
    let mut with_token = own_page(&cookie);
    with_token.push(("Authorization", "Bearer wrong".to_owned()));
    assert_eq!(admitted(&access, &with(&with_token, "GET", "/config")), Err(401), "a token decides alone");
}

#[test]
fn what_is_passed_on_needs_a_session() {
    let access = open(false);
    let mut page = own_page("");
    page.push(("Corral-Dashboard", "1".to_owned()));
    assert_eq!(admitted(&access, &with(&page, "GET", "/config")), Err(401));
    for (method, target) in
        [("GET", "/dashboard/"), ("POST", "/dashboard/session"), ("GET", "/dashboard/assets/a")]
    {
        assert_eq!(admitted(&access, &with(&page, method, target)), Ok(AccessLevel::None), "{target}");
    }
    page[2].1 = session(&access, AccessLevel::Full);
    assert_eq!(admitted(&access, &with(&page, "PUT", "/config")), Ok(AccessLevel::Full));
    let grant = access.admit(&with(&page, "GET", "/config"), Instant::now()).unwrap();
    assert!(grant.is_passed_on && grant.is_from_browser);
    // A name that was made to lead here.
    (page[0].1, page[1].1) = ("evil.example".to_owned(), "http://evil.example".to_owned());
    assert_eq!(admitted(&access, &with(&page, "GET", "/config")), Err(403));
    assert_eq!(admitted(&access, &with(&page, "POST", "/dashboard/session")), Err(403));
}

#[test]
fn tokens_begin_sessions() {
    let access = access(false);
    let now = Instant::now();
    let once = access.issue(AccessLevel::Read, "me".into(), now);
    assert_eq!(access.redeem(once.as_bytes(), now), Some((AccessLevel::Read, Some("me".into()))));
    assert_eq!(access.redeem(once.as_bytes(), now), None);
    assert_eq!(access.redeem(b"secret", now), Some((AccessLevel::Full, None)));
    assert_eq!(access.redeem(b"reader", now), Some((AccessLevel::Read, None)));
    assert_eq!(access.redeem(b"", now), None);
    assert_eq!(open(false).redeem(b"", now), None);
    let places: Vec<_> = (0..MOST_GUESSES).map(|_| access.place_for_guess().unwrap()).collect();
    assert!(access.place_for_guess().is_none());
    drop(places);
    assert!(access.place_for_guess().is_some());
}
