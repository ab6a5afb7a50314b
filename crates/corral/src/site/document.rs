//! The configuration of a site that was found: the one that its user would write.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::django::StaticFiles;
use super::{Kind, Program, Python, Script, Scripts, Site};

/// What the user or the machine decides.
#[derive(Debug)]
pub(crate) struct Choices<'a> {
    /// Address of the listener, as in a configuration.
    pub(crate) listen: &'a str,
    /// As many as the work needs unless given.
    pub(crate) n_workers: Option<NonZeroU32>,
    /// php.ini settings.
    pub(crate) php_ini: &'a [(String, String)],
    /// Who runs the application, where that is not the daemon's user.
    pub(crate) owner: Option<(&'a str, &'a str)>,
}

/// The whole document.
pub(crate) fn document(site: &Site, choices: &Choices<'_>) -> Value {
    let mut document = json!({
        "listeners": { choices.listen: { "pass": "routes" } },
        "routes": routes(site),
    });
    if let Some(application) = application(site, choices) {
        document["applications"] = json!({ "site": application });
    }
    document
}

fn routes(site: &Site) -> Value {
    // Secrets such as /.env and /.git come first: they have no name that a script could have.
    let mut steps = vec![json!({ "match": { "uri": HIDDEN }, "action": { "return": 404 } })];
    let application = json!({ "pass": "applications/site" });
    match &site.kind {
        // It knows best what is secret.
        Kind::Program(_) | Kind::Go(_) | Kind::Java { .. } | Kind::Component(_) => {
            steps = vec![json!({ "action": application })];
        }
        Kind::Python(python) => {
            steps.extend(static_files(&python.files, &application));
            steps.push(json!({ "action": application }));
        }
        Kind::Script(script) => {
            if let Some(public) = &script.public {
                let files = json!({ "share": share(public), "fallback": application });
                steps.push(json!({ "match": { "uri": but_private("*") }, "action": files }));
            }
            steps.push(json!({ "action": application }));
        }
        Kind::Files => steps.push(json!({ "action": { "share": share(&site.root) } })),
        Kind::Static => {
            steps.push(private(site, &json!({ "return": 404 })));
            steps.push(json!({ "action": { "share": share(&site.root) } }));
        }
        Kind::Scripts => {
            steps.push(private(site, &json!({ "return": 404 })));
            steps.push(scripts(&any_script(&[])));
            steps.push(source_code());
            steps.push(files(site, "applications/site/scripts"));
        }
        Kind::FrontController { scripts: paths, .. } => {
            let front = "applications/site/front";
            steps.push(private(site, &json!({ "pass": front })));
            steps.push(scripts(&match paths {
                Scripts::Listed(paths) => listed_scripts(paths),
                Scripts::Any(folders) => any_script(folders),
            }));
            steps.push(source_code());
            steps.push(files(site, front));
        }
    }
    Value::Array(steps)
}

/// One step for each beginning of paths, as several folders may have it.
fn static_files(files: &[StaticFiles], application: &Value) -> Vec<Value> {
    let mut shares: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for found in files {
        shares.entry(&found.uri).or_default().push(found.share());
    }
    let step = |(uri, share): (&str, Vec<String>)| {
        let action = json!({ "share": share, "fallback": application });
        json!({ "match": { "uri": but_private(&format!("{uri}*")) }, "action": action })
    };
    // The longest first.
    shares.into_iter().rev().map(step).collect()
}

const HIDDEN: [&str; 2] = ["*/.*", "!/.well-known/*"];

/// Names of sources, databases, settings and copies that editors leave: nobody means to publish them.
const PRIVATE_EXTENSIONS: [&str; 15] = [
    "py", "pyc", "rb", "pl", "pm", "psgi", "ru", "ini", "sqlite", "sqlite3", "db", "sql", "bak", "orig",
    "old",
];

/// The same as a pattern.
fn private_names() -> String {
    format!("~(?i)(/composer\\.[^/]*|~|\\.({}))$", PRIVATE_EXTENSIONS.join("|"))
}

/// Whether a file of this name is not served.
pub(super) fn is_private(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    PRIVATE_EXTENSIONS.contains(&extension) || name.starts_with("composer.") || name.ends_with('~')
}

/// Packages that tools have put beside the site's own files, with everything that they consist of.
const PACKAGES: &str = "/vendor/*";

/// What becomes of paths of files that are not for browsers. A public folder may well publish a folder of packages.
fn private(site: &Site, action: &Value) -> Value {
    let names = private_names();
    let uri = if site.has_sources { vec![&*names, PACKAGES] } else { vec![&*names] };
    json!({ "match": { "uri": uri }, "action": action })
}

fn but_private(pattern: &str) -> [String; 2] {
    [pattern.to_owned(), format!("!{}", private_names())]
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

/// Other spellings of scripts, which would be shown as text.
fn source_code() -> Value {
    json!({ "match": { "uri": ["~(?i)\\.(php[0-9]?|phtml|phar|inc)(/|$)", "!*.php", "!*.php/*"] }, "action": { "return": 404 } })
}

/// `$` and what follows would be a variable of the template.
fn share(root: &Path) -> String {
    let root = root.to_string_lossy().replace('$', "${dollar}");
    format!("{}$uri", root.trim_end_matches('/'))
}

fn application(site: &Site, choices: &Choices<'_>) -> Option<Value> {
    let mut application = match &site.kind {
        Kind::Static | Kind::Files => return None,
        Kind::Program(Program { start, for_unit }) => {
            let exec = if *for_unit { "exec " } else { "" };
            let command = format!("PATH=\"$PWD/node_modules/.bin:$PATH\"; {exec}{start}");
            program(site, &command, *for_unit, choices)
        }
        Kind::Go(go) => program(site, &go.start(), go.for_unit, choices),
        Kind::Java { webapp } => java(site, webapp, choices),
        Kind::Python(python) => python_application(site, python, choices),
        Kind::Script(script) => script_application(site, script, choices),
        Kind::Component(file) => {
            json!({ "type": "wasm-wasi-component", "component": file, "processes": processes(choices) })
        }
        Kind::FrontController { .. } | Kind::Scripts => php(site, choices),
    };
    if let Some((user, group)) = choices.owner {
        application["user"] = user.into();
        application["group"] = group.into();
    }
    Some(application)
}

fn processes(choices: &Choices<'_>) -> Value {
    choices.n_workers.map_or_else(|| json!("auto"), |n_workers| json!(n_workers))
}

fn python_application(site: &Site, python: &Python, choices: &Choices<'_>) -> Value {
    let mut application = json!({
        "type": "python",
        "path": site.root,
        "working_directory": site.root,
        "module": python.module,
        "callable": python.callable,
        "factory": python.factory,
        "processes": processes(choices),
    });
    if let Some(home) = &python.home {
        application["home"] = json!(home);
    }
    application
}

fn script_application(site: &Site, script: &Script, choices: &Choices<'_>) -> Value {
    json!({
        "type": script.language,
        "script": script.file,
        "working_directory": site.root,
        "processes": processes(choices),
    })
}

fn php(site: &Site, choices: &Choices<'_>) -> Value {
    let mut targets = Map::new();
    targets.insert("scripts".to_owned(), json!({ "root": site.root }));
    if matches!(site.kind, Kind::FrontController { .. }) {
        targets.insert("front".to_owned(), json!({ "root": site.root, "script": "index.php" }));
    }
    let mut application = json!({ "type": "php", "processes": processes(choices), "targets": targets });
    if !choices.php_ini.is_empty() {
        let settings: Map<_, _> =
            choices.php_ini.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        application["options"] = json!({ "admin": settings });
    }
    application
}

/// A command of the shell; for `npm start` it finds the commands of its packages. One for Unit gets a socket, others a port.
fn program(site: &Site, command: &str, for_unit: bool, choices: &Choices<'_>) -> Value {
    let mut application = json!({
        "type": "external",
        "executable": "/bin/sh",
        "arguments": ["-c", command],
        "working_directory": site.root,
        "processes": choices.n_workers.map_or(1, NonZeroU32::get),
        // Some are compiled first.
        "ready": { "timeout": 300 },
    });
    if !for_unit {
        application["type"] = "http".into();
        application["socket"] = "any_port".into();
    }
    application
}

/// One virtual machine for all processors.
fn java(site: &Site, webapp: &Path, choices: &Choices<'_>) -> Value {
    json!({
        "type": "java",
        "webapp": webapp,
        "working_directory": site.root,
        "threads": JAVA_THREADS,
        "processes": choices.n_workers.map_or(1, NonZeroU32::get),
    })
}

/// Enough for a desk.
const JAVA_THREADS: u32 = 16;

#[cfg(test)]
mod tests {
    use corral_config::plan::{ProgramKind, ProgramSocket, RuntimeSpec};
    use corral_config::route::{Action, ActionKind, Destination, Facts};
    use corral_config::template::{Variable, Variables};
    use corral_config::{Config, Known, json, validate};

    use super::super::Go;
    use super::*;

    fn config(site: &Site) -> Config {
        let settings = [("memory_limit".to_owned(), "256M".to_owned())];
        let choices = Choices {
            listen: "127.0.0.1:8080",
            n_workers: NonZeroU32::new(4),
            php_ini: &settings,
            owner: Some(("alice", "users")),
        };
        let text = document(site, &choices).to_string();
        validate(&json::parse(text.as_bytes()).unwrap(), &Known::validated_elsewhere()).unwrap()
    }

    struct Uri<'a>(&'a str);

    impl Variables for Uri<'_> {
        fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
            assert!(matches!(variable, Variable::Uri), "{variable:?}");
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    impl Facts for Uri<'_> {
        fn method(&self) -> &[u8] {
            b"GET"
        }

        fn host(&self) -> &[u8] {
            b"x"
        }

        fn path(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }

    /// What becomes of a request for a path, where no file of that name exists, and which file
    /// would be served if it did.
    fn fate(site: &Site, path: &str) -> String {
        let config = config(site);
        let step = config.routes[0].choose(&mut Uri(path)).unwrap().unwrap();
        fate_of(&step.action, path, &config)
    }

    fn fate_of(action: &Action, path: &str, config: &Config) -> String {
        match &action.kind {
            ActionKind::Return(answer) => answer.status.to_string(),
            ActionKind::Pass(Destination::Application { app, target }) => {
                let spec = &config.applications[*app];
                let names = spec.runtime.target_names();
                names.get(usize::from(*target)).map_or("application", |name| name).to_owned()
            }
            ActionKind::Share(share) => {
                let mut file = Vec::new();
                share.paths[0].render(&mut Uri(path), &mut file).unwrap();
                let file = String::from_utf8(file).unwrap();
                match &share.fallback {
                    Some(fallback) => format!("{file} or {}", fate_of(fallback, path, config)),
                    None => file,
                }
            }
            other => panic!("no site has {other:?}"),
        }
    }

    #[track_caller]
    fn check(kind: &Kind, path: &str, expected: &str) {
        assert_eq!(fate(&site(kind), path), expected, "{path}");
    }

    fn program(start: &str, for_unit: bool) -> Kind {
        Kind::Program(Program { start: start.to_owned(), for_unit })
    }

    fn go(for_unit: bool) -> Kind {
        Kind::Go(Go { package: ".".to_owned(), for_unit })
    }

    fn front(scripts: Scripts) -> Kind {
        Kind::FrontController { software: None, scripts }
    }

    const PRIVATE: [&str; 12] = [
        "/app.py",
        "/lib/A.RB",
        "/composer.json",
        "/a/composer.lock",
        "/php.ini",
        "/db.sqlite3",
        "/var/app.sqlite",
        "/wp-config.bak",
        "/dump.sql",
        "/index.html~",
        "/vendor/autoload.php",
        "/vendor/a/b.js",
    ];

    #[test]
    fn a_public_folder_may_publish_packages() {
        let public = Site { has_sources: false, ..site(&front(Scripts::Any(vec![]))) };
        assert_eq!(fate(&public, "/vendor/a.js"), "/srv/site/vendor/a.js or front");
        assert_eq!(fate(&public, "/a.py"), "front");
        let file = "/srv/site/config.ru".into();
        let public = Some("/srv/site/public".into());
        let rack = Kind::Script(Script { language: "ruby", interface: "Rack", file, public });
        check(&rack, "/vendor/a.js", "/srv/site/public/vendor/a.js or application");
        check(&rack, "/a.bak", "application");
    }

    #[test]
    fn a_front_controller_gets_what_is_no_file() {
        let front = front(Scripts::Any(vec!["/admin/".into()]));
        check(&front, "/", "/srv/site/ or front");
        check(&front, "/posts/1", "/srv/site/posts/1 or front");
        check(&front, "/logo.png", "/srv/site/logo.png or front");
        check(&front, "/info.php", "scripts");
        check(&front, "/index.php/posts/1", "scripts");
        check(&front, "/admin/", "scripts");
        check(&front, "/admin/x", "/srv/site/admin/x or front");
    }

    #[test]
    fn a_front_controller_gets_scripts_that_are_not_there() {
        let front = front(Scripts::Listed(vec!["/index.php".into(), "/api/v1.php".into(), "/admin/".into()]));
        check(&front, "/index.php", "scripts");
        check(&front, "/index.php/posts/1", "scripts");
        check(&front, "/api/v1.php/x", "scripts");
        check(&front, "/admin/", "scripts");
        check(&front, "/secret.php", "/srv/site/secret.php or front");
        check(&front, "/sub/index.php", "/srv/site/sub/index.php or front");
        let config = config(&site(&front));
        let ActionKind::Share(share) = &config.routes[0].steps().last().unwrap().action.kind else {
            panic!("the last step shares files");
        };
        let types = share.types.as_ref().unwrap();
        let shows = |kind: &[u8]| types.matches(kind).expect("it is no expression");
        assert!(!shows(b"application/x-httpd-php") && shows(b"image/png"), "but never shown");
    }

    fn site(kind: &Kind) -> Site {
        Site { root: "/srv/site".into(), kind: kind.clone(), has_sources: true }
    }

    #[test]
    fn an_application_gets_what_is_no_file_of_its_public_folder() {
        let script = |public: Option<&str>| {
            let file = "/srv/site/config.ru".into();
            Kind::Script(Script { language: "ruby", interface: "Rack", file, public: public.map(Into::into) })
        };
        check(&script(Some("/srv/site/public")), "/a.css", "/srv/site/public/a.css or application");
        check(&script(None), "/config.ru", "application");
        check(&script(None), "/.env", "404");
        let RuntimeSpec::Ruby(ruby) = &config(&site(&script(None))).applications[0].runtime else { panic!() };
        assert_eq!(ruby.script, Path::new("/srv/site/config.ru"));
    }

    #[test]
    fn plain_scripts_answer_for_themselves() {
        check(&Kind::Scripts, "/", "/srv/site/ or scripts");
        check(&Kind::Scripts, "/a.php", "scripts");
        check(&Kind::Scripts, "/a.css", "/srv/site/a.css or scripts");
    }

    #[test]
    fn secrets_and_source_are_not_served() {
        for kind in
            [front(Scripts::Any(vec![])), front(Scripts::Listed(vec!["/index.php".into()])), Kind::Scripts]
        {
            for path in ["/.env", "/.git/config", "/a/.htaccess", "/x.PHP", "/x.phtml", "/a.inc", "/b.Php/x"]
            {
                check(&kind, path, "404");
            }
        }
        check(&Kind::Static, "/.env", "404");
        for path in PRIVATE {
            check(&Kind::Static, path, "404");
            check(&Kind::Scripts, path, "404");
            check(&front(Scripts::Any(vec![])), path, "front");
            check(&Kind::Files, path, &format!("/srv/site{path}"));
            let name = path.rsplit('/').next().expect("there is a slash");
            assert!(path.starts_with(PACKAGES.trim_end_matches('*')) || is_private(name), "{path}");
        }
        check(&Kind::Static, "/.well-known/security.txt", "/srv/site/.well-known/security.txt");
        check(&Kind::Static, "/a.txt", "/srv/site/a.txt");
    }

    #[test]
    fn the_user_s_choices_are_in_the_document() {
        let config = config(&site(&Kind::Scripts));
        let app = &config.applications[0];
        assert_eq!((app.user.as_deref(), app.group.as_deref()), (Some("alice"), Some("users")));
        assert_eq!((app.processes.max.get(), app.processes.spare), (4, 4));
        let RuntimeSpec::Php(php) = &app.runtime else { panic!("{app:?}") };
        assert_eq!(php.admin, [("memory_limit".to_owned(), "256M".to_owned())]);
    }

    #[test]
    fn a_program_gets_every_request() {
        let config = config(&site(&program("node server.js", false)));
        assert_eq!(config.routes[0].steps().len(), 1);
        let app = &config.applications[0];
        assert_eq!((app.user.as_deref(), app.processes.max.get()), (Some("alice"), 4));
        assert_eq!(app.working_directory.as_deref(), Some(Path::new("/srv/site")));
        let RuntimeSpec::Http(http) = &app.runtime else { panic!("{app:?}") };
        assert!(http.arguments[1].ends_with("; node server.js"), "{http:?}");
    }

    #[test]
    fn programs_for_unit_get_a_socket_and_others_a_port() {
        let http = |kind: Kind| {
            let config = config(&site(&kind));
            match config.applications[0].runtime.clone() {
                RuntimeSpec::Http(http) => http,
                other => panic!("{other:?}"),
            }
        };
        let node = http(program("node app.js", true));
        assert_eq!((&node.kind, &node.socket), (&ProgramKind::External, &ProgramSocket::Inherited));
        assert!(node.arguments[1].ends_with("; exec node app.js"), "{node:?}");
        assert_eq!(http(go(true)).kind, ProgramKind::External);
        assert_eq!(http(go(false)).kind, ProgramKind::Server);
        let java = http(Kind::Java { webapp: "/srv/site/shop.war".into() });
        assert_eq!(java.files(), [Path::new("/srv/site/shop.war")]);
    }

    #[test]
    fn a_dollar_in_a_path_is_no_variable() {
        let site = Site { root: "/srv/$uri".into(), kind: Kind::Static, has_sources: true };
        assert_eq!(fate(&site, "/a"), "/srv/$uri/a");
    }
}
