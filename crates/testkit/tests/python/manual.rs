//! The examples of the manual's pages about Python.

use corral_testkit::{WebSocket, daemon, site};
use serde_json::Value;

const PYTHON: &str = include_str!("../../../../docs/src/configuration/python.md");
const GUNICORN: &str = include_str!("../../../../docs/src/coming-from/gunicorn.md");
const UVICORN: &str = include_str!("../../../../docs/src/coming-from/uvicorn.md");

/// The first block of a page in this language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has such a block");
    rest.split("```").next().expect("it has an end")
}

/// The first configuration of a page, with this folder in the place of that of the manual.
fn document(page: &str, folder: &str, own: &str) -> Value {
    let text = block(page, "json").replace(folder, own);
    let mut document: Value = serde_json::from_str(&text).expect("the manual's JSON is right");
    document.as_object_mut().expect("it is an object").remove("listeners").expect("it has listeners");
    document
}

#[test]
fn the_example_of_the_page_runs() {
    let site = site().file("app.py", block(PYTHON, "python"));
    let server = daemon().config(document(PYTHON, "/srv/site", &site.root())).start();
    server.get("/").expect(200).expect_body("hello from Python\n");
    assert_eq!(server.named("\"site\" worker").len(), 4);
}

#[test]
fn the_example_of_asgi_runs() {
    let (_, asgi) = PYTHON.split_once("\n## ASGI\n").expect("there is such a section");
    let site = site().file("app.py", block(asgi, "python"));
    let server = daemon().config(document(PYTHON, "/srv/site", &site.root())).start();
    server.get("/").expect(200).expect_body("hello from ASGI\n");
    let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/"));
    socket.send_text("hello");
    socket.expect_text("hello");
}

/// The configuration of a page, without the user and the environment, which a test cannot have.
fn replacement(page: &str, name: &str, own: &str) -> Value {
    let mut document = document(page, &format!("/srv/{name}"), own);
    let application = document["applications"][name].as_object_mut().expect("it is an object");
    assert!(application.remove("user").is_some() && application.remove("home").is_some());
    document
}

/// With the layout of a Django project.
#[test]
fn what_replaces_gunicorn_runs() {
    let site = site()
        .file("shop/__init__.py", "")
        .file("shop/wsgi.py", block(PYTHON, "python"))
        .file("static/style.css", "body {}");
    let server = daemon().config(replacement(GUNICORN, "shop", &site.root())).start();
    server.get("/").expect(200).expect_body("hello from Python\n");
    server.get("/static/style.css").expect(200).expect_body("body {}");
}

#[test]
fn what_replaces_uvicorn_runs() {
    let (_, asgi) = PYTHON.split_once("\n## ASGI\n").expect("there is such a section");
    let own = block(asgi, "python").replace("application(", "app(");
    let site = site().file("app.py", own).file("static/style.css", "body {}");
    let server = daemon().config(replacement(UVICORN, "api", &site.root())).start();
    server.get("/").expect(200).expect_body("hello from ASGI\n");
    server.get("/static/style.css").expect(200).expect_body("body {}");
}
