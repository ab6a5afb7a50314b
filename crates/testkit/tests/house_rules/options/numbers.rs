//! Numbers of the configuration that are senseless: each option refuses them by its name, or they cost nothing.

use std::collections::BTreeSet;

use corral_config::{Known, json, validate};
use corral_testkit::options::{self, Row};
use serde_json::{Value, json};

/// No number of these is meant. The second one is the greatest of 14 digits, and no document may have more.
const LARGE: [i64; 2] = [2_147_483_647, 99_999_999_999_999];

/// Numbers without an upper bound below those, each with what makes that harmless.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "the system has a bound of its own",
        &["listeners.{addr}.backlog", "applications.{N}.isolation.cgroup.memory"],
    ),
    ("its own bound is 4 GiB", &["settings.js_limits.memory"]),
    ("there are never more than 128", &["settings.listen_threads"]),
    (
        "it takes a bound away, and the system's is left",
        &[
            "settings.limits.connections",
            "settings.limits.connections_per_address",
            "settings.limits.buffered_bytes",
            "settings.http.max_body_size",
            "routes[].action.max_body_size",
            "routes[].action.limit_rate",
            "routes[].action.limit_rate.rate",
            "routes[].action.limit_rate.burst",
            "routes[].action.limit_connections.connections",
            "listeners.{addr}.tls.acme.on_demand.per_address",
            "listeners.{addr}.tls.acme.on_demand.per_domain",
            "applications.{N}.limits.memory",
            "applications.{N}.limits.memory.soft",
            "applications.{N}.limits.memory.hard",
        ],
    ),
    (
        "it is compared with a counter",
        &[
            "applications.{N}.limits.requests",
            "applications.{N}.worker.max_requests",
            "routes[].action.proxy_options.keepalive.requests",
            "routes[].action.keep_alive.requests",
            "upstreams.{N}.keepalive.requests",
            "settings.http.compression.compressors[].min_length",
        ],
    ),
    (
        "it is made less where it is read",
        &["applications.{N}.limits.timeout", "settings.http.compression.compressors[].level"],
    ),
    ("it is taken and not used", &["applications.{N}.limits.shm"]),
    (
        "seconds that only clients count, or that sessions are old",
        &[
            "listeners.{addr}.https_only.max_age",
            "listeners.{addr}.tls.session.timeout",
            "routes[].action.expires",
            "upstreams.{N}.sticky.max_age",
        ],
    ),
    (
        "users of the system have such numbers",
        &[
            "applications.{N}.isolation.uidmap[].container",
            "applications.{N}.isolation.uidmap[].host",
            "applications.{N}.isolation.uidmap[].size",
            "applications.{N}.isolation.gidmap[].container",
            "applications.{N}.isolation.gidmap[].host",
            "applications.{N}.isolation.gidmap[].size",
        ],
    ),
];

/// Names of the frames, as a machine may have them.
fn names() -> Vec<(&'static str, String)> {
    let names = [
        ("{addr}", "127.0.0.1:8080"),
        ("{root}", "/srv"),
        ("{component}", "/srv/component.wasm"),
        ("{tmp}", "/tmp"),
        ("{user}", "root"),
        ("{group}", "root"),
        ("{uid}", "0"),
        ("{gid}", "0"),
        ("{N}", "n"),
        ("{name}", "X-Name"),
        ("{cmd}", "MinProtocol"),
        ("{type}", "text/x-own"),
        ("{status}", "404"),
        ("{VAR}", "VAR"),
        ("{k}", "display_errors"),
    ];
    names.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// Rows whose values may be whole numbers.
fn numbers() -> impl Iterator<Item = Row> {
    options::options()
        .into_iter()
        .filter(|row| row.columns[0].split(", ").any(|types| types.trim_start_matches('+') == "integer"))
}

/// The message about the option when it has the value; nothing if it is taken.
fn said(row: &Row, value: &Value) -> Vec<String> {
    let names = names();
    let document = row.document(value.clone(), &names).to_string();
    let document = json::parse(document.as_bytes()).expect("it is JSON");
    let Err(problems) = validate(&document, &Known::validated_elsewhere()) else { return Vec::new() };
    let name = format!("\"{}\"", row.name(&names));
    let details: Vec<_> = problems.into_iter().map(|problem| problem.detail).collect();
    let is_named = details.iter().any(|detail| detail.contains(&name));
    assert!(is_named, "{} as {value}: {details:?} do not name it", row.path);
    details
}

#[test]
fn every_number_has_a_bound_or_is_harmless() {
    let harmless: BTreeSet<_> = HARMLESS.iter().flat_map(|(_, paths)| *paths).copied().collect();
    let taken: BTreeSet<_> = numbers()
        .filter(|row| LARGE.iter().any(|number| said(row, &json!(number)).is_empty()))
        .map(|row| row.path)
        .collect();
    assert_eq!(taken, harmless, "on the left: what has no bound; on the right: what may have none");
}

#[test]
fn no_number_but_the_backlog_and_levels_is_less_than_0() {
    let taken: BTreeSet<_> =
        numbers().filter(|row| said(row, &json!(-1)).is_empty()).map(|row| row.path).collect();
    let expected = ["listeners.{addr}.backlog", "settings.http.compression.compressors[].level"];
    assert_eq!(taken, BTreeSet::from(expected));
}

#[test]
fn no_document_has_a_longer_number() {
    let document = format!(r#"{{"settings": {{"listen_threads": {}}}}}"#, 1_u64 << 53);
    assert!(json::parse(document.as_bytes()).is_err());
}

/// Where 0 is taken it means none, never or no bound, as the manual says.
#[test]
fn zero_is_taken_or_refused_by_name() {
    let n_taken = numbers().filter(|row| said(row, &json!(0)).is_empty()).count();
    assert!(n_taken > 0 && n_taken < numbers().count(), "{n_taken}");
}
