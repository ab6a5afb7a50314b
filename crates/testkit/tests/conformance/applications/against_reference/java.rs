//! Servlets: what applications do that were written for Tomcat, under a Tomcat that nothing else was said to.
//!
//! The application is that of the tests of Java; a habit is one of its paths.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use corral_testkit::{Site, executables};
use serde_json::json;

use super::habit::{Asked, Habit, Language, Reference};

const LANGUAGE: Language = Language {
    habits: &[SERVLETS, TYPES, FILES],
    write,
    application: |_| json!({ "type": "java", "webapp": "app", "threads": 2 }),
};

/// A habit that is asked for these paths behind its name.
macro_rules! habit {
    ($name:literal, $($path:literal),+) => {
        Habit::new($name, "").asked(&[
            $(Asked::plainly(concat!("GET ", $path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"))),+
        ])
    };
}

const SERVLETS: &[Habit] = &[
    habit!("plain", "/habits/{}/x?a=1&b=2&a=%C3%BC", "/exact", "/habits", "/target/a;v=1/b", "/a.ext"),
    habit!("forward", "/habits/{}?to=/target/x%3Fa=2&a=1"),
    habit!("forward-context", "/habits/{}?to=/target/x"),
    habit!("forward-named", "/habits/{}?to=target"),
    habit!("forward-wrapped", "/habits/{}?to=target"),
    habit!("include", "/habits/{}?to=/target/x%3Fa=3&a=1"),
    habit!("include-named", "/habits/{}?to=target"),
    habit!("none", "/habits/{}"),
    habit!("async", "/habits/{}?a=1"),
    habit!("async-self", "/habits/{}?a=1"),
    habit!("error", "/habits/{}?a=1"),
    habit!("error-plain", "/habits/{}"),
    habit!("throw", "/habits/{}"),
    habit!("events", "/habits/{}"),
    habit!("fields", "/habits/{}?to=60"),
    habit!("redirect", "/habits/{}?to=/x/../y", "/habits/{}?to=rel", "/habits/{}?to=http://a.test/c"),
    habit!("length", "/habits/{}"),
    habit!("twice", "/habits/{}"),
    habit!("reset", "/habits/{}"),
    habit!("header", "/habits/{}"),
    habit!("cookies", "/habits/{}"),
    habit!("principal", "/habits/{}"),
    Habit::new("dates", "").asked(&[Asked::plainly(
        "GET /habits/{} HTTP/1.1\r\nHost: localhost\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:05 GMT\r\n\r\n",
    )]),
    Habit::new("locale", "").asked(&[Asked::plainly(
        "GET /habits/{} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: fr;q=0.5, en-GB\r\n\r\n",
    )]),
    Habit::new("body", "").asked(&[
        Asked::plainly(
            "POST /habits/{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: 2\r\n\r\n\u{fc}",
        ),
        Asked::plainly("POST /habits/{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n\u{fc}"),
    ]),
    Habit::new("form", "").asked(&[Asked::plainly(
        "POST /habits/{}?x=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: 12\r\n\r\nx=2&y=%C3%BC",
    )]),
];

const TYPES: &[Habit] = &[
    habit!("both", "/habits/type?to={}"),
    habit!("type", "/habits/type?to={}"),
    habit!("replaced", "/habits/type?to={}"),
    habit!("before", "/habits/type?to={}"),
    habit!("no-charset", "/habits/type?to={}"),
    habit!("no-type", "/habits/type?to={}"),
    habit!("late-charset", "/habits/type?to={}"),
    habit!("late-type", "/habits/type?to={}"),
    habit!("content-type", "/habits/type?to=header"),
    habit!("alone", "/habits/type?to={}"),
    habit!("kept", "/habits/type?to={}"),
    habit!("html", "/habits/type?to={}"),
    habit!("json", "/habits/type?to={}"),
    habit!("bytes", "/habits/type?to={}"),
    habit!("by-locale", "/habits/type?to=locale"),
    habit!("forgotten", "/habits/type?to=reset"),
];

const FILES: &[Habit] = &[
    habit!("dir1", "/{}", "/{}/", "/{}/index.txt", "/{}/none"),
    habit!("dir2", "/{}/", "/{}/default.jsp"),
    habit!("dir3", "/{}/"),
    habit!("dir4", "/{}/"),
    habit!("dir5", "/{}/", "/{}/style.css"),
    habit!("WEB-INF", "/{}/", "/{}/web.xml", "/{}"),
];

/// Compiles the application, which both servers have from the same folder.
fn write(site: &Site, _: &[Habit]) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/java");
    let sources =
        ["Habits", "Told", "Marks", "Types"].map(|name| fixtures.join(format!("habits/{name}.java")));
    let copied = Command::new("cp").arg("-r").arg(fixtures.join("habits/app")).arg(site.path("")).status();
    assert!(copied.expect("cp is there").success());
    compile(&site.path("app/WEB-INF/classes"), &sources);
    compile(&site.path("reference"), &[fixtures.join("Reference.java")]);
}

fn archives() -> std::path::PathBuf {
    executables().dir.join("corral-java/ee8/*")
}

fn compile(to: &Path, sources: &[std::path::PathBuf]) {
    fs::create_dir_all(to).expect("make the folder");
    let mut javac = Command::new("javac");
    javac.arg("-classpath").arg(archives()).arg("-d").arg(to).args(sources);
    assert!(javac.status().expect("a JDK is installed: scripts/setup test").success(), "{javac:?}");
}

#[test]
fn servlets_as_tomcat() {
    LANGUAGE.compare(&Reference {
        name: "Tomcat",
        command: tomcat,
        // Its error pages are those of Corral's Tomcat, but for what they tell of the program.
        is_refusal: |reply| reply.status >= 400 && reply.body.starts_with(b"<!doctype html>"),
        differences: &[],
    });
}

fn tomcat(site: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("java");
    command.arg("-classpath").arg(format!("{}:reference", archives().display())).arg("Reference");
    command.args([address.ip().to_string(), address.port().to_string()]).arg(site.path("app"));
    command
}
