//! Remarks on what a configuration says and probably does not mean: things that this machine lacks, patterns that match
//! nothing, parts that are not used.

use std::mem;

use corral_config::json::{Value, pointer};
use corral_config::plan::{AppSpec, PythonSpec, RuntimeSpec};
use corral_config::{Config, Problem, Stage};

use super::access::{self, Account};
use super::hosts::Hosts;
use super::used::Used;
use super::{missing_files, ports, python, steps, uris};

/// Everything, in the order of the document's parts.
pub(super) fn of(config: &Config, document: &Value) -> Vec<Problem> {
    let mut remarks = Remarks { router: Account::of_router(), ..Remarks::default() };
    remarks.unused(config);
    remarks.taken_addresses(config);
    for app in config.applications.iter().chain(&config.background) {
        remarks.application(app);
    }
    remarks.key_servers(config);
    if let Some(routes) = document.member("routes") {
        remarks.routes(routes);
        remarks.visit("/routes", routes);
    }
    if let Some(upstreams) = document.member("upstreams") {
        remarks.servers(upstreams);
    }
    // Behind everything that makes other processes: names are looked up in threads.
    for (pointer, lack) in mem::take(&mut remarks.hosts).missing() {
        remarks.add(&pointer, lack, String::new());
    }
    remarks.found
}

#[derive(Default)]
struct Remarks {
    found: Vec<Problem>,
    hosts: Hosts,
    /// The user that reads files for clients.
    router: Option<Account>,
}

impl Remarks {
    fn add(&mut self, pointer: &str, detail: String, advice: String) {
        let pointer = pointer.to_owned();
        let problem = Problem { pointer, detail, advice, suggestion: None, stage: Stage::Application };
        // Several options may name one folder.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    fn unused(&mut self, config: &Config) {
        let Some(used) = Used::of(config) else { return };
        let mut add = |part: &str, name: &str, what: &str| {
            let pointer = pointer::member(&format!("/{part}"), name.as_bytes());
            let advice = format!("A \"pass\" to \"{part}/{name}\" would lead to it.");
            self.add(&pointer, format!("Nothing passes requests to this {what}."), advice);
        };
        for route in used.unused_routes(config).filter_map(|route| route.name()) {
            add("routes", route, "route");
        }
        for app in used.unused_applications(config) {
            add("applications", &app.name, "application");
        }
        for upstream in used.unused_upstreams(config) {
            add("upstreams", &upstream.name, "upstream");
        }
    }

    /// A start does not depend on other servers, so that this is not an error.
    fn key_servers(&mut self, config: &Config) {
        for authentication in &config.tables.authentications {
            for lack in authentication.methods.iter().filter_map(missing_files::of_method) {
                let advice = "Tokens get 503 until it has answered once.".to_owned();
                self.add(&format!("{}/jwt/jwks", authentication.place), lack, advice);
            }
        }
    }

    fn taken_addresses(&mut self, config: &Config) {
        for address in config.listeners.iter().map(|listener| &listener.address) {
            if let Some(taken) = ports::taken(address) {
                let pointer = pointer::member("/listeners", address.to_string().as_bytes());
                self.add(&pointer, taken, "Stop it, or listen on another port.".to_owned());
            }
        }
    }

    fn application(&mut self, app: &AppSpec) {
        let place = pointer::member("/applications", app.name.as_bytes());
        for lack in missing_files::of_application(app) {
            self.add(&place, lack, String::new());
        }
        for obstacle in access::of_application(app) {
            let advice = "Let it in (`chmod o+x FOLDER`), name another \"user\", or put the files elsewhere.";
            self.add(&place, obstacle, advice.to_owned());
        }
        if let RuntimeSpec::Python(python) = &app.runtime {
            self.modules(&place, python);
            self.missing_modules(&place, app, python);
        }
    }

    fn missing_modules(&mut self, place: &str, app: &AppSpec, python: &PythonSpec) {
        for (module, lack) in python::missing(app, python) {
            if !module.contains([':', '/']) && !module.ends_with(".py") {
                self.add(place, lack, "Name its folder in \"path\".".to_owned());
            }
        }
    }

    /// `module` is not what other servers are given at their command line.
    fn modules(&mut self, place: &str, python: &PythonSpec) {
        for target in &python.targets {
            let place = if target.name.is_empty() {
                format!("{place}/module")
            } else {
                pointer::member(&format!("{place}/targets"), target.name.as_bytes()) + "/module"
            };
            let module = &target.module;
            let detail = format!("\"{module}\" is not the name of a module.");
            if let Some((module, callable)) = module.split_once(':') {
                let advice = format!("Write \"module\": \"{module}\", \"callable\": \"{callable}\".");
                self.add(&place, detail, advice);
            } else if let Some(stem) = module.strip_suffix(".py").or(module.contains('/').then_some(module)) {
                let name = stem.trim_matches(['.', '/']).replace('/', ".");
                self.add(&place, detail, format!("Write \"{name}\", and name its folder in \"path\"."));
            }
        }
    }

    /// Steps behind others, in the one route or in each.
    fn routes(&mut self, routes: &Value) {
        if let Some(steps) = routes.as_array() {
            self.steps("/routes", steps);
        }
        for (name, route) in routes.as_object().into_iter().flatten() {
            self.steps(&pointer::member("/routes", name), route.as_array().unwrap_or_default());
        }
    }

    fn steps(&mut self, route: &str, steps: &[Value]) {
        for (idx, before) in steps::shadowed(steps) {
            let before = pointer::element(route, before);
            let detail = format!("No request gets to this step: {before} takes all that it is for.");
            self.add(
                &pointer::element(route, idx),
                detail,
                "The first step that matches answers.".to_owned(),
            );
        }
    }

    /// Names of the servers of upstreams.
    fn servers(&mut self, upstreams: &Value) {
        for (name, upstream) in upstreams.as_object().into_iter().flatten() {
            let place = pointer::member(&pointer::member("/upstreams", name), b"servers");
            let servers = upstream.member("servers").and_then(Value::as_object);
            for server in servers.into_iter().flat_map(|servers| servers.keys()) {
                self.hosts.note(&pointer::member(&place, server), &server.to_string_lossy());
            }
        }
    }

    /// Everything below a value of `routes`.
    fn visit(&mut self, pointer: &str, value: &Value) {
        for (idx, element) in value.as_array().unwrap_or_default().iter().enumerate() {
            self.visit(&pointer::element(pointer, idx), element);
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let pointer = pointer::member(pointer, name);
            match &**name {
                b"match" => self.conditions(&pointer, value),
                b"cors" => self.origins(&pointer, value),
                b"return" => self.status(&pointer, value),
                b"share" | b"chroot" => self.strings(&pointer, value, Self::path),
                b"proxy" | b"fastcgi" | b"scgi" | b"uwsgi" => self.strings(&pointer, value, Self::server),
                _ => self.visit(&pointer, value),
            }
        }
    }

    /// nginx has a number for closing the connection.
    fn status(&mut self, pointer: &str, status: &Value) {
        if status.as_number().is_some_and(|number| number.as_i64() == 444) {
            let detail = "Clients get an error page with the status 444.".to_owned();
            let advice = "\"return\": \"close\" closes the connection without a reply, as nginx does.";
            self.add(pointer, detail, advice.to_owned());
        }
    }

    /// Every site can show a page without an origin: a frame with `sandbox`, or a `data:` URL.
    fn origins(&mut self, pointer: &str, cors: &Value) {
        let has_credentials = matches!(cors.member("credentials"), Some(Value::Bool(true)));
        if let Some(origins) = cors.member("origins").filter(|_| has_credentials) {
            self.strings(&pointer::member(pointer, b"origins"), origins, Self::origin);
        }
    }

    fn origin(&mut self, pointer: &str, text: &str) {
        if text == "null" {
            let detail = "With \"credentials\", \"null\" lets any site read what only its visitor may see.";
            let advice = "Name the sites that may: \"https://app.example.org\".";
            self.add(pointer, detail.to_owned(), advice.to_owned());
        }
    }

    fn conditions(&mut self, pointer: &str, conditions: &Value) {
        for (name, value) in conditions.as_object().into_iter().flatten() {
            if matches!(
                &**name,
                b"method" | b"uri" | b"host" | b"query" | b"arguments" | b"headers" | b"cookies"
            ) {
                let check = if **name == *b"uri" { Self::uri } else { Self::pattern };
                self.strings(&pointer::member(pointer, name), value, check);
            }
        }
    }

    /// The strings in a value, whether it is one, an array or an object of them.
    fn strings(&mut self, pointer: &str, value: &Value, check: fn(&mut Self, &str, &str)) {
        match value {
            Value::String(text) => check(self, pointer, &text.to_string_lossy()),
            Value::Array(elements) => {
                for (idx, element) in elements.iter().enumerate() {
                    self.strings(&pointer::element(pointer, idx), element, check);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    self.strings(&pointer::member(pointer, name), value, check);
                }
            }
            _ => {}
        }
    }

    fn path(&mut self, pointer: &str, text: &str) {
        if let Some(lack) = missing_files::of_share(text) {
            self.add(pointer, lack, String::new());
        }
        let folder = missing_files::folder_of_share(text);
        if let Some(obstacle) = self.router.as_ref().zip(folder).and_then(|(user, path)| user.obstacle(path))
        {
            let advice = "Files are read by the daemon's user: let it in (`chmod o+x FOLDER`).";
            self.add(pointer, obstacle, advice.to_owned());
        }
    }

    fn server(&mut self, pointer: &str, text: &str) {
        self.hosts.note(pointer, text);
    }

    fn uri(&mut self, pointer: &str, text: &str) {
        match uris::remark(text) {
            Some((detail, advice)) => self.add(pointer, detail, advice),
            None => self.pattern(pointer, text),
        }
    }

    fn pattern(&mut self, pointer: &str, text: &str) {
        let (negation, pattern) = text.strip_prefix('!').map_or(("", text), |rest| ("!", rest));
        if uris::looks_like_regex(pattern) {
            let detail = format!("The pattern \"{text}\" is compared literally, but for \"*\".");
            self.add(
                pointer,
                detail,
                format!("A regular expression begins with \"~\": \"{negation}~{pattern}\"."),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use corral_config::{Known, json, validate};

    use super::*;

    /// `expected` are the remarks: where, and a part of the words.
    #[track_caller]
    fn check(document: &str, expected: &[(&str, &str)]) {
        let document = json::parse(document.as_bytes()).unwrap();
        let config = validate(&document, &Known::validated_elsewhere()).unwrap();
        let found = of(&config, &document);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (remark, (pointer, words)) in found.iter().zip(expected) {
            assert_eq!(remark.pointer, *pointer, "{found:#?}");
            assert!(remark.to_string().contains(words), "{words:?} is not in {remark}");
        }
    }

    #[test]
    fn what_nobody_uses() {
        let rest =
            r#""applications": {"a/b": {"type": "php", "root": "/"}, "c": {"type": "php", "root": "/"}}}"#;
        check(
            &format!(
                r#"{{"routes": {{"main": [{{"action": {{"return": 200}}}}]}}, "upstreams": {{"u": {{"servers": {{}}}}}}, {rest}"#
            ),
            &[
                ("/routes/main", "this route"),
                ("/applications/a~1b", "this application"),
                ("/applications/c", "\"applications/c\""),
                ("/upstreams/u", "this upstream"),
            ],
        );
        let used = r#"{"listeners": {"unix:/a": {"pass": "routes"}}, "routes": [
            {"match": {"uri": "/a"}, "action": {"share": "/", "fallback": {"pass": "applications/c"}}},
            {"action": {"return": 404, "errors": {"404": {"pass": "applications/a%2Fb"}}}}], "#;
        check(&format!("{used}{rest}"), &[]);
        check(&format!(r#"{{"listeners": {{"unix:/a": {{"pass": "applications/$host"}}}}, {rest}"#), &[]);
    }

    #[test]
    fn patterns_that_look_like_regular_expressions() {
        let at = "/routes/0/match";
        let pattern = |conditions: &str, expected: &[(&str, &str)]| {
            let document =
                format!(r#"{{"routes": [{{"match": {conditions}, "action": {{"return": 200}}}}]}}"#);
            check(&document, expected);
        };
        pattern(r#"{"uri": "^/api"}"#, &[(&format!("{at}/uri"), "\"~^/api\"")]);
        pattern(r#"{"uri": ["/a", "!\\.php$"]}"#, &[(&format!("{at}/uri/1"), "\"!~\\.php$\"")]);
        pattern(r#"{"host": "(a|b).example.org"}"#, &[(&format!("{at}/host"), "~")]);
        pattern(r#"{"arguments": {"id": "[0-9]+"}}"#, &[(&format!("{at}/arguments/id"), "~")]);
        pattern(r#"{"headers": [{"a": ".*"}]}"#, &[(&format!("{at}/headers/0/a"), "~")]);
        for right in ["~^/api", "!~.*", "/a*b", "*.php", "*/.*", "!*/.*", "/$", "/a.b", "/(x)"] {
            pattern(
                &format!(r#"{{"uri": "{right}"}}"#),
                if right == "/$" { &[("/routes/0/match/uri", "~")] } else { &[] },
            );
        }
    }

    #[test]
    fn pages_without_an_origin_that_may_have_credentials() {
        let cors = |cors: &str, expected: &[(&str, &str)]| {
            check(&format!(r#"{{"routes": [{{"action": {{"cors": {cors}, "return": 200}}}}]}}"#), expected);
        };
        let at = "/routes/0/action/cors/origins";
        cors(r#"{"origins": ["null"], "credentials": true}"#, &[(&format!("{at}/0"), "any site")]);
        cors(r#"{"origins": "null", "credentials": true}"#, &[(at, "any site")]);
        cors(r#"{"origins": ["null"]}"#, &[]);
        cors(r#"{"origins": ["https://null"], "credentials": true}"#, &[]);
    }

    #[test]
    fn a_number_that_closes_connections_elsewhere() {
        let returned = |value: &str, expected: &[(&str, &str)]| {
            check(&format!(r#"{{"routes": [{{"action": {{"return": {value}}}}}]}}"#), expected);
        };
        returned("444", &[("/routes/0/action/return", "\"close\"")]);
        returned("404", &[]);
        returned("\"close\"", &[]);
    }

    #[test]
    fn one_folder_that_two_options_name_is_told_once() {
        let app = r#"{"type": "python", "path": "/nowhere", "working_directory": "/nowhere", "module": "a"}"#;
        let document = format!(
            r#"{{"applications": {{"a": {app}}}, "listeners": {{"unix:/a": {{"pass": "applications/a"}}}}}}"#
        );
        check(&document, &[("/applications/a", "\"/nowhere\" does not exist")]);
    }

    #[test]
    fn modules_of_python_as_others_name_them() {
        let module = |name: &str, expected: &[(&str, &str)]| {
            let document = format!(
                r#"{{"listeners": {{"unix:/a": {{"pass": "applications/a"}}}}, "applications": {{"a": {{"type": "python", "module": "{name}"}}}}}}"#
            );
            check(&document, expected);
        };
        let at = "/applications/a/module";
        module("app:create", &[(at, "\"module\": \"app\", \"callable\": \"create\"")]);
        module("app.py", &[(at, "Write \"app\"")]);
        module("./site/app.py", &[(at, "Write \"site.app\"")]);
        module("site.wsgi", &[]);
    }
}
