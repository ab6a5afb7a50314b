//! Habits of applications that were written for Tomcat: cookies, pages without anything else, filters, large heads, and
//! what servlets are told when they forward, include, fail or answer later.

use std::path::Path;

use corral_testkit::{Authority, Client, Daemon, Response, Site, TlsClient, site};
use serde_json::json;

use crate::{Level, compile, with_app};

const SOURCES: [&str; 4] = ["Habits.java", "Told.java", "Marks.java", "Types.java"];

/// The application `app`, compiled.
fn habits(level: Level) -> Site {
    let site = site()
        .copy_parts_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/java/habits"), &["app"]);
    for name in SOURCES {
        site.write(name, level.source(&format!("habits/{name}")));
    }
    compile(&site, level, &SOURCES, "app/WEB-INF/classes");
    site
}

/// An application and what it answers.
struct Scene {
    level: Level,
    server: Daemon,
}

impl Scene {
    fn get(&self, target: &str) -> Response {
        self.server.get(target)
    }

    /// Expects these lines in the body, in any order, with `{}` for the packages' name.
    #[track_caller]
    fn expect_lines(&self, target: &str, status: u16, lines: &[&str]) -> Response {
        let reply = self.get(target).expect(status);
        let text = reply.text();
        for line in lines {
            let line = line.replace("{}", self.level.prefix());
            assert!(text.lines().any(|found| found == line), "no {line:?} at {target}:\n{text}");
        }
        reply
    }
}

#[track_caller]
fn session_cookie(reply: &Response) -> &str {
    reply.field("Set-Cookie").expect("a session has a cookie")
}

#[track_caller]
fn check(level: Level) {
    let site = habits(level);
    let scene = Scene { level, server: with_app(&site, json!({ "threads": 2 })).start() };
    forwards(&scene);
    named_dispatchers(&scene);
    includes(&scene);
    answers_later(&scene);
    errors(&scene);
    welcome_files(&scene);
    charsets(&scene);
    the_rest(&scene);
}

fn forwards(scene: &Scene) {
    let told = scene.expect_lines(
        "/habits/forward?to=/target/x%3Fa=2&a=1",
        200,
        &[
            "dispatch FORWARD",
            "uri /target/x",
            "path |/target|/x",
            "query a=2",
            "parameter a=[2, 1]",
            "attribute {}.servlet.forward.request_uri=/habits/forward",
            "attribute {}.servlet.forward.context_path=",
            "attribute {}.servlet.forward.servlet_path=/habits",
            "attribute {}.servlet.forward.path_info=/forward",
            "attribute {}.servlet.forward.query_string=to=/target/x%3Fa=2&a=1",
            "attribute {}.servlet.forward.mapping=habits /habits/* forward PATH",
        ],
    );
    assert_eq!(told.field("X-Filter"), Some("Dispatched FORWARD /target of /target/x"));
}

/// Nothing is told of a path where there was none, and nothing follows a forward.
fn named_dispatchers(scene: &Scene) {
    for target in ["/habits/forward-named?to=target", "/habits/forward-wrapped?to=target"] {
        let told = scene.expect_lines(target, 200, &["dispatch FORWARD"]);
        assert_eq!((told.field("X-Target"), told.field("X-After")), (Some("1"), None));
        let text = told.text();
        assert!(!text.contains("servlet.forward.") && !text.contains("not to be seen"), "{text}");
    }
    let told = scene.expect_lines(
        "/habits/include-named?to=target",
        200,
        &["before", "dispatch INCLUDE", "after null"],
    );
    assert_eq!((told.field("X-Target"), told.field("X-After")), (None, Some("seen")));
    assert!(!told.text().contains("servlet.include."), "{}", told.text());
    scene.expect_lines("/habits/none", 200, &["null"]);
}

fn includes(scene: &Scene) {
    let told = scene.expect_lines(
        "/habits/include?to=/target/x%3Fa=3",
        200,
        &[
            "before",
            "dispatch INCLUDE",
            "path |/habits|/include",
            "attribute {}.servlet.include.request_uri=/target/x",
            "attribute {}.servlet.include.context_path=",
            "attribute {}.servlet.include.servlet_path=/target",
            "attribute {}.servlet.include.path_info=/x",
            "attribute {}.servlet.include.query_string=a=3",
            "after null",
        ],
    );
    assert_eq!(told.field("X-Target"), None, "what is included sets no fields");
}

fn answers_later(scene: &Scene) {
    let attributes = [
        "dispatch ASYNC",
        "attribute {}.servlet.async.context_path=",
        "attribute {}.servlet.async.servlet_path=/habits",
        "attribute {}.servlet.async.query_string=a=1",
    ];
    scene.expect_lines("/habits/async?a=1", 200, &attributes);
    scene.expect_lines("/habits/async-self?a=1", 200, &attributes);
}

fn errors(scene: &Scene) {
    scene.expect_lines(
        "/habits/error",
        418,
        &[
            "dispatch ERROR",
            "attribute {}.servlet.error.status_code=418",
            "attribute {}.servlet.error.message=on purpose",
            "attribute {}.servlet.error.request_uri=/habits/error",
            "attribute {}.servlet.error.servlet_name=habits",
            "attribute {}.servlet.forward.path_info=/error",
        ],
    );
    scene.expect_lines(
        "/habits/throw",
        500,
        &[
            "attribute {}.servlet.error.exception=java.lang.IllegalStateException: on purpose",
            "attribute {}.servlet.error.exception_type=class java.lang.IllegalStateException",
            "attribute {}.servlet.error.message=on purpose",
        ],
    );
    // Clients learn nothing of the program.
    let page = scene.get("/habits/throw-servlet").expect(500).text();
    assert!(!page.contains("inner") && !page.contains("Tomcat"), "{page}");
    scene.server.expect_log("java.lang.UnsupportedOperationException: inner");
}

/// Filters and servlets see the file's path, and the request's own.
fn welcome_files(scene: &Scene) {
    let folder = scene.get("/dir1").expect(302);
    assert!(folder.field("Location").is_some_and(|to| to.ends_with("/dir1/")), "{folder:?}");
    let text = scene.get("/dir1/").expect(200).expect_body("text 1\n");
    assert_eq!(text.field("X-Filter"), Some("Text REQUEST /dir1/index.txt of /dir1/"));
    let page = scene.get("/dir2/").expect(200).expect_body("page /dir2/ /dir2/default.jsp");
    assert_eq!(page.field("X-Filter"), Some("Page REQUEST /dir2/default.jsp of /dir2/"));
    scene.expect_lines("/dir3/", 200, &["path |/dir3/index.txt|null", "uri /dir3/"]);
    // The names are tried in their order, each as a servlet and as a file.
    let servlet = scene.expect_lines("/dir4/", 200, &["path |/dir4/index.txt|null"]);
    assert_eq!(servlet.field("X-Filter"), Some("Folder REQUEST /dir4/index.txt of /dir4/"));
    scene.expect_lines("/dir5/", 200, &["path |/dir5/index.html|null"]);
    // No folder is listed, least of all this one.
    scene.get("/").expect(404);
    scene.get("/WEB-INF/").expect(404);
    scene.get("/WEB-INF/web.xml").expect(404);
}

fn charsets(scene: &Scene) {
    for (which, content_type, encoding) in [
        ("both", Some("text/plain;charset=utf-8"), "utf-8"),
        ("type", Some("text/plain"), "ISO-8859-1"),
        ("replaced", Some("text/plain;charset=windows-1251"), "windows-1251"),
        ("before", Some("text/plain;charset=windows-1251"), "windows-1251"),
        ("no-charset", Some("text/plain"), "ISO-8859-1"),
        ("no-type", None, "ISO-8859-1"),
        ("late-charset", Some("text/plain;charset=utf-8"), "utf-8"),
        ("late-type", Some("text/html;charset=utf-8"), "utf-8"),
        ("header", Some("text/html;charset=iso-8859-15"), "iso-8859-15"),
        ("kept", Some("text/plain;charset=utf-8"), "utf-8"),
        ("html", Some("text/html;charset=ISO-8859-1"), "ISO-8859-1"),
        ("json", Some("application/json;charset=ISO-8859-1"), "ISO-8859-1"),
        ("bytes", Some("text/html"), "ISO-8859-1"),
    ] {
        let reply = scene.get(&format!("/habits/type?to={which}")).expect(200);
        assert_eq!(reply.field("Content-Type"), content_type, "{which}");
        assert_eq!(reply.field("X-Encoding"), Some(encoding), "{which}");
        assert_eq!(reply.field("X-Type"), content_type, "{which}");
    }
    assert_eq!(scene.get("/habits/type?to=html").body, b"\xfc");
    assert_eq!(scene.get("/habits/type?to=header").body, b"\xa4");
}

fn the_rest(scene: &Scene) {
    let session = scene.get("/habits/session").expect(200);
    let cookie = session_cookie(&session);
    assert!(cookie.starts_with("JSESSIONID=") && cookie.ends_with("; Path=/; HttpOnly"), "{cookie}");
    scene.expect_lines(
        "/habits/plain/x",
        200,
        &["translated .../plain/x", "mapping habits /habits/* plain/x PATH"],
    );
    scene.expect_lines("/exact", 200, &["translated null"]);
    scene.expect_lines("/habits/events", 200, &["[+a=1, ~a=1, -a=2]"]);
    let large = scene.get("/habits/fields?to=100").expect(200).expect_body("fields\n");
    assert_eq!(large.field("X-Field-99").map(str::len), Some(100));
    scene.expect_lines("/habits/a|b?{c}", 200, &["path |/habits|/a|b", "query {c}"]);
    scene.get("/habits/length").expect(200).expect_body("12345");
    scene.get("/habits/header").expect(200).expect_body("[X-Add, X-Empty, X-Line]\n");
    scene.get("/habits/twice").expect(200).expect_body("refused\n");
}

#[test]
fn habits_of_javax() {
    check(Level::Javax);
}

#[test]
fn habits_of_jakarta() {
    check(Level::Jakarta);
}

#[track_caller]
fn check_pages_alone(level: Level) {
    let page = level.source("page.jsp");
    let site =
        site().file("app/index.jsp", &page).file("app/below/page.jsp", page).file("app/style.css", "p {}");
    let options = match level {
        Level::Javax => json!([]),
        // Nothing in the page speaks for either.
        Level::Jakarta => json!(["-Dcorral.ee=10"]),
    };
    let server = with_app(&site, json!({ "options": options })).start();
    server.get("/").expect(200).expect_body("1,4,9, by GET\n");
    server.get("/below/page.jsp").expect(200).expect_body("1,4,9, by GET\n");
    server.get("/style.css").expect(200).expect_body("p {}");
    server.get("/below/").expect(404);
}

#[test]
fn a_folder_of_pages_alone_is_served() {
    check_pages_alone(Level::Javax);
    check_pages_alone(Level::Jakarta);
}

/// Secure where the client's connection is, and with the site that it is to come from if that is said.
#[test]
fn cookies_of_sessions_are_secure() {
    let authority = Authority::new("Testers");
    for level in [Level::Javax, Level::Jakarta] {
        let site = habits(level);
        let server = with_app(&site, json!({ "options": ["-Dcorral.cookies.same_site=lax"] })).start();
        let bundle = authority.server("own", &["localhost"]).pem();
        server.control().put_text("/certificates/own", &bundle).0.expect(200);
        let listener = json!({ "pass": "applications/app", "tls": { "certificate": "own" } });
        let listeners = json!({ server.address().to_string(): listener });
        server.control().put("/config/listeners", &listeners).expect_done();
        let tls = TlsClient::new(&authority);
        let mut client = Client::connect_tls(server.address().socket(), &tls, "localhost");
        let session = client.get("/habits/session").expect(200);
        let cookie = session_cookie(&session);
        assert!(cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    }
}
