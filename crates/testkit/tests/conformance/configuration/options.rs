//! Walks the index of options: each is known, and takes the types that it should and no others. Values of a later
//! version are refused in words that say so.

use std::fs;

use corral_testkit::options::{self, Names, Row};
use corral_testkit::{Address, Authority, Daemon, Request, Site, component, daemon, says, site};
use serde_json::Value;

/// Type names, and a value of each.
const TYPES: &[(&str, &str, &str)] = &[
    ("null", "a null", "null"),
    ("boolean", "a boolean", "true"),
    ("integer", "an integer number", "1"),
    ("fraction", "a fractional number", "1.5"),
    ("string", "a string", "\"text\""),
    ("array", "an array", "[]"),
    ("object", "an object", "{}"),
];

/// By `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

/// A daemon that has what documents name.
struct World {
    server: Daemon,
    site: Site,
    names: Vec<(&'static str, String)>,
}

impl World {
    fn start() -> Self {
        let site = site().file("index.php", "<?php echo 'x';").file("php.ini", "").writable_folder("tmp");
        let server = daemon().start_unconfigured();
        let authority = Authority::new("options");
        let bundle = authority.server("example.com", &["example.com"]).pem();
        let other = bundle.clone() + &authority.revocation_list(&[], 2090);
        for (path, body) in [
            ("/certificates/bundle", bundle.as_str()),
            ("/certificates/other", other.as_str()),
            ("/js_modules/module", "export default { answer() { return 42 } }"),
        ] {
            server.control().send(&Request::new("PUT", path).body(body)).0.expect(200);
        }
        site.write("tmp/php.ini", "");
        site.write("users", "");
        site.write("secret", "0123456789abcdef".repeat(4));
        site.write("key.pem", PUBLIC_KEY);
        site.write(
            "keys.json",
            format!(r#"{{"keys": [{{"kty": "OKP", "crv": "Ed25519", "x": "{}"}}]}}"#, "A".repeat(43)),
        );
        let (uid, gid) = owner(&site);
        let (user, group) = (name_in("/etc/passwd", uid), name_in("/etc/group", gid));
        let names = vec![
            ("{addr}", Address::fresh().to_string()),
            ("{root}", site.root()),
            ("{component}", component("older").display().to_string()),
            ("{tmp}", format!("{}/tmp", site.root())),
            ("{user}", user),
            ("{group}", group),
            ("{uid}", uid.to_string()),
            ("{gid}", gid.to_string()),
            ("{N}", "n".to_owned()),
            ("{name}", "X-Name".to_owned()),
            ("{cmd}", "MinProtocol".to_owned()),
            ("{type}", "text/x-own".to_owned()),
            ("{status}", "404".to_owned()),
            ("{VAR}", "VAR".to_owned()),
            ("{k}", "display_errors".to_owned()),
        ];
        Self { server, site, names }
    }

    fn names(&self) -> &Names {
        &self.names
    }

    /// The problems of a document, in words; none when it is in force.
    fn put(&self, document: &Value) -> Vec<String> {
        let reply = self.server.control().put("/config", document);
        if reply.0.status == 200 {
            return Vec::new();
        }
        let body = reply.json();
        let all = body["errors"].as_array().cloned().unwrap_or_else(|| vec![body.clone()]);
        all.iter().map(|problem| problem["detail"].as_str().unwrap_or("no detail").to_owned()).collect()
    }
}

/// The user and the group that a test runs as.
fn owner(site: &Site) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(site.path("")).expect("it is there");
    (owner.uid(), owner.gid())
}

fn name_in(file: &str, id: u32) -> String {
    let text = fs::read_to_string(file).expect("the system has users");
    let line = text.lines().find(|line| line.split(':').nth(2) == Some(&id.to_string()));
    line.and_then(|line| line.split(':').next()).expect("the test's user has a name").to_owned()
}

#[test]
fn every_option_is_known_and_takes_a_right_value() {
    let world = World::start();
    let mut failures = Vec::new();
    for row in options::options() {
        let value = options::parse(row.columns[1], world.names());
        let problems = world.put(&row.document(value, world.names()));
        if !problems.is_empty() {
            failures.push(format!("{}: {}", row.path, problems.join(" ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    drop(world.site);
}

#[test]
fn every_option_refuses_other_types_by_name() {
    let world = World::start();
    let mut failures = Vec::new();
    for row in options::options() {
        let types: Vec<_> = row.columns[0].split(", ").collect();
        let takes = |name: &str| types.iter().any(|known| known.trim_start_matches('+') == name);
        assert_eq!(TYPES.iter().filter(|(name, _, _)| takes(name)).count(), types.len(), "{}", row.path);
        for (_, found, value) in TYPES.iter().filter(|(name, _, _)| !takes(name)) {
            let value = serde_json::from_str(value).expect("the table is JSON");
            let problems = world.put(&row.document(value, world.names()));
            let expected = refusal(&row, &types, found, world.names());
            if !problems.iter().any(|problem| says(problem, &expected)) {
                failures.push(format!("{} as {found}: {problems:?} instead of {expected:?}", row.path));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The words for a value of a wrong type.
fn refusal(row: &Row, types: &[&str], found: &str, names: &Names) -> String {
    let name = row.name(names);
    if let Some(words) = row.columns.get(2) {
        return words.replace("{}", &name);
    }
    let expected: Vec<_> =
        TYPES.iter().filter(|(name, _, _)| types.contains(name)).map(|(_, words, _)| *words).collect();
    let expected = match expected.as_slice() {
        [only] => (*only).to_owned(),
        [first, second] => format!("either {first} or {second}"),
        [others @ .., last] => format!("either {}, or {last}", others.join(", ")),
        [] => panic!("{} has no type", row.path),
    };
    format!("The \"{name}\" value must be {expected}, but not {found}.")
}

#[test]
fn what_belongs_to_a_later_version_is_refused_as_such() {
    let world = World::start();
    for row in options::later() {
        let value = options::parse(row.columns[0], world.names());
        let problems = world.put(&row.document(value, world.names()));
        let named = format!("\"{}\"", row.columns[1]);
        let is_clear = |problem: &String| problem.contains(&named) && problem.contains("not supported");
        assert!(problems.iter().any(is_clear), "{}: {problems:?}", row.path);
    }
}
