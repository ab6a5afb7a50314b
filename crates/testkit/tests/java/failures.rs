//! Applications that cannot be started, and those that end.

use corral_testkit::{daemon, eventually, site};
use serde_json::{Value, json};

use crate::{Level, app, compile, pid_of, webapp, with_app};

#[track_caller]
fn check(site: &corral_testkit::Site, members: Value, expected: &[&str]) {
    let server = daemon().start_unconfigured();
    let reply = server.control().put("/config", &json!({ "applications": { "app": app(site, members) } }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    for expected in expected {
        assert!(detail.contains(expected), "{expected:?} is not in {detail:?}");
    }
}

#[test]
fn without_java_it_says_where_it_is_looked_for() {
    let site = site().file("app/WEB-INF/web.xml", "<web-app/>");
    check(
        &site,
        json!({ "environment": { "PATH": "/no/such/folder", "JAVA_HOME": "" } }),
        &["Java 17 or newer is needed, in JAVA_HOME or PATH", "none of the folders of PATH: /no/such/folder"],
    );
    check(
        &site,
        json!({ "environment": { "JAVA_HOME": "/no/such/java" } }),
        &["the Java of JAVA_HOME, \"/no/such/java/bin/java\"", "No such file"],
    );
}

#[test]
fn an_application_that_is_none_is_named() {
    let site = site().file("app/index.html", "").file("broken.war", "no archive");
    check(&site, json!({ "webapp": "no.war" }), &["the web application \"no.war\"", "No such file"]);
    check(
        &site,
        json!({ "webapp": "broken.war" }),
        &["exited with code 1", "broken.war\" cannot be started: "],
    );
}

#[test]
fn what_an_application_fails_with_is_passed_on() {
    let listener = "<listener><listener-class>no.such.Listener</listener-class></listener>";
    let site = site().file("app/WEB-INF/web.xml", format!("<web-app>{listener}</web-app>"));
    check(&site, json!({}), &["exited with code 1 before it was ready", "no.such.Listener"]);
    check(&site, json!({ "options": ["-Xno-such-option"] }), &["Unrecognized option: -Xno-such-option"]);
}

/// However deep the stack is: its frames are in the log.
#[test]
fn the_cause_is_named_and_not_the_frames_of_its_stack() {
    let source = "import javax.servlet.*;
public class Broken implements ServletContextListener {
    public void contextInitialized(ServletContextEvent event) { fall(100); }
    private static void fall(int depth) {
        if (depth > 0) { fall(depth - 1); return; }
        throw new IllegalStateException(\"no database\", new RuntimeException(\"port 5432 is closed\"));
    }
}";
    let listener = "<listener><listener-class>Broken</listener-class></listener>";
    let site = site().file("Broken.java", source);
    compile(&site, Level::Javax, &["Broken.java"], "app/WEB-INF/classes");
    site.write("app/WEB-INF/web.xml", format!("<web-app>{listener}</web-app>"));
    let server = daemon().start_unconfigured();
    let reply = server.control().put("/config", &json!({ "applications": { "app": app(&site, json!({})) } }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    for cause in ["java.lang.IllegalStateException: no database", "port 5432 is closed"] {
        assert!(detail.contains(cause), "{cause:?} is not in {detail:?}");
    }
    assert!(!detail.contains("at Broken.fall"), "{detail}");
    server.expect_log("at Broken.fall(Broken.java:5)");
}

#[test]
fn a_crash_costs_one_request() {
    let site = webapp(Level::Javax);
    let server = with_app(&site, json!({})).start();
    let before = pid_of(&server);
    server.get("/crash").expect(503);
    server.expect_log("exited with code 3");
    eventually("another process serves", || (server.get("/hello").status == 200).then_some(()));
    assert_ne!(pid_of(&server), before);
}

/// Nothing of the daemon's is open but its standard streams and the socket that it serves at.
#[test]
fn nothing_of_the_daemon_reaches_it() {
    let server = with_app(&webapp(Level::Javax), json!({})).start();
    let pid = pid_of(&server).trim_start_matches("hello from ").parse().expect("a number");
    assert_eq!(server.shared_with(pid, 4), Vec::<String>::new());
}
