//! Projects in Python, as `corral run` serves them without a configuration.

use corral_testkit::{Address, Run, site};

use crate::serve;

const APPLICATION: &str = "
import os
def NAME(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [f\"NAME {environ['PATH_INFO']} {os.getcwd()}\".encode()]
";

fn application(name: &str) -> String {
    APPLICATION.replace("NAME", name)
}

#[test]
fn an_application_answers_for_its_folder() {
    let site = site()
        .file("app.py", application("app"))
        .file("static/style.css", "body {}")
        .file("static/.secret", "secret")
        .file("secrets.txt", "secret")
        .file(".env", "secret");
    let (_run, mut client) = serve(&site);
    let root = site.path("").canonicalize().unwrap();
    client.get("/x").expect(200).expect_body(format!("app /x {}", root.display()));
    client
        .get("/static/style.css")
        .expect(200)
        .expect_field("Content-Type", "text/css")
        .expect_body("body {}");
    client.get("/static/none.css").expect(200).expect_text("app /static/none.css");
    client.get("/secrets.txt").expect(200).expect_text("app /secrets.txt");
    client.get("/app.py").expect(200).expect_text("app /app.py");
    for hidden in ["/.env", "/static/.secret"] {
        client.get(hidden).expect(404);
    }
}

#[test]
fn a_project_of_django_is_found_by_its_layout() {
    let site = site()
        .file("manage.py", "")
        .file("shop/__init__.py", "")
        .file("shop/wsgi.py", application("application"));
    let (run, mut client) = serve(&site);
    client.get("/").expect(200).expect_text("application /");
    assert!(run.stdout().starts_with("Django in "), "{}", run.stdout());
    assert!(run.stdout().contains("shop.wsgi:application; Python 3."), "{}", run.stdout());
}

#[test]
fn a_factory_makes_the_application() {
    let code = format!("{}\ndef create_app(config=None):\n    return made", application("made"));
    let site = site().file("app.py", code);
    serve(&site).1.get("/").expect(200).expect_text("made /");
}

#[test]
fn what_cannot_be_imported_is_told() {
    let site = site().file("app.py", "import nothing_of_that_name\napp = 1");
    let address = Address::fresh();
    let outcome = Run::to_end(&["run", &site.root(), "--listen", &address.to_string()]);
    assert!(!outcome.status.success(), "{outcome:#?}");
    assert!(outcome.stderr.contains("No module named 'nothing_of_that_name'"), "{outcome:#?}");
}
