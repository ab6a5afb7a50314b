//! Folders as projects lay them out.

use super::super::{Go, ScriptPaths};
use super::*;

/// Makes empty files, `name=content` for others.
fn made_of(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let (name, content) = file.split_once('=').unwrap_or((file, ""));
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn look(files: &[&str]) -> (tempfile::TempDir, Site) {
    let folder = made_of(files);
    let site = inspect(folder.path()).unwrap();
    (folder, site)
}

#[track_caller]
fn check_front(files: &[&str], root: &str, software: Option<&str>, expected: &ScriptPaths) {
    let (folder, site) = look(files);
    assert_eq!(site.root, folder.path().canonicalize().unwrap().join(root));
    let SiteKind::FrontController { software: found, scripts } = site.kind else {
        panic!("{:?} is no front controller", site.kind);
    };
    assert_eq!(found, software);
    assert_eq!(&scripts, expected);
}

fn listed(paths: &[&str]) -> ScriptPaths {
    ScriptPaths::Listed(paths.iter().map(ToString::to_string).collect())
}

#[test]
fn frameworks_are_recognised() {
    check_front(&["artisan", "public/index.php"], "public", Some("Laravel"), &listed(&["/index.php"]));
    let lumen = r#"composer.json={"require": {"laravel/lumen-framework": "^10"}}"#;
    check_front(&["artisan", lumen, "public/index.php"], "public", Some("Lumen"), &listed(&["/index.php"]));
    check_front(&["symfony.lock", "public/index.php"], "public", Some("Symfony"), &listed(&["/index.php"]));
    let slim = r#"composer.json={"require": {"slim/slim": "4.*"}}"#;
    check_front(&[slim, "public/index.php"], "public", Some("Slim"), &listed(&["/index.php"]));
    let drupal = listed(&["/index.php", "/core/lib/Drupal.php"]);
    check_front(&["web/index.php", "web/core/lib/Drupal.php"], "web", Some("Drupal"), &drupal);
    check_front(&["src/a.php", "public/index.php"], "public", None, &listed(&["/index.php"]));
}

#[test]
fn other_scripts_beside_a_front_controller_are_listed() {
    let files =
        ["public/index.php", "public/health.php", "public/admin/index.php", "public/a*b.php", "x.php"];
    let scripts = listed(&["/health.php", "/index.php", "/admin/index.php", "/admin/"]);
    check_front(&files, "public", None, &scripts);
}

#[test]
fn wordpress_is_extended_while_it_runs() {
    let files = [
        "index.php",
        "wp-load.php",
        "wp-includes/version.php",
        "wp-admin/index.php",
        "wp-admin/network/index.php",
        "wp-content/index.php",
        ".git/index.php",
        "vendor/x/index.php",
    ];
    let folders = ["/wp-admin/", "/wp-admin/network/", "/wp-content/"];
    check_front(&files, "", Some("WordPress"), &ScriptPaths::Any(folders.map(str::to_owned).into()));
}

#[test]
fn an_index_for_every_path_is_a_front_controller() {
    let rules = ".htaccess=RewriteEngine On\n  RewriteRule . /index.php [L]\n";
    check_front(&["index.php", "about.php", rules], "", None, &ScriptPaths::Any(vec![]));
    let routing = "index.php=<?php echo $_SERVER['REQUEST_URI'];";
    check_front(&[routing, "style.css"], "", None, &listed(&["/index.php"]));
    check_front(&[routing, "lib/a.php"], "", None, &ScriptPaths::Any(vec![]));
}

#[track_caller]
fn check_kind(files: &[&str], expected: &SiteKind) {
    assert_eq!(&look(files).1.kind, expected);
}

#[test]
fn several_scripts_answer_for_themselves() {
    check_kind(&["index.php"], &SiteKind::Scripts);
    check_kind(&["index.php", "about.php"], &SiteKind::Scripts);
    check_kind(&["index.php", "blog/index.php"], &SiteKind::Scripts);
    check_kind(&["about.PHP"], &SiteKind::Scripts);
    check_kind(&["index.html", "api/v1/list.php"], &SiteKind::Scripts);
    check_kind(&["index.php", "about.php", ".htaccess=# RewriteRule index.php"], &SiteKind::Scripts);
}

#[test]
fn python_is_run_where_there_is_no_php() {
    let (_folder, site) = look(&["app.py=app = Flask(__name__)", "index.html"]);
    assert!(matches!(&site.kind, SiteKind::Python(python) if python.module == "app"), "{site:?}");
    assert_eq!(site.language(), Some("python"));
    assert_eq!(look(&["app.py=app = 1", "index.php"]).1.language(), Some("php"));
    check_refused(&["app.py=print(1)"], "a app.py in which neither", "`web: python3 app.py`");
}

#[test]
fn frameworks_in_python_are_known_by_what_they_make() {
    let python = |files: &[&str], module: &str, callable: &str| {
        let (_folder, site) = look(files);
        let SiteKind::Python(python) = &site.kind else { panic!("{files:?}: {site:?}") };
        assert_eq!((python.module.as_str(), python.callable.as_str()), (module, callable), "{files:?}");
    };
    python(&["main.py=api = FastAPI(title='x')"], "main", "api");
    python(&["site.py=import flask\nserver: flask.Flask = flask.Flask(__name__)"], "site", "server");
    python(&["app/main.py=app = FastAPI()", "requirements.txt"], "app.main", "app");
    python(
        &["flaskr/__init__.py=def create_app(config=None):", "tests/app.py=app = 1"],
        "flaskr",
        "create_app",
    );
    python(&["asgi.py=async def app(scope, receive, send):"], "asgi", "app");
    let asgi = "shop/settings.py=\nASGI_APPLICATION = 'shop.asgi.application'";
    let both = ["shop/wsgi.py=application = 1", "shop/asgi.py=application = 1", "manage.py"];
    python(&both, "shop.wsgi", "application");
    python(&[&both[..], &[asgi]].concat(), "shop.asgi", "application");
    for files in [&["a.py=x = Flask()", "b.py=y = Flask()"][..], &["a/app.py=app = 1", "b/app.py=app = 1"]] {
        assert!(refusal(files).is_some(), "{files:?}");
    }
}

#[test]
fn ruby_and_perl_are_run_by_their_scripts() {
    for (name, language) in [("config.ru", "ruby"), ("app.psgi", "perl"), ("bin/app.psgi", "perl")] {
        let (folder, site) = look(&[name, "public/style.css"]);
        let folder = folder.path().canonicalize().unwrap();
        let SiteKind::Script(script) = &site.kind else { panic!("{site:?}") };
        assert_eq!((script.language, &script.file), (language, &folder.join(name)));
        assert_eq!((site.root, &script.public), (folder.clone(), &Some(folder.join("public"))));
    }
    assert_eq!(look(&["config.ru"]).1.language(), Some("ruby"));
    assert_eq!(look(&["config.ru", "app.py=app = 1"]).1.language(), Some("python"));
    assert_eq!(look(&["app.psgi", "index.php"]).1.language(), Some("php"));
}

#[test]
fn a_component_is_run_where_there_is_nothing_else() {
    let component = "app.wasm=\0asm\x0d\0\x01\0";
    let (folder, site) = look(&[component, "index.html"]);
    let file = folder.path().canonicalize().unwrap().join("app.wasm");
    assert_eq!(
        (&site.kind, site.language()),
        (&SiteKind::Component(file.clone()), Some("wasm-wasi-component"))
    );
    assert_eq!(inspect(&file).unwrap(), site);
    assert_eq!(look(&[component, "index.php"]).1.language(), Some("php"));
    assert_eq!(look(&[component, "app.py=app = 1"]).1.language(), Some("python"));
    check_kind(&["game.wasm=\0asm\x01\0\0\0", "index.html"], &SiteKind::Static);
}

#[test]
fn without_scripts_it_is_static() {
    check_kind(&["index.html", "a/b.css"], &SiteKind::Static);
    check_kind(&["index.html", "node_modules/x/y.php", ".cache/z.php"], &SiteKind::Static);
    check_kind(&["a.txt"], &SiteKind::Static);
}

#[test]
fn a_start_script_makes_a_program() {
    let package = r#"package.json={"scripts": {"start": " node server.js "}}"#;
    let expected = program("node server.js", false);
    check_kind(&[package, "index.html"], &expected);
    check_kind(&[package, "docs/example.php"], &expected);
    check_front(
        &[package, "artisan", "public/index.php"],
        "public",
        Some("Laravel"),
        &listed(&["/index.php"]),
    );
}

#[test]
fn what_node_would_start_needs_no_script() {
    let server = |name: &str| format!("{name}=http.createServer(f).listen(process.env.PORT)");
    check_kind(&["package.json={}", &server("server.js")], &program("node server.js", false));
    let main = r#"package.json={"main": "src/web.js"}"#;
    check_kind(&[main, &server("src/web.js"), &server("index.js")], &program("node src/web.js", false));
    check_kind(&[&server("app.js"), "index.html"], &program("node app.js", false));
    check_kind(&["app.js=document.write(1)", "index.html"], &SiteKind::Static);
}

#[test]
fn other_programs_are_known_by_what_starts_them() {
    let lite = "shop.pl=#!/usr/bin/perl\nuse Mojolicious::Lite -signatures;";
    let start = "perl shop.pl daemon -l \"http://127.0.0.1:$PORT\"";
    check_kind(&[lite], &program(start, false));
    let procfile = "Procfile=release: x\nweb: ./serve --port $PORT\n";
    check_kind(&[procfile, "Cargo.toml"], &program("./serve --port $PORT", false));
    check_kind(&[procfile, "app.py=app = 1", "index.php"], &program("./serve --port $PORT", false));
    let heroku = "Procfile=web: vendor/bin/heroku-php-apache2 public/\n";
    assert_eq!(look(&[heroku, "public/index.php"]).1.language(), Some("php"));
    assert_eq!(look(&["Procfile=worker: x\n", "app.py=app = 1"]).1.language(), Some("python"));
    check_kind(&["go.mod=module a", "cmd/web/main.go=package main"], &go("./cmd/web", false));
}

#[test]
fn sources_are_not_taken_for_a_site() {
    check_refused(&["package.json={\n  \"a\": }", "index.html"], "valid JSON", "mend it");
    for package in ["package.json={}", r#"package.json={"scripts": {"start": "", "build": "x"}}"#] {
        check_refused(
            &[package, "index.html"],
            "without a \"start\" script",
            "\"start\": \"node server.js\"",
        );
    }
    check_refused(&["package.json={}", "dist/index.html"], "without a \"start\"", "/dist; or serve");
    check_refused(&["main.py=def handle(): pass", "index.html"], "a main.py in which", "call its WSGI");
    check_refused(&["manage.py", "shop/settings.py"], "no folder with Django's wsgi.py", "wsgi.py");
    check_refused(&["pyproject.toml"], "but no application", "app.py");
    let classic = "app.rb=require 'sinatra'\nget('/') { 'x' }";
    check_refused(&[classic], "no config.ru", "`require_relative \"app\"` and `run Sinatra::Application`");
    let modular = "shop.rb=require \"sinatra/base\"\nclass Shop < Sinatra::Base\nend";
    check_refused(&[modular, "Gemfile"], "shop.rb, an application", "`run Shop`");
    check_refused(&["Gemfile"], "a Gemfile", "config.ru");
    check_refused(&["composer.json", "src/readme.md"], "a composer.json", "index.php");
    check_refused(&["go.mod=module a", "a.go=package a"], "a project in Go", "web: go run");
    check_refused(&["pom.xml"], "a project in Java", "mvn package");
    check_refused(&["a.war", "b.war"], "several .war files", "/a.war");
    check_refused(&["tool.py"], "sources (tool.py)", "Procfile");
    check_kind(&["index.html", "tool.py"], &SiteKind::Static);
}

#[test]
fn a_project_is_found_in_the_folder_above_it() {
    let below = |files: &[&str], expected: &str| {
        let (folder, site) = look(files);
        assert_eq!(site.root, folder.path().canonicalize().unwrap().join(expected), "{files:?}");
        site
    };
    let django = ["shop/manage.py", "shop/shop/wsgi.py=application = 1"];
    assert_eq!(below(&django, "shop").language(), Some("python"));
    assert_eq!(
        below(&["README.md", "src/artisan", "src/public/index.php"], "src/public").language(),
        Some("php")
    );
    assert_eq!(below(&["public_html/index.html", "notes.txt"], "public_html").kind, SiteKind::Static);
    assert_eq!(below(&["htdocs/index.php", "htdocs/a.php"], "htdocs").kind, SiteKind::Scripts);
    assert_eq!(below(&["blog/index.php", "shop/index.php"], "").kind, SiteKind::Scripts);
    check_refused(&[&django[..], &["index.html"]].concat(), "projects below it (Django in ", "corral run /");
    check_refused(
        &[&django[..], &["api/app.py=app = 1"]].concat(),
        "projects below it",
        "/api, or corral run ",
    );
}

#[test]
fn magento_s_public_folder_is_known() {
    let files = ["bin/magento", "index.php", "pub/index.php", "pub/get.php"];
    check_front(&files, "pub", Some("Magento"), &listed(&["/get.php", "/index.php"]));
}

#[test]
fn files_are_served_as_they_are_where_the_user_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.py"), "app = 1").unwrap();
    assert_eq!(files(folder.path()).unwrap().kind, SiteKind::Files);
    assert!(files(&folder.path().join("app.py")).is_err());
}

/// The message about a folder with these files, if it is not served.
fn refusal(files: &[&str]) -> Option<String> {
    let folder = made_of(files);
    inspect(folder.path()).err().map(|error| error.to_string())
}

#[track_caller]
fn check_refused(files: &[&str], what: &str, remedy: &str) {
    let said = refusal(files).expect("it is refused");
    assert!(said.contains(what) && said.contains(remedy) && said.contains("--static"), "{said}");
}

fn program(start: &str, for_unit: bool) -> SiteKind {
    SiteKind::Program(ProgramApp { start: start.to_owned(), for_unit })
}

fn go(package: &str, for_unit: bool) -> SiteKind {
    SiteKind::Go(Go { package: package.to_owned(), for_unit })
}

#[test]
fn what_is_no_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str| inspect(&folder.path().join(name)).unwrap_err().to_string();
    assert!(error("").ends_with("is empty; put a site into it"));
    assert!(error("missing").ends_with("does not exist; name the folder of a site"));
    fs::write(folder.path().join("index.php"), "").unwrap();
    assert!(error("index.php").ends_with("name the folder that the file is in"));
}

#[test]
fn packages_of_unit_are_seen() {
    let package = r#"package.json={"scripts": {"start": "node app.js"}, "dependencies": {"unit-http": "*"}}"#;
    check_kind(&[package], &program("node app.js", true));
    let source = "main.go=// A server.\npackage main\n";
    check_kind(&["go.mod=module a", source], &go(".", false));
    check_kind(&["go.mod=require unit.nginx.org/go v0.0.0", source], &go(".", true));
}

#[test]
fn web_applications_in_java_are_folders_and_archives() {
    let webapp = |files: &[&str], expected: &str| {
        let (folder, site) = look(files);
        let expected = fs::canonicalize(folder.path()).unwrap().join(expected);
        assert_eq!(site.kind, SiteKind::Java { webapp: expected }, "{files:?}");
        assert_eq!(site.language(), Some("java"));
    };
    webapp(&["index.jsp", "WEB-INF/web.xml"], "");
    webapp(&["shop.war"], "shop.war");
    webapp(&["pom.xml", "src/A.java", "target/shop.war"], "target/shop.war");
    let folder = made_of(&["a.war", "b.war"]);
    let site = inspect(&folder.path().join("b.war")).unwrap();
    assert!(matches!(&site.kind, SiteKind::Java { webapp } if webapp.ends_with("b.war")), "{site:?}");
}
