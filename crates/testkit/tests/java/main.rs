//! Web applications in Java, on the launcher and its Tomcat: servlets, pages, sessions and WebSockets, and what goes
//! wrong.

mod failures;
mod habits;
mod manual;
mod requests;
mod web_sockets;

use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::{Builder, Daemon, Site, daemon, executables, site};
use serde_json::{Value, json};

/// The packages that applications are written for.
#[derive(Debug, Clone, Copy)]
enum Level {
    Javax,
    Jakarta,
}

impl Level {
    /// The archives to compile with.
    fn classpath(self) -> String {
        let folder = match self {
            Self::Javax => "ee8",
            Self::Jakarta => "ee10",
        };
        executables().dir.join("corral-java").join(folder).join("*").display().to_string()
    }

    /// The beginning of names in packages and attributes.
    fn prefix(self) -> &'static str {
        match self {
            Self::Javax => "javax",
            Self::Jakarta => "jakarta",
        }
    }

    /// The application of the repository, whose sources are written for `javax`.
    fn source(self, name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/java").join(name);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match self {
            Self::Javax => text,
            Self::Jakarta => text
                .replace("javax.servlet", "jakarta.servlet")
                .replace("javax.websocket", "jakarta.websocket"),
        }
    }
}

/// A site with the application as a folder, `app`.
fn webapp(level: Level) -> Site {
    let site = site().file("app/page.jsp", level.source("page.jsp"));
    for name in ["Hello.java", "Chat.java"] {
        site.write(&format!("sources/{name}"), level.source(name));
    }
    compile(&site, level, &["sources/Hello.java", "sources/Chat.java"], "app/WEB-INF/classes");
    site
}

fn compile(site: &Site, level: Level, sources: &[&str], to: &str) {
    let mut javac = Command::new("javac");
    javac.args(["-classpath", &level.classpath(), "-d", to]).args(sources);
    run(javac.current_dir(site.path("")));
}

/// The folder `app` as an archive.
fn archive(site: &Site) -> PathBuf {
    run(Command::new("jar")
        .args(["--create", "--file", "app.war", "-C", "app", "."])
        .current_dir(site.path("")));
    site.path("app.war")
}

#[track_caller]
fn run(command: &mut Command) {
    let status = command.status().expect("a JDK is installed: scripts/setup test");
    assert!(status.success(), "{command:?}: {status}");
}

/// A daemon in the making with the application `app`.
fn with_app(site: &Site, members: Value) -> Builder {
    daemon().config(json!({ "applications": { "app": app(site, members) } }))
}

fn app(site: &Site, members: Value) -> Value {
    let mut app = json!({ "type": "java", "webapp": "app", "working_directory": site.root() });
    let Value::Object(members) = members else { panic!("members are an object") };
    app.as_object_mut().expect("an application is an object").extend(members);
    app
}

/// The process that answers.
fn pid_of(server: &Daemon) -> String {
    let text = server.get("/hello").expect(200).text();
    text.lines().next().expect("it answers").to_owned()
}
