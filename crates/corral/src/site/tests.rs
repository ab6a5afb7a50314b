//! Folders as projects lay them out.

use super::*;

/// Makes empty files, `name=content` for others, and looks at the folder.
fn look(files: &[&str]) -> (tempfile::TempDir, Site) {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let (name, content) = file.split_once('=').unwrap_or((file, ""));
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let site = inspect(folder.path()).unwrap();
    (folder, site)
}

#[track_caller]
fn check_front(files: &[&str], root: &str, software: Option<&str>, expected: &Scripts) {
    let (folder, site) = look(files);
    assert_eq!(site.root, folder.path().canonicalize().unwrap().join(root));
    let Kind::FrontController { software: found, scripts } = site.kind else {
        panic!("{:?} is no front controller", site.kind);
    };
    assert_eq!(found, software);
    assert_eq!(&scripts, expected);
}

fn listed(paths: &[&str]) -> Scripts {
    Scripts::Listed(paths.iter().map(ToString::to_string).collect())
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
    check_front(&files, "", Some("WordPress"), &Scripts::Any(folders.map(str::to_owned).into()));
}

#[test]
fn an_index_for_every_path_is_a_front_controller() {
    let rules = ".htaccess=RewriteEngine On\n  RewriteRule . /index.php [L]\n";
    check_front(&["index.php", "about.php", rules], "", None, &Scripts::Any(vec![]));
    let routing = "index.php=<?php echo $_SERVER['REQUEST_URI'];";
    check_front(&[routing, "style.css"], "", None, &listed(&["/index.php"]));
    check_front(&[routing, "lib/a.php"], "", None, &Scripts::Any(vec![]));
}

#[track_caller]
fn check_kind(files: &[&str], expected: &Kind) {
    assert_eq!(&look(files).1.kind, expected);
}

#[test]
fn several_scripts_answer_for_themselves() {
    check_kind(&["index.php"], &Kind::Scripts);
    check_kind(&["index.php", "about.php"], &Kind::Scripts);
    check_kind(&["index.php", "blog/index.php"], &Kind::Scripts);
    check_kind(&["about.PHP"], &Kind::Scripts);
    check_kind(&["index.html", "api/v1/list.php"], &Kind::Scripts);
    check_kind(&["index.php", "about.php", ".htaccess=# RewriteRule index.php"], &Kind::Scripts);
}

#[test]
fn python_is_run_where_there_is_no_php() {
    let (_folder, site) = look(&["app.py=app = Flask(__name__)", "index.html"]);
    assert!(matches!(&site.kind, Kind::Python(python) if python.module == "app"), "{site:?}");
    assert_eq!(site.language(), Some("python"));
    assert_eq!(look(&["app.py=app = 1", "index.php"]).1.language(), Some("php"));
    check_kind(&["app.py=print(1)"], &Kind::Static);
}

#[test]
fn ruby_and_perl_are_run_by_their_scripts() {
    for (name, language) in [("config.ru", "ruby"), ("app.psgi", "perl"), ("bin/app.psgi", "perl")] {
        let (folder, site) = look(&[name, "public/style.css"]);
        let folder = folder.path().canonicalize().unwrap();
        let Kind::Script(script) = &site.kind else { panic!("{site:?}") };
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
    assert_eq!((&site.kind, site.language()), (&Kind::Component(file.clone()), Some("wasm-wasi-component")));
    assert_eq!(inspect(&file).unwrap(), site);
    assert_eq!(look(&[component, "index.php"]).1.language(), Some("php"));
    assert_eq!(look(&[component, "app.py=app = 1"]).1.language(), Some("python"));
    check_kind(&["game.wasm=\0asm\x01\0\0\0", "index.html"], &Kind::Static);
}

#[test]
fn without_scripts_it_is_static() {
    check_kind(&["index.html", "a/b.css"], &Kind::Static);
    check_kind(&["index.html", "node_modules/x/y.php", ".cache/z.php"], &Kind::Static);
    check_kind(&["a.txt"], &Kind::Static);
}

#[test]
fn a_start_script_makes_a_program() {
    let package = r#"package.json={"scripts": {"start": " node server.js "}}"#;
    let program = Kind::Program { start: "node server.js".to_owned(), for_unit: false };
    check_kind(&[package, "index.html"], &program);
    check_kind(&[package, "docs/example.php"], &program);
    check_front(
        &[package, "artisan", "public/index.php"],
        "public",
        Some("Laravel"),
        &listed(&["/index.php"]),
    );
    for package in
        ["package.json=", "package.json={}", r#"package.json={"scripts": {"start": "", "build": "x"}}"#]
    {
        check_kind(&[package, "index.html"], &Kind::Static);
    }
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
    check_kind(&[package], &Kind::Program { start: "node app.js".to_owned(), for_unit: true });
    let source = "main.go=// A server.\npackage main\n";
    check_kind(&["go.mod=module a", source], &Kind::Go(Go { for_unit: false }));
    check_kind(&["go.mod=require unit.nginx.org/go v0.0.0", source], &Kind::Go(Go { for_unit: true }));
    check_kind(&["go.mod=module a", "a.go=package a"], &Kind::Static);
}

#[test]
fn web_applications_in_java_are_folders_and_archives() {
    let webapp = |files: &[&str], expected: &str| {
        let (folder, site) = look(files);
        let expected = fs::canonicalize(folder.path()).unwrap().join(expected);
        assert_eq!(site.kind, Kind::Java { webapp: expected }, "{files:?}");
        assert_eq!(site.language(), Some("java"));
    };
    webapp(&["index.jsp", "WEB-INF/web.xml"], "");
    webapp(&["shop.war"], "shop.war");
    webapp(&["pom.xml", "src/A.java", "target/shop.war"], "target/shop.war");
    check_kind(&["a.war", "b.war"], &Kind::Static);
    let (folder, _) = look(&["a.war", "b.war"]);
    let site = inspect(&folder.path().join("b.war")).unwrap();
    assert!(matches!(&site.kind, Kind::Java { webapp } if webapp.ends_with("b.war")), "{site:?}");
}
