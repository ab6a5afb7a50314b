//! A first look at a document: the names that `pass` and variables can refer to, whatever else is wrong.

use std::collections::HashMap;
use std::mem;

use super::defaults;
use super::groups::groups;
use super::process;
use super::upstreams::RAW;
use crate::destination::{Destinations, RouteNames, TargetPlace, UpstreamProtocol};
use crate::json::{Bytes, Object, Value};
use crate::protocol::Protocol;
use crate::table::Key;
use crate::template::{MapNames, Template};

/// Collects the names of routes, applications, targets and upstreams.
pub(super) fn collect(doc: &Value) -> Destinations {
    let routes = match doc.member("routes") {
        Some(Value::Array(_)) => RouteNames::Anonymous,
        Some(Value::Object(routes)) => RouteNames::Named(route_names(routes)),
        _ => RouteNames::Missing,
    };
    let applications = doc.member("applications").and_then(Value::as_object);
    let (background, applications): (Vec<_>, Vec<_>) =
        applications.into_iter().flatten().partition(|(_, application)| process::is_process(application));
    let background = background.into_iter().map(|(name, _)| name.clone()).collect();
    let mut further = applications.len();
    let applications = applications.into_iter().enumerate().map(|(app, (name, application))| {
        let targets = application.member("targets").and_then(Value::as_object);
        let places = places(app, &groups(application), &mut further);
        let targets = targets.into_iter().flat_map(Object::keys).cloned().enumerate();
        let place =
            |target| places.get(&target).copied().unwrap_or(TargetPlace { app: Key::nth(app), target });
        (name.clone(), targets.map(|(target, name)| (name, place(target))).collect())
    });
    let upstreams = doc.member("upstreams").and_then(Value::as_object);
    let protocols = upstreams.into_iter().flatten().map(|(_, upstream)| protocol(upstream)).collect();
    let for_streams = upstreams.into_iter().flatten().map(|(_, upstream)| is_for_streams(upstream)).collect();
    let upstreams = upstreams.map(names).unwrap_or_default();
    let applications = applications.collect();
    Destinations { routes, applications, background, upstreams, protocols, for_streams }
}

/// Collects the names of maps, and whether their values are constants.
pub(super) fn maps(doc: &Value) -> MapNames {
    let maps = doc.member("maps").and_then(Value::as_object).into_iter().flatten();
    maps.map(|(name, map)| (name.to_string_lossy().into_owned(), has_constant_values(map))).collect()
}

fn has_constant_values(map: &Value) -> bool {
    let tables = ["table", "geo", "split"].iter().filter_map(|kind| map.member(kind)?.as_object());
    let mut values = tables.flat_map(Object::values).chain(map.member("default"));
    values.all(|value| value.as_bytes().is_some_and(|text| !Template::is_dynamic(text)))
}

fn protocol(upstream: &Value) -> UpstreamProtocol {
    let name = upstream.member("protocol").and_then(Value::as_bytes);
    match name.and_then(|name| Protocol::named(name)) {
        Some(protocol) => UpstreamProtocol::Gateway(protocol),
        None if name.is_some_and(|name| **name == *RAW) => UpstreamProtocol::Tcp,
        None if speaks_http2(upstream) => UpstreamProtocol::Http2,
        None => UpstreamProtocol::Http1,
    }
}

/// Whether some of an upstream's servers take no datagrams.
fn is_for_streams(upstream: &Value) -> bool {
    let mut servers = upstream.member("servers").and_then(Value::as_object).into_iter().flatten();
    servers.any(|(address, _)| address.starts_with(b"unix:") || address.starts_with(b"https://"))
}

/// Whether some of an upstream's servers are spoken to over HTTP/2.
fn speaks_http2(upstream: &Value) -> bool {
    let says_so = |object: &Value| object.member("http2") == Some(&Value::Bool(true));
    let mut servers = upstream.member("servers").and_then(Value::as_object).into_iter().flatten();
    says_so(upstream) || servers.any(|(_, server)| says_so(server))
}

/// Where each target of a group is: the application, and its place there. Further groups stand behind all applications.
fn places(app: usize, groups: &[Vec<usize>], further: &mut usize) -> HashMap<usize, TargetPlace> {
    let mut places = HashMap::new();
    for (n, group) in groups.iter().enumerate() {
        let app = if n == 0 { app } else { mem::replace(further, *further + 1) };
        places.extend(
            group
                .iter()
                .enumerate()
                .map(|(place, target)| (*target, TargetPlace { app: Key::nth(app), target: place })),
        );
    }
    places
}

fn route_names<C: FromIterator<Bytes>>(routes: &Object) -> C {
    let routes = routes.iter().filter(|(name, value)| !defaults::are_of_routes(name, value));
    routes.map(|(name, _)| name.clone()).collect()
}

fn names<C: FromIterator<Bytes>>(members: &Object) -> C {
    members.keys().cloned().collect()
}
