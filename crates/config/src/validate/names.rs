//! A first look at a document: the names that `pass` can refer to, whatever else is wrong.

use crate::destination::{Destinations, RouteNames};
use crate::json::{Bytes, Object, Value};

/// Collects the names of routes, applications, targets and upstreams.
pub(super) fn collect(doc: &Value) -> Destinations {
    let routes = match doc.member("routes") {
        Some(Value::Array(_)) => RouteNames::Anonymous,
        Some(Value::Object(routes)) => RouteNames::Named(names(routes)),
        _ => RouteNames::Missing,
    };
    let applications = doc.member("applications").and_then(Value::as_object);
    let applications = applications.into_iter().flatten().map(|(name, application)| {
        let targets = application.member("targets").and_then(Value::as_object);
        (name.clone(), targets.map(names).unwrap_or_default())
    });
    let upstreams = doc.member("upstreams").and_then(Value::as_object).map(names).unwrap_or_default();
    Destinations { routes, applications: applications.collect(), upstreams }
}

fn names<C: FromIterator<Bytes>>(members: &Object) -> C {
    members.keys().cloned().collect()
}
