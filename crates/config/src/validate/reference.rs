//! The options as the manual's tables show them, made from the rows that read them.

use super::describe::walk;
use super::recorder::{RecordedNode, Recorder};

/// One table of the manual.
#[derive(Debug)]
pub struct OptionTable {
    /// The name by which a page asks for the table.
    pub name: &'static str,
    /// In the order of the rows that read the options.
    pub options: Vec<DocumentedOption>,
}

/// One option of a table.
#[derive(Debug)]
pub struct DocumentedOption {
    /// With the objects that it is in, as far as the table goes: `limits.timeout`.
    pub name: String,
    /// In Markdown; empty where there is nothing to say.
    pub default: &'static str,
    /// In Markdown, with links from the folder of the page.
    pub meaning: &'static str,
    /// The greatest number that is taken.
    pub most: Option<u32>,
}

/// All tables of the manual.
#[must_use]
pub fn option_tables() -> Vec<OptionTable> {
    let tables = TABLES.iter().map(|&(name, sources)| {
        let options = sources.iter().flat_map(Source::options).collect();
        OptionTable { name, options }
    });
    tables.collect()
}

/// Where the rows of a table come from.
struct Source {
    /// A document that has the object.
    seed: &'static str,
    /// JSON pointer of the object.
    pointer: &'static str,
    /// Which of its parts.
    part: usize,
    /// The path with which all names begin.
    prefix: &'static str,
    /// The one option that is shown of several that other tables show.
    only: Option<&'static str>,
}

impl Source {
    const fn new(seed: &'static str, pointer: &'static str) -> Self {
        Self { seed, pointer, part: 0, prefix: "", only: None }
    }

    const fn only(self, name: &'static str) -> Self {
        Self { only: Some(name), ..self }
    }

    const fn part(self, part: usize) -> Self {
        Self { part, ..self }
    }

    const fn prefix(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    fn options(&self) -> Vec<DocumentedOption> {
        let mut recorder = walk(self.seed, Recorder::default());
        let mut options = Vec::new();
        gather(recorder.at(self.pointer), Some(self.part), self.prefix, &mut options);
        options.retain(|option| self.only.is_none_or(|only| option.name == only));
        options
    }
}

/// An option that the manual says nothing of itself is told by its members.
fn gather(node: &RecordedNode, part: Option<usize>, prefix: &str, options: &mut Vec<DocumentedOption>) {
    for property in node.properties.values().filter(|property| part.is_none_or(|part| property.part == part))
    {
        let label = property.label;
        let name = format!("{prefix}{}", label.name);
        if label.meaning.is_empty() {
            gather(&property.node, None, &format!("{name}."), options);
        } else {
            let most = label.bound.map(|bound| bound.most);
            options.push(DocumentedOption { name, default: label.default, meaning: label.meaning, most });
        }
    }
}

const PHP: &str = r#"{"applications": {"name": {"type": "php"}}}"#;
const HTTP: &str = r#"{"applications": {"name": {"type": "http"}}}"#;
const PROCESS: &str = r#"{"applications": {"name": {"type": "process"}}}"#;
const LISTENER: &str = r#"{"listeners": {"*:80": {}}}"#;
const PASS: &str = r#"{"routes": [{"action": {"pass": "routes"}}]}"#;
const METRICS: &str = r#"{"routes": [{"action": {"metrics": true}}]}"#;
const RETURN: &str = r#"{"routes": [{"action": {"return": 200}}]}"#;
const SHARE: &str = r#"{"routes": [{"action": {"share": "/"}}]}"#;
const PROXY: &str = r#"{"routes": [{"action": {"proxy": "http://127.0.0.1:80"}}]}"#;
const FASTCGI: &str = r#"{"routes": [{"action": {"fastcgi": "127.0.0.1:9000"}}]}"#;
const SCGI: &str = r#"{"routes": [{"action": {"scgi": "127.0.0.1:9000"}}]}"#;
const UWSGI: &str = r#"{"routes": [{"action": {"uwsgi": "127.0.0.1:9000"}}]}"#;
const UPSTREAM: &str = r#"{"upstreams": {"name": {"servers": {}}}}"#;
const SERVER: &str = r#"{"upstreams": {"name": {"servers": {"a:80": {}}}}}"#;

/// Options particular to a type of applications, which follow the options of all.
const fn own(seed: &'static str) -> [Source; 1] {
    [Source::new(seed, "/applications/name").part(1)]
}

/// The members of `processes` that decide how many there are.
const QUEUE: [Source; 2] = [
    Source::new(PROCESS, "/applications/name/processes"),
    Source::new(PROCESS, "/applications/name/processes/queue").prefix("queue."),
];

/// The servers that requests may name are an option of an action alone.
const PROXY_ACTION: [Source; 2] = [
    Source::new(PROXY, "/routes/0/action"),
    Source::new(PROXY, "/routes/0/action/proxy_options").part(1).prefix("proxy_options."),
];

/// The tables by their names.
const TABLES: &[(&str, &[Source])] = &[
    ("configuration", &[Source::new("{}", "")]),
    ("applications", &[Source::new(PHP, "/applications/name")]),
    ("applications.php", &own(PHP)),
    ("applications.php.worker", &[Source::new(PHP, "/applications/name/worker")]),
    ("applications.python", &own(r#"{"applications": {"name": {"type": "python"}}}"#)),
    ("applications.ruby", &own(r#"{"applications": {"name": {"type": "ruby"}}}"#)),
    ("applications.perl", &own(r#"{"applications": {"name": {"type": "perl"}}}"#)),
    ("applications.java", &own(r#"{"applications": {"name": {"type": "java"}}}"#)),
    ("applications.wasm", &own(r#"{"applications": {"name": {"type": "wasm-wasi-component"}}}"#)),
    ("applications.http", &own(HTTP)),
    ("applications.fastcgi", &own(r#"{"applications": {"name": {"type": "fastcgi"}}}"#)),
    ("applications.cgi", &own(r#"{"applications": {"name": {"type": "cgi"}}}"#)),
    ("applications.process", &own(PROCESS)),
    ("applications.process.processes", &QUEUE),
    ("applications.process.schedule", &[Source::new(PROCESS, "/applications/name/schedule")]),
    ("applications.external", &own(r#"{"applications": {"name": {"type": "external"}}}"#)),
    ("isolation", &[Source::new(PHP, "/applications/name/isolation")]),
    (
        "isolation.namespaces",
        &[Source::new(PHP, "/applications/name/isolation/namespaces").prefix("namespaces.")],
    ),
    (
        "isolation.automount",
        &[Source::new(PHP, "/applications/name/isolation/automount").prefix("automount.")],
    ),
    ("isolation.cgroup", &[Source::new(PHP, "/applications/name/isolation/cgroup").prefix("cgroup.")]),
    (
        "listeners",
        &[
            Source::new(LISTENER, "/listeners/*:80"),
            Source::new(LISTENER, "/listeners/*:80").part(1).only("protocol"),
        ],
    ),
    ("tcp", &[Source::new(LISTENER, "/listeners/*:80").part(1)]),
    ("listeners.tls", &[Source::new(LISTENER, "/listeners/*:80/tls")]),
    ("listeners.tls.client", &[Source::new(LISTENER, "/listeners/*:80/tls/client").prefix("client.")]),
    ("listeners.https_only", &[Source::new(LISTENER, "/listeners/*:80/https_only")]),
    ("certificates", &[Source::new(LISTENER, "/listeners/*:80/tls/acme")]),
    ("certificates.dns", &[Source::new(LISTENER, "/listeners/*:80/tls/acme/challenge/dns")]),
    ("certificates.on_demand", &[Source::new(LISTENER, "/listeners/*:80/tls/acme/on_demand")]),
    ("limits.requests", &[Source::new(LISTENER, "/listeners/*:80/limit_requests")]),
    ("limits.connections", &[Source::new(LISTENER, "/listeners/*:80/limit_connections")]),
    ("limits", &[Source::new(LISTENER, "/listeners/*:80/limit_requests").part(1)]),
    ("authentication", &[Source::new(RETURN, "/routes/0/action/authenticate")]),
    ("authentication.basic", &[Source::new(RETURN, "/routes/0/action/authenticate/basic")]),
    ("authentication.jwt", &[Source::new(RETURN, "/routes/0/action/authenticate/jwt")]),
    ("authentication.forward", &[Source::new(RETURN, "/routes/0/action/authenticate/forward")]),
    (
        "authentication.client_certificate",
        &[Source::new(RETURN, "/routes/0/action/authenticate/client_certificate")],
    ),
    ("authentication.signed_link", &[Source::new(RETURN, "/routes/0/action/authenticate/signed_link")]),
    ("listeners.forwarded", &[Source::new(LISTENER, "/listeners/*:80/forwarded")]),
    ("settings", &[Source::new("{}", "/settings")]),
    ("settings.http", &[Source::new("{}", "/settings/http")]),
    ("settings.http.request_id", &[Source::new("{}", "/settings/http/request_id")]),
    ("settings.http.http2", &[Source::new("{}", "/settings/http/http2")]),
    ("settings.limits", &[Source::new("{}", "/settings/limits").prefix("limits.")]),
    ("settings.js_limits", &[Source::new("{}", "/settings/js_limits")]),
    ("settings.log", &[Source::new("{}", "/settings/log")]),
    ("settings.metrics", &[Source::new("{}", "/settings/metrics")]),
    ("settings.dashboard", &[Source::new("{}", "/settings/dashboard")]),
    ("settings.telemetry", &[Source::new("{}", "/settings/telemetry")]),
    ("settings.telemetry.metrics", &[Source::new("{}", "/settings/telemetry/metrics")]),
    ("compression", &[Source::new("{}", "/settings/http/compression")]),
    ("compression.compressors", &[Source::new("{}", "/settings/http/compression/compressors")]),
    ("access_log", &[Source::new("{}", "/access_log")]),
    ("maps", &[Source::new(r#"{"maps": {"name": {}}}"#, "/maps/name")]),
    ("routes", &[Source::new(r#"{"routes": {}}"#, "/routes")]),
    ("routes.step", &[Source::new(RETURN, "/routes/0")]),
    ("routes.match", &[Source::new(RETURN, "/routes/0/match")]),
    ("match.file", &[Source::new(RETURN, "/routes/0/match/file")]),
    (
        "actions.kinds",
        &[
            Source::new(PASS, "/routes/0/action"),
            Source::new(RETURN, "/routes/0/action"),
            Source::new(METRICS, "/routes/0/action"),
        ],
    ),
    ("actions.share", &[Source::new(SHARE, "/routes/0/action")]),
    ("actions.share.listing", &[Source::new(SHARE, "/routes/0/action/listing")]),
    ("actions.proxy", &PROXY_ACTION),
    (
        "actions.fastcgi",
        &[
            Source::new(FASTCGI, "/routes/0/action"),
            Source::new(SCGI, "/routes/0/action").only("scgi"),
            Source::new(UWSGI, "/routes/0/action").only("uwsgi"),
        ],
    ),
    ("actions", &[Source::new(RETURN, "/routes/0/action").part(1)]),
    ("actions.limit_rate", &[Source::new(RETURN, "/routes/0/action/limit_rate")]),
    ("actions.substitute", &[Source::new(RETURN, "/routes/0/action/substitute/0")]),
    ("rewrite", &[Source::new(RETURN, "/routes/0/action/rewrite")]),
    ("try", &[Source::new(RETURN, "/routes/0/action/try")]),
    ("errors", &[Source::new(RETURN, "/routes/0/action/errors")]),
    ("maintenance", &[Source::new(RETURN, "/routes/0/action/maintenance")]),
    ("mirror", &[Source::new(RETURN, "/routes/0/action/mirror")]),
    ("cors", &[Source::new(RETURN, "/routes/0/action/cors")]),
    ("proxy_options", &[Source::new(PROXY, "/routes/0/action/proxy_options")]),
    ("upstreams", &[Source::new(UPSTREAM, "/upstreams/name")]),
    ("servers", &[Source::new(SERVER, "/upstreams/name/servers/a:80")]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The options that neither say what they mean nor are told by their members.
    fn untold(node: &RecordedNode, place: &str, found: &mut Vec<String>) {
        for property in node.properties.values().filter(|property| property.label.meaning.is_empty()) {
            let place = format!("{place}/{}", property.label.name);
            if property.node.properties.is_empty() {
                found.push(place);
            } else {
                untold(&property.node, &place, found);
            }
        }
    }

    #[test]
    fn every_option_of_a_table_says_what_it_means() {
        let mut found = Vec::new();
        for (name, sources) in TABLES {
            for source in *sources {
                untold(walk(source.seed, Recorder::default()).at(source.pointer), name, &mut found);
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }

    /// Collects the meanings of all rows, wherever they are.
    fn meanings(node: &RecordedNode, found: &mut BTreeSet<&'static str>) {
        found.extend(node.properties.values().map(|property| property.label.meaning));
        let members = node.properties.values().map(|property| &property.node);
        for inner in members.chain(node.any.as_deref()).chain(node.items.as_deref()) {
            meanings(inner, found);
        }
    }

    #[test]
    fn what_a_row_says_is_in_a_table() {
        let mut said = BTreeSet::new();
        for source in TABLES.iter().flat_map(|(_, sources)| *sources) {
            meanings(walk(source.seed, Recorder::default()).root(), &mut said);
        }
        let mut told = BTreeSet::from([""]);
        told.extend(option_tables().iter().flat_map(|table| &table.options).map(|option| option.meaning));
        assert_eq!(said.difference(&told).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
