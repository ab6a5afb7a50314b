//! The routes of a site: what is run, what is shown, and what is neither.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::super::static_files::StaticFiles;
use super::super::{InMemory, ScriptPaths, Site, SiteKind};
use super::public::{private_names, unknown_names};
use super::{Choices, StaticPages};

pub(super) fn routes(site: &Site, choices: &Choices<'_>) -> Value {
    let denied = choices.denied;
    // Secrets such as /.env and /.git come first: they have no name that a script could have.
    let mut steps = vec![json!({ "match": { "uri": HIDDEN }, "action": { "return": 404 } })];
    let application = json!({ "pass": "applications/site" });
    if !denied.is_empty() {
        // As Apache answers.
        steps.push(json!({ "match": { "uri": denied }, "action": { "return": 403 } }));
    }
    match &site.kind {
        // It knows best what is secret.
        SiteKind::Program(_) | SiteKind::Go(_) | SiteKind::Java { .. } | SiteKind::Component(_) => {
            steps = vec![json!({ "action": application })];
        }
        SiteKind::Python(python) => {
            steps.extend(private_files(&application));
            steps.extend(static_files(&python.files, &application));
            steps.push(json!({ "action": application }));
        }
        SiteKind::Script(script) => {
            if let Some(public) = &script.public {
                let files = json!({ "share": share(public), "fallback": application });
                steps.extend(private_files(&application));
                steps.push(json!({ "action": files }));
            }
            steps.push(json!({ "action": application }));
        }
        SiteKind::Files => {
            steps.push(pages(json!({ "share": share(&site.root) }), choices.pages));
        }
        SiteKind::Static => {
            steps.extend(private(site, &json!({ "return": 404 })));
            let mut paths = vec![share(&site.root)];
            // `/about` stands for `about.html`, as generators of sites and their hosts have it. What is denied by its
            // name has one only. `clean_urls` would redirect for good, and browsers keep that for the next site here.
            if denied.is_empty() && !choices.pages.spa {
                paths.push(format!("{}.html", share(&site.root)));
            }
            steps.push(pages(json!({ "share": paths }), choices.pages));
        }
        SiteKind::Scripts => {
            steps.extend(private(site, &json!({ "return": 404 })));
            steps.push(scripts(&any_script(&[])));
            steps.push(source_code());
            steps.push(files(site, "applications/site/scripts"));
        }
        SiteKind::FrontController { .. } if matches!(site.in_memory, InMemory::By(_)) => {
            let worker = "applications/site";
            steps.extend(private(site, &json!({ "pass": worker })));
            steps.push(source_code());
            steps.push(files(site, worker));
        }
        SiteKind::FrontController { scripts: paths, .. } => {
            let front = "applications/site/front";
            steps.extend(private(site, &json!({ "pass": front })));
            steps.push(scripts(&match paths {
                ScriptPaths::Listed(paths) => listed_scripts(paths),
                ScriptPaths::Any(folders) => any_script(folders),
            }));
            steps.push(source_code());
            steps.push(files(site, front));
        }
    }
    if choices.pages.not_found {
        let page = json!({ "404": { "share": file(&site.root, "404.html") } });
        steps.iter_mut().for_each(|step| step["action"]["errors"] = page.clone());
    }
    Value::Array(steps)
}

/// The step for files.
fn pages(mut files: Value, pages: StaticPages) -> Value {
    if pages.spa {
        files["spa"] = "/index.html".into();
    }
    json!({ "action": files })
}

/// One file of a folder as the template of a share.
fn file(root: &Path, name: &str) -> String {
    let root = root.to_string_lossy().replace('$', "${dollar}");
    format!("{}/{name}", root.trim_end_matches('/'))
}

/// One step for each beginning of paths, as several folders may have it.
fn static_files(files: &[StaticFiles], application: &Value) -> Vec<Value> {
    let mut shares: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for found in files {
        shares.entry(&found.uri).or_default().push(found.share());
    }
    let step = |(uri, share): (&str, Vec<String>)| {
        let action = json!({ "share": share, "fallback": application });
        json!({ "match": { "uri": format!("{uri}*") }, "action": action })
    };
    // The longest first.
    shares.into_iter().rev().map(step).collect()
}

const HIDDEN: [&str; 2] = ["*/.*", "!/.well-known/*"];

/// Packages that tools have put beside the site's own files, with everything that they consist of.
pub(super) const PACKAGES: &str = "/vendor/*";

/// The answer to paths of files that are not for browsers. A public folder may well publish a folder of packages. Other
/// spellings of scripts are not for an application to answer, and scripts have steps of their own.
fn private(site: &Site, action: &Value) -> [Value; 2] {
    let names = private_names();
    let uri = if site.has_sources { vec![&*names, PACKAGES] } else { vec![&*names] };
    let unknown = unknown_names();
    // Without PHP they are not run.
    let scripts = if site.language().is_some() { SCRIPTS.strip_prefix('~') } else { None };
    let but_scripts = scripts.map(|scripts| format!("!~{scripts}"));
    let unknown: Vec<_> = unknown.iter().chain(&but_scripts).map(String::as_str).collect();
    [uri, unknown].map(|uri| json!({ "match": { "uri": uri }, "action": action }))
}

/// The same beside an application, which knows what its other paths are.
fn private_files(application: &Value) -> [Value; 2] {
    let (names, unknown) = (private_names(), unknown_names());
    [vec![&*names], unknown.iter().map(String::as_str).collect()]
        .map(|uri| json!({ "match": { "uri": uri }, "action": application }))
}

/// Scripts are run, never shown.
fn scripts(uri: &[String]) -> Value {
    json!({ "match": { "uri": uri }, "action": { "pass": "applications/site/scripts" } })
}

fn any_script(folders: &[String]) -> Vec<String> {
    let any = ["*.php", "*.php/*"].map(str::to_owned);
    any.into_iter().chain(folders.iter().cloned()).collect()
}

/// A script's path may go on behind its name; a folder's may not.
fn listed_scripts(paths: &[String]) -> Vec<String> {
    let and_below = |path: &String| (!path.ends_with('/')).then(|| format!("{path}/*"));
    paths.iter().flat_map(|path| [Some(path.clone()), and_below(path)].into_iter().flatten()).collect()
}

/// Files as they are, except scripts that came into the folder after it was looked at.
fn files(site: &Site, fallback: &str) -> Value {
    json!({ "action": {
        "share": share(&site.root),
        "types": ["!application/x-httpd-php"],
        "fallback": { "pass": fallback },
    } })
}

/// Every spelling of scripts of PHP.
const SCRIPTS: &str = "~(?i)\\.(php[0-9]?|phtml|phar|inc)(/|$)";

/// Other spellings of scripts, which would be shown as text.
fn source_code() -> Value {
    json!({ "match": { "uri": [SCRIPTS, "!*.php", "!*.php/*"] }, "action": { "return": 404 } })
}

/// `$` and what follows would be a variable of the template.
pub(crate) fn share(root: &Path) -> String {
    let root = root.to_string_lossy().replace('$', "${dollar}");
    format!("{}$uri", root.trim_end_matches('/'))
}
