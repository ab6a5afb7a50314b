//! Requests, as they are answered by the documents that are made.

use std::path::Path;

use corral_config::plan::{ProgramKind, ProgramSocket, RuntimeSpec};
use corral_config::route::{Action, ActionKind, Destination, Facts};
use corral_config::template::{Variable, Variables};
use corral_config::{Config, Known, validate};

use super::super::{Go, InMemory, ProgramApp, ScriptApp, ScriptPaths, SiteKind, WorkerScript};
use super::routes::PACKAGES;
use super::*;

fn config(site: &Site) -> Config {
    let settings = [("memory_limit".to_owned(), "256M".to_owned())];
    let choices = Choices {
        denied: &site.denied().patterns,
        listeners: Map::from_iter([("127.0.0.1:8080".to_owned(), json!({ "pass": "routes" }))]),
        n_workers: NonZeroU32::new(4),
        php_ini: &settings,
        pages: StaticPages::default(),
        owner: Some(("alice", "users")),
    };
    let text = document(site, &choices).to_string();
    validate(&corral_config::json::parse(text.as_bytes()).unwrap(), &Known::validated_elsewhere()).unwrap()
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

/// The answer to a request for a path where no file of that name exists, and the file that would be served if it did.
fn fate(site: &Site, path: &str) -> String {
    let config = config(site);
    let step = config.routes.values()[0].choose(&mut Uri(path)).unwrap().unwrap();
    fate_of(&step.action, path, &config)
}

fn fate_of(action: &Action, path: &str, config: &Config) -> String {
    match &action.kind {
        ActionKind::Return(answer) => answer.status.to_string(),
        ActionKind::Pass(Destination::Application { app, target }) => {
            let spec = &config.applications[*app];
            let names = spec.runtime.target_names();
            let name = names.get(usize::from(*target)).filter(|name| !name.is_empty());
            name.map_or("application", |name| name).to_owned()
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
fn check(kind: &SiteKind, path: &str, expected: &str) {
    assert_eq!(fate(&site(kind), path), expected, "{path}");
}

fn program(start: &str, for_unit: bool) -> SiteKind {
    SiteKind::Program(ProgramApp { start: start.to_owned(), for_unit })
}

fn go(for_unit: bool) -> SiteKind {
    SiteKind::Go(Go { package: ".".to_owned(), for_unit })
}

fn front(scripts: ScriptPaths) -> SiteKind {
    SiteKind::FrontController { software: None, scripts }
}

/// A script that stays in memory answers whatever is not a file, sources by another spelling apart.
#[test]
fn a_resident_answers_for_everything() {
    let worker = WorkerScript {
        software: None,
        script: "/srv/site/worker.php".into(),
        project: "/srv/site".into(),
        environment: vec![("A", "1".to_owned())],
    };
    let site = Site { in_memory: InMemory::By(worker), ..site(&front(ScriptPaths::Listed(vec![]))) };
    for (path, expected) in [
        ("/", "/srv/site/ or application"),
        ("/a.css", "/srv/site/a.css or application"),
        ("/index.php", "/srv/site/index.php or application"),
        ("/composer.json", "application"),
        ("/vendor/autoload.php", "application"),
        ("/A.PHP", "404"),
        ("/.env", "404"),
    ] {
        assert_eq!(fate(&site, path), expected, "{path}");
    }
    let RuntimeSpec::Php(php) = config(&site).applications.values()[0].runtime.clone() else {
        panic!("it is PHP")
    };
    let worker = php.worker().unwrap();
    assert_eq!(worker.script, Path::new("/srv/site/worker.php"));
    assert_eq!(worker.environment, [("A".to_owned(), "1".to_owned())]);
}

const PRIVATE: [&str; 28] = [
    "/tool.cgi",
    "/deploy.SH",
    "/a.jsp",
    "/src/Main.java",
    "/main.go",
    "/app.wsgi",
    "/.well-known/x.yml",
    "/pyproject.toml",
    "/nginx.conf",
    "/tls/site.key",
    "/tls/site.pem",
    "/logs/error.log",
    "/yarn.lock",
    "/package.json",
    "/backup.tar.gz",
    "/a.unknown",
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
    let public = Site { has_sources: false, ..site(&front(ScriptPaths::Any(vec![]))) };
    assert_eq!(fate(&public, "/vendor/a.js"), "/srv/site/vendor/a.js or front");
    assert_eq!(fate(&public, "/a.py"), "front");
    let file = "/srv/site/config.ru".into();
    let public = Some("/srv/site/public".into());
    let rack = SiteKind::Script(ScriptApp { language: "ruby", interface: "Rack", file, public });
    check(&rack, "/vendor/a.js", "/srv/site/public/vendor/a.js or application");
    check(&rack, "/a.bak", "application");
}

#[test]
fn a_front_controller_gets_what_is_no_file() {
    let front = front(ScriptPaths::Any(vec!["/admin/".into()]));
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
    let front = front(ScriptPaths::Listed(vec!["/index.php".into(), "/api/v1.php".into(), "/admin/".into()]));
    check(&front, "/index.php", "scripts");
    check(&front, "/index.php/posts/1", "scripts");
    check(&front, "/api/v1.php/x", "scripts");
    check(&front, "/admin/", "scripts");
    check(&front, "/secret.php", "/srv/site/secret.php or front");
    check(&front, "/sub/index.php", "/srv/site/sub/index.php or front");
    let config = config(&site(&front));
    let ActionKind::Share(share) = &config.routes.values()[0].steps().last().unwrap().action.kind else {
        panic!("the last step shares files");
    };
    let types = share.types.as_ref().unwrap();
    let shows = |kind: &[u8]| types.matches(kind).expect("it is no expression");
    assert!(!shows(b"application/x-httpd-php") && shows(b"image/png"), "but never shown");
}

fn site(kind: &SiteKind) -> Site {
    Site { root: "/srv/site".into(), kind: kind.clone(), has_sources: true, in_memory: InMemory::No }
}

#[test]
fn an_application_gets_what_is_no_file_of_its_public_folder() {
    let script = |public: Option<&str>| {
        let file = "/srv/site/config.ru".into();
        SiteKind::Script(ScriptApp {
            language: "ruby",
            interface: "Rack",
            file,
            public: public.map(Into::into),
        })
    };
    check(&script(Some("/srv/site/public")), "/a.css", "/srv/site/public/a.css or application");
    check(&script(None), "/config.ru", "application");
    check(&script(None), "/.env", "404");
    let RuntimeSpec::Ruby(ruby) = config(&site(&script(None))).applications.values()[0].runtime.clone()
    else {
        panic!()
    };
    assert_eq!(ruby.script, Path::new("/srv/site/config.ru"));
}

#[test]
fn plain_scripts_answer_for_themselves() {
    check(&SiteKind::Scripts, "/", "/srv/site/ or scripts");
    check(&SiteKind::Scripts, "/a.php", "scripts");
    check(&SiteKind::Scripts, "/a.css", "/srv/site/a.css or scripts");
}

#[test]
fn secrets_and_source_are_not_served() {
    for kind in [
        front(ScriptPaths::Any(vec![])),
        front(ScriptPaths::Listed(vec!["/index.php".into()])),
        SiteKind::Scripts,
    ] {
        for path in ["/.env", "/.git/config", "/a/.htaccess", "/x.PHP", "/x.phtml", "/a.inc", "/b.Php/x"] {
            check(&kind, path, "404");
        }
    }
    check(&SiteKind::Static, "/.env", "404");
    for path in PRIVATE {
        check(&SiteKind::Static, path, "404");
        check(&SiteKind::Scripts, path, "404");
        check(&front(ScriptPaths::Any(vec![])), path, "front");
        check(&SiteKind::Files, path, &format!("/srv/site{path}"));
        let name = path.rsplit('/').next().expect("there is a slash");
        assert!(path.starts_with(PACKAGES.trim_end_matches('*')) || is_private(name), "{path}");
    }
    check(&SiteKind::Static, "/.well-known/security.txt", "/srv/site/.well-known/security.txt");
    check(&SiteKind::Static, "/a.txt", "/srv/site/a.txt");
}

#[test]
fn the_user_s_choices_are_in_the_document() {
    let config = config(&site(&SiteKind::Scripts));
    let app = &config.applications.values()[0];
    assert_eq!((app.user.as_deref(), app.group.as_deref()), (Some("alice"), Some("users")));
    assert_eq!((app.processes.max.get(), app.processes.spare), (4, 4));
    let RuntimeSpec::Php(php) = &app.runtime else { panic!("{app:?}") };
    assert_eq!(php.admin, [("memory_limit".to_owned(), "256M".to_owned())]);
}

#[test]
fn a_program_gets_every_request() {
    let config = config(&site(&program("node server.js", false)));
    assert_eq!(config.routes.values()[0].steps().len(), 1);
    let app = &config.applications.values()[0];
    assert_eq!((app.user.as_deref(), app.processes.max.get()), (Some("alice"), 4));
    assert_eq!(app.working_directory.as_deref(), Some(Path::new("/srv/site")));
    let RuntimeSpec::Http(http) = &app.runtime else { panic!("{app:?}") };
    assert!(http.arguments[1].ends_with("; node server.js"), "{http:?}");
}

#[test]
fn programs_for_unit_get_a_socket_and_others_a_port() {
    let http = |kind: SiteKind| {
        let config = config(&site(&kind));
        match config.applications.values()[0].runtime.clone() {
            RuntimeSpec::Http(http) => http,
            other => panic!("{other:?}"),
        }
    };
    let node = http(program("node app.js", true));
    assert_eq!((&node.kind, &node.socket), (&ProgramKind::External, &ProgramSocket::Inherited));
    assert!(node.arguments[1].ends_with("; exec node app.js"), "{node:?}");
    assert_eq!(http(go(true)).kind, ProgramKind::External);
    assert_eq!(http(go(false)).kind, ProgramKind::Server);
    let java = http(SiteKind::Java { webapp: "/srv/site/shop.war".into() });
    assert_eq!(java.files(), [Path::new("/srv/site/shop.war")]);
}

#[test]
fn a_dollar_in_a_path_is_no_variable() {
    let site = Site { root: "/srv/$uri".into(), ..site(&SiteKind::Static) };
    assert_eq!(fate(&site, "/a"), "/srv/$uri/a");
}

/// The recipes of the manual deny the same names in each place, and nothing that is served here.
#[test]
fn the_manual_denies_one_list_which_is_denied_here_too() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = [
        "docs/src/first-site.md",
        "docs/src/deployments.md",
        "docs/src/configuration/php.md",
        "docs/src/sites/wordpress.md",
    ];
    let list = |page: &str| {
        let text = std::fs::read_to_string(top.join(page)).unwrap();
        let (_, rest) = text.split_once(r"[^/]*|\\.(bak|").unwrap_or_else(|| panic!("{page} has no list"));
        rest.split_once("))(/|$)").unwrap().0.to_owned()
    };
    let first = list(pages[0]);
    for page in pages {
        assert_eq!(list(page), first, "{page}");
    }
    for extension in first.split('|') {
        let name = format!("a.{}", extension.replace('?', "").replace("[0-9]", "5"));
        assert!(is_private(&name), "{name}");
    }
}
