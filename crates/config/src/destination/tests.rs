//! The text of `pass`, against anonymous and named routes.

use indexmap::IndexMap;

use super::{Destinations, PassError, RouteNames, TargetPlace};
use crate::json::Bytes;
use crate::route::Destination;
use crate::table::{Key, Table};

fn destinations(routes: RouteNames) -> Destinations {
    let targets = [("front", 0, 0), ("admin", 0, 1), ("api", 3, 0)];
    let targets =
        targets.map(|(name, app, target)| (Bytes::from(name), TargetPlace { app: Key::nth(app), target }));
    let targets = targets.into();
    let applications = [("blog", targets), ("a/b", IndexMap::new()), ("100%", IndexMap::new())];
    let applications = applications.into_iter().map(|(name, targets)| (Bytes::from(name), targets));
    let upstreams = [Bytes::from("pool"), Bytes::from("a/b")];
    Destinations {
        routes,
        applications: applications.collect(),
        background: [Bytes::from("queue")].into(),
        upstreams: upstreams.into(),
        protocols: Table::default(),
        for_streams: Table::default(),
    }
}

/// `app(0, 1)` or `route(0)` or the error.
#[track_caller]
fn check(text: &str, expect: &str) {
    check_with(RouteNames::Named([Bytes::from("main"), Bytes::from("x/y")].into()), text, expect);
}

#[track_caller]
fn check_with(routes: RouteNames, text: &str, expect: &str) {
    let found = match destinations(routes).resolve(text.as_bytes()) {
        Ok(Destination::Application { app, target }) => format!("app({app:?}, {target})"),
        Ok(Destination::Upstream(key)) => format!("upstream({key:?})"),
        Ok(Destination::Route(key)) => format!("route({key:?})"),
        Ok(Destination::Control(_)) => "control".to_owned(),
        Ok(Destination::Template(_)) => "template".to_owned(),
        Err(PassError::Malformed) => "malformed".to_owned(),
        Err(PassError::Unknown) => "unknown".to_owned(),
        Err(PassError::Background) => "background".to_owned(),
    };
    assert_eq!(found, expect, "{text}");
}

#[test]
fn applications_and_targets() {
    check("applications/queue", "background");
    check("applications/queue/x", "background");
    check("applications/blog", "app(0, 0)");
    check("applications/blog/front", "app(0, 0)");
    check("applications/blog/admin", "app(0, 1)");
    check("applications/blog/api", "app(3, 0)");
    check("applications/a%2Fb", "app(1, 0)");
    check("applications/100%25", "app(2, 0)");
    check("applications/blog/other", "unknown");
    check("applications/a%2Fb/x", "unknown");
    check("applications/other", "unknown");
    check("applications", "unknown");
}

#[test]
fn upstreams_have_names_and_nothing_below() {
    check("upstreams/pool", "upstream(0)");
    check("upstreams/a%2fb", "upstream(1)");
    check("upstreams/x", "unknown");
    check("upstreams", "unknown");
    check("upstreams/pool/x", "unknown");
    check("upstreams//", "malformed");
}

#[test]
fn routes_are_anonymous_or_named() {
    check("routes/main", "route(0)");
    check("routes/x%2fy", "route(1)");
    check("routes", "unknown");
    check("routes/other", "unknown");
    check("routes/main/x", "unknown");
    check_with(RouteNames::Anonymous, "routes", "route(0)");
    check_with(RouteNames::Anonymous, "routes/main", "unknown");
    check_with(RouteNames::Missing, "routes", "unknown");
}

#[test]
fn malformed_texts() {
    for text in [
        "",
        "/",
        "applications/",
        "/applications/blog",
        "applications//blog",
        "a/b/c/d",
        "applications/%",
        "applications/%4",
    ] {
        check(text, "malformed");
    }
}
