//! How an application is found and started: modules, callables, factories, targets, paths, virtual environments.

use std::fs;
use std::os::unix::fs::symlink;

use corral_testkit::{PythonApp, Site, daemon, python_app, site};
use serde_json::json;

const SAYS: &str = "
def says(text):
    def application(environ, start_response):
        start_response('200 OK', [])
        return [str(text).encode()]
    return application
";

/// A site with `says.py`, which makes applications that say one thing, and this `app.py`.
fn saying(code: &str) -> Site {
    site().file("says.py", SAYS).file("app.py", format!("from says import says\n{code}"))
}

#[track_caller]
fn check(app: PythonApp, expect: &str) {
    daemon().python(app).start().get("/").expect(200).expect_body(expect);
}

/// The words with which an application that cannot start is refused.
#[track_caller]
fn refused(app: PythonApp) -> String {
    let server = daemon().start_unconfigured();
    let config = server
        .with_listener(json!({ "applications": { "python": app.with("processes", json!(1)).value() } }));
    let reply = server.control().put("/config", &config);
    reply.expect_refused(500, "Failed to apply new configuration.")
}

/// Options: applications.{N}.module, applications.{N}.callable, applications.{N}.factory
#[test]
fn the_callable_is_found() {
    let site = saying(
        "application = says('usual')\nother = says('other')\ndef make(): return says('made')\nclass App:\n    def \
        __call__(self, environ, start_response):\n        return says('object')(environ, start_response)\ninstance = \
        App()",
    );
    check(python_app(&site), "usual");
    check(python_app(&site).with("callable", json!("other")), "other");
    check(python_app(&site).with("callable", json!("make")).with("factory", json!(true)), "made");
    check(python_app(&site).with("callable", json!("instance")), "object");
    site.write("package/__init__.py", "");
    site.write("package/wsgi.py", "from says import says\napplication = says(__name__)");
    check(python_app(&site).with("module", json!("package.wsgi")), "package.wsgi");
}

/// Options: applications.{N}.targets.{N}.{module,callable,factory,prefix}
#[test]
fn targets_are_applications_of_one_process() {
    let site = saying(
        "import os
one = says('one')
def two(): return says(os.getpid())
def three(environ, start_response):
    start_response('200 OK', [])
    return [environ['SCRIPT_NAME'].encode()]",
    )
    .file("other.py", "import os\nfrom says import says\napplication = says(os.getpid())");
    let app = json!({ "type": "python", "path": site.root(), "targets": {
        "one": { "module": "app", "callable": "one" },
        "two": { "module": "app", "callable": "two", "factory": true },
        "three": { "module": "app", "callable": "three", "prefix": "/three" },
        "other": { "module": "other" },
    } });
    let routes: Vec<_> = ["one", "two", "three", "other"]
        .map(|name| {
            json!({ "match": { "uri": format!("/{name}") },
            "action": { "pass": format!("applications/python/{name}") } })
        })
        .into();
    let server = daemon().config(json!({ "routes": routes, "applications": { "python": app } })).start();
    server.get("/one").expect(200).expect_body("one");
    server.get("/three").expect(200).expect_body("/three");
    let pid = server.get("/two").expect(200).text();
    server.get("/other").expect(200).expect_body(pid);
}

/// Options: applications.{N}.path
#[test]
fn modules_are_looked_for_in_the_paths_in_order() {
    let site =
        site().file("a/both.py", "text = 'a'").file("b/both.py", "text = 'b'").file("b/says.py", SAYS).file(
            "a/app.py",
            "import both, sys\nfrom says import says\napplication = says([both.text, sys.argv])",
        );
    let folder = |name: &str| site.path(name).to_str().unwrap().to_owned();
    let app = python_app(&site);
    check(app.clone().with("path", json!([folder("a"), folder("b")])), "['a', ['unit']]");
    check(app.with("path", json!([folder("b"), folder("a")])), "['b', ['unit']]");
}

#[test]
fn the_working_directory_is_a_path_too() {
    let site = saying("import os\napplication = says(os.getcwd())");
    let app = python_app(&site).without("path").with("working_directory", json!(site.root()));
    check(app, &site.root());
}

#[test]
fn the_environment_is_the_applications() {
    let site = saying("import os\napplication = says([os.environ['COLOUR'], os.environ.get('PYTHONPATH')])");
    check(python_app(&site).with("environment", json!({ "COLOUR": "blue" })), "['blue', None]");
    let elsewhere = site_of_module("where", "text = 'by PYTHONPATH'");
    site.write("app.py", "import where\nfrom says import says\napplication = says(where.text)");
    check(python_app(&site).with("environment", json!({ "PYTHONPATH": elsewhere.root() })), "by PYTHONPATH");
}

fn site_of_module(name: &str, code: &str) -> Site {
    site().file(&format!("{name}.py"), code)
}

/// Options: applications.{N}.home
#[test]
fn a_home_is_a_virtual_environment() {
    let (_home, app) = in_virtual_environment();
    check(app, "by the environment True");
    let (_home, app) = in_virtual_environment();
    // The environment's own modules are those that count.
    let elsewhere = site_of_module("installed", "text = 'wrong'");
    check(app.with("environment", json!({ "PYTHONPATH": elsewhere.root() })), "by the environment True");
}

/// As `python3 -m venv` makes it, without pip.
fn in_virtual_environment() -> (Site, PythonApp) {
    let python = interpreter();
    let version = python.version.clone();
    let home = saying(
        "import installed, sys\napplication = says(f'{installed.text} {sys.prefix != sys.base_prefix}')",
    )
    .file("venv/pyvenv.cfg", format!("home = {}\n", python.folder))
    .file(&format!("venv/lib/python{version}/site-packages/installed.py"), "text = 'by the environment'");
    fs::create_dir(home.path("venv/bin")).expect("make the folder");
    symlink(&python.executable, home.path("venv/bin/python")).expect("make the link");
    let app = python_app(&home).with("home", json!(home.path("venv").to_str()));
    (home, app)
}

/// An environment that was made for another Python is named as the cause.
#[test]
fn an_environment_of_another_python_is_told_from_a_missing_module() {
    for config in ["version = 3.7.3", "version_info = 3.7.3.final.0", ""] {
        let python = interpreter();
        let home = saying("import installed\napplication = says('never')")
            .file("venv/pyvenv.cfg", format!("home = {}\n{config}\n", python.folder))
            .file("venv/lib/python3.7/site-packages/installed.py", "");
        fs::create_dir(home.path("venv/bin")).expect("make the folder");
        symlink(&python.executable, home.path("venv/bin/python")).expect("make the link");
        let app = python_app(&home).with("home", json!(home.path("venv").to_str()));
        let own = format!("is for Python 3.7, and this is Python {}", python.version);
        let remedy = format!("python{} -m venv --clear {}", python.version, home.path("venv").display());
        let server = daemon().start_unconfigured();
        let reply = server.control().put("/config/applications", &json!({ "python": app.value() }));
        for text in [&own, &remedy, "No module named 'installed'"] {
            assert!(reply.0.text().contains(text), "{text:?} is not in {reply:?}");
        }
        server.expect_log(&own);
    }
}

struct Interpreter {
    executable: String,
    folder: String,
    version: String,
}

/// The one that the host was built for, as an application sees it.
fn interpreter() -> Interpreter {
    let site = saying(
        "import json, sys\napplication = says(json.dumps([sys.executable, '%d.%d' % sys.version_info[:2]]))",
    );
    let found = daemon().python(python_app(&site)).start().get("/").expect(200).json();
    let text = |idx: usize| found[idx].as_str().expect("it is text").to_owned();
    let (folder, _) = text(0).rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a path");
    Interpreter { executable: text(0), folder, version: text(1) }
}

/// Options: applications.{N}.protocol
#[test]
fn a_module_that_is_installed_elsewhere_is_told_where() {
    let python = interpreter();
    let packages = format!("venv/lib/python{}/site-packages", python.version);
    let site = saying("import installed\napplication = says('never')")
        .file("venv/pyvenv.cfg", format!("home = {}\n", python.folder))
        .file(&format!("{packages}/installed.py"), "");
    let reason = refused(python_app(&site));
    let remedy = format!("write \"home\": \"{}\"", site.path("venv").display());
    assert!(reason.contains(&remedy) && reason.contains("No module named 'installed'"), "{reason}");
    let nowhere = saying("import nowhere_at_all\napplication = says('never')");
    let reason = refused(python_app(&nowhere));
    assert!(!reason.contains("\"home\""), "{reason}");
}

#[test]
fn the_protocol_can_be_said() {
    // Called like an ASGI application, but none.
    let site = saying(
        "class App:\n    async def other(self): pass\n    def __call__(self, *args):\n        return \
        says('wsgi')(*args)\napplication = App()",
    );
    check(python_app(&site).with("protocol", json!("wsgi")), "wsgi");
}

#[test]
fn an_application_that_cannot_be_imported_is_refused_with_the_reason() {
    for (code, expect) in [
        ("import missing_module", "No module named 'missing_module'"),
        ("import missing_module", "app.py\", line 1"),
        ("def (", "SyntaxError"),
        ("raise RuntimeError('no database')", "RuntimeError: no database"),
        ("", "has no attribute 'application'"),
        ("app = 5", "\"callable\" names the application, it has \"app\""),
        ("application = 5", "it cannot be called"),
        ("import os\nos._exit(7)", "exited with code 7 while it started"),
        ("import os\nos.kill(os.getpid(), 9)", "exited on signal 9 while it started"),
        ("import sys\nsys.exit('not today')", "not today"),
    ] {
        let reason = refused(python_app(&site().file("app.py", code)));
        assert!(reason.contains(expect), "{code}: {reason}");
    }
    let reason = refused(python_app(&site().file("app.py", "app = 5")).with("module", json!("app:app")));
    assert!(
        reason.contains("No module named 'app:app': write \"module\": \"app\", \"callable\": \"app\""),
        "{reason}"
    );
    let site = site().file("app.py", "def application(): return 5");
    let reason = refused(python_app(&site).with("factory", json!(true)));
    assert!(reason.contains("what the factory returns cannot be called"), "{reason}");
}

#[test]
fn a_home_that_is_none_is_refused() {
    let site = saying("application = says(1)");
    let reason = refused(python_app(&site).with("home", json!(site.root())));
    assert!(reason.contains("start Python with the home"), "{reason}");
}

/// Code at the start of an application runs in each worker, so that threads and connections are its own.
#[test]
fn each_worker_imports_the_application() {
    let site = saying(
        "import os, threading
imported_in = os.getpid()
thread = threading.Thread(target=lambda: threading.Event().wait(), daemon=True)
thread.start()
def application(environ, start_response):
    start_response('200 OK', [])
    return [f'{imported_in == os.getpid()} {thread.is_alive()}'.encode()]",
    );
    let server = daemon().python(python_app(&site).with("processes", json!(2))).start();
    for _ in 0..10 {
        server.get("/").expect(200).expect_body("True True");
    }
    assert_eq!(server.named("\"python\" worker").len(), 2);
}

/// Workers of an application do not draw the same numbers.
#[test]
fn workers_have_random_numbers_of_their_own() {
    let site = saying(
        "import os, random\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    return \
        [f'{os.getpid()} {random.random()}'.encode()]",
    );
    let server = daemon().python(python_app(&site).with("processes", json!(4))).start();
    let numbers: std::collections::BTreeSet<_> =
        (0..40).map(|_| server.get("/").expect(200).text().split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(numbers.len(), 40);
}
