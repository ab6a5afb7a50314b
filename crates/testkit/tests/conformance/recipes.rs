//! Recommendations of the manual, against paths that have fooled servers.

use std::fs;
use std::path::{Path, PathBuf};

use corral_testkit::{Daemon, Origin, Request, daemon, site};
use serde_json::{Map, Value, json};

use crate::manual::{blocks, pages};
use crate::routing::hostile_paths::{SECRET, ask, check, targets};

/// Where a block of the manual may belong, as far as requests get there.
const PLACES: &[&str] = &[
    "@",
    "{@}",
    r#"{"routes": [{"action": @}]}"#,
    r#"{"routes": [@]}"#,
    r#"{"routes": [{@}]}"#,
    r#"{"routes": [{"action": {"return": 204, @}}]}"#,
    r#"{"routes": [{"action": {"share": "/srv/x$uri", @}}]}"#,
];

/// Recipes that need more than files, or answer everything.
const APART: &[&str] = &[
    "authenticate",
    "limit_requests",
    "limit_connections",
    "mirror",
    "maintenance",
    "cors",
    "proxy_options",
];

#[test]
fn no_recipe_of_the_manual_leads_elsewhere() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let (server, origin) = (daemon().start_unconfigured(), Origin::echo());
    let targets = targets();
    let mut n_recipes = 0;
    for page in pages(&manual) {
        let text = fs::read_to_string(&page).expect("a page is text");
        for block in blocks(&text) {
            n_recipes += usize::from(attack(&server, &origin, block, &targets));
        }
    }
    assert!(n_recipes > 35, "only {n_recipes} recipes were tried");
}

/// Sends the targets to all routes of a block; false when it has none.
fn attack(server: &Daemon, origin: &Origin, block: &str, targets: &[String]) -> bool {
    let files = site().writable_folder("srv");
    let Some(routes) = routes(block) else { return false };
    let routes = moved(&routes, &files.root(), origin);
    furnish(&shared(&routes));
    let names: Vec<String> = match &routes {
        Value::Object(named) => named.keys().map(|name| format!("routes/{name}")).collect(),
        _ => vec!["routes".to_owned()],
    };
    let mut is_tried = false;
    for name in names {
        let listeners = json!({ server.address().to_string(): { "pass": name } });
        let reply = server.control().put("/config", &json!({ "listeners": listeners, "routes": routes }));
        if reply.json().get("success").is_none() {
            continue;
        }
        is_tried = true;
        let mut client = server.connect();
        for target in targets {
            check(block, target, &ask(server, &mut client, &Request::get(target)));
        }
    }
    is_tried
}

/// The routes of a block, wherever it belongs.
fn routes(block: &str) -> Option<Value> {
    PLACES.iter().find_map(|place| {
        let document: Value = serde_json::from_str(&place.replace('@', block)).ok()?;
        document.get("routes").cloned()
    })
}

/// The same with folders of the test, and without applications: those answer 204.
fn moved(value: &Value, root: &str, origin: &Origin) -> Value {
    match value {
        Value::String(text) => {
            let text = ["/srv/", "/var/www/"]
                .iter()
                .fold(text.clone(), |text, folder| text.replace(folder, &format!("{root}{folder}")));
            json!(text)
        }
        Value::Array(values) => values.iter().map(|value| moved(value, root, origin)).collect(),
        Value::Object(members) => Value::Object(moved_members(members, root, origin)),
        other => other.clone(),
    }
}

fn moved_members(members: &Map<String, Value>, root: &str, origin: &Origin) -> Map<String, Value> {
    let is_passed =
        members.get("pass").and_then(Value::as_str).is_some_and(|pass| !pass.starts_with("routes"));
    let is_gateway = ["fastcgi", "scgi", "uwsgi"].iter().any(|name| members.contains_key(*name));
    let mut kept = Map::new();
    for (name, value) in members {
        let is_kept = match &**name {
            "rewrite" | "response_headers" => true,
            _ if is_gateway => false,
            "pass" => !is_passed,
            name => !APART.contains(&name),
        };
        if is_kept {
            kept.insert(name.clone(), moved(value, root, origin));
        }
    }
    if is_passed || is_gateway {
        kept.insert("return".to_owned(), json!(204));
    }
    if kept.contains_key("proxy") {
        kept.insert("proxy".to_owned(), json!(origin.url()));
    }
    kept
}

/// The folders that are shared.
fn shared(value: &Value) -> Vec<PathBuf> {
    match value {
        Value::Array(values) => values.iter().flat_map(shared).collect(),
        Value::Object(members) => {
            let texts = |value: &Value| -> Vec<String> {
                let one = value.as_str().map(str::to_owned).into_iter();
                one.chain(
                    value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)),
                )
                .collect()
            };
            let shares = members.get("share").map(texts).unwrap_or_default();
            let folders = shares.iter().filter_map(|text| text.split_once('$')).map(|(folder, _)| folder);
            let folders = folders.filter(|folder| folder.starts_with('/')).map(PathBuf::from);
            folders.chain(members.values().flat_map(shared)).collect()
        }
        _ => Vec::new(),
    }
}

/// Puts secrets beside the folders, and nothing but a page into them.
fn furnish(folders: &[PathBuf]) {
    for folder in folders {
        let (parent, name) = (folder.parent().expect("it is not the root"), folder.file_name());
        let mut beside = name.unwrap_or_default().to_owned();
        beside.push("-old");
        for apart in [parent.join("private"), parent.join(beside)] {
            if folders.iter().all(|folder| !apart.starts_with(folder)) {
                fs::create_dir_all(&apart).expect("make a folder");
                fs::write(apart.join("secret.txt"), SECRET).expect("write a file");
            }
        }
        fs::create_dir_all(folder.join("x")).expect("make a folder");
        fs::write(folder.join("index.html"), "index").expect("write a file");
    }
}
