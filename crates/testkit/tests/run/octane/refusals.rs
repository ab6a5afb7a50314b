//! Directives that cannot be served are refused with their name and line, before anything is started.

use std::net::TcpListener;

use corral_testkit::Run;

use super::project::{CADDYFILE, Project};

#[track_caller]
fn check(project: &Project, caddyfile: &str, texts: &[&str]) {
    project.site.write("Caddyfile", caddyfile);
    for command in ["run", "validate"] {
        Run::spawn(&mut project.command(&[command])).ended().expect_one_line(texts);
    }
}

/// The number of the line that begins so.
fn number(text: &str, line: &str) -> String {
    let found = text.lines().position(|other| other.trim().starts_with(line)).expect("it is there");
    format!("Caddyfile:{}: ", found + 1)
}

#[test]
fn directives_that_are_not_known_are_named() {
    let project = Project::new();
    for (line, directive) in
        [("encode zstd", "reverse_proxy"), ("resolve_root_symlink", "split_path"), ("frankenphp {", "order")]
    {
        let text = CADDYFILE.replacen(line, &format!("{directive} a b\n{line}"), 1);
        check(
            &project,
            &text,
            &[&number(&text, directive), &format!("directive \"{directive}\" is not known here")],
        );
    }
}

/// The line is that of the placeholder, however many lines it stands for.
#[test]
fn mercure_is_refused_where_octane_puts_it() {
    let project = Project::new().with("CADDY_SERVER_EXTRA_DIRECTIVES", "mercure {\n\t\t\tanonymous\n\t\t}");
    let line = number(CADDYFILE, "{$CADDY_SERVER_EXTRA_DIRECTIVES}");
    check(&project, CADDYFILE, &[&line, "directive \"mercure\" is not known here"]);
}

#[test]
fn variables_that_are_missing_are_named() {
    for (name, line) in [
        ("CADDY_SERVER_LOG_LEVEL", "level"),
        ("CADDY_SERVER_LOGGER", "wrap"),
        ("CADDY_SERVER_SERVER_NAME", "{$CADDY_SERVER_SERVER_NAME}"),
        ("APP_PUBLIC_PATH", "root"),
    ] {
        let project = Project::new().without(name);
        check(&project, CADDYFILE, &[&number(CADDYFILE, line), name]);
    }
}

#[test]
fn a_port_is_for_https_or_for_http() {
    let project = Project::new().with("CADDY_SERVER_SERVER_NAME", "http://:8000, https://:8000");
    check(&project, CADDYFILE, &["\"https://:8000\": a port is either for HTTPS or for HTTP"]);
}

#[test]
fn files_that_are_not_understood_have_a_line() {
    let project = Project::new();
    check(&project, "", &["Caddyfile:1: there is no site"]);
    check(&project, "http://:8000 {\n  root /\n", &["Caddyfile:1: the block"]);
    check(&project, "http://:8000 {\n  root \"/\n}\n", &["Caddyfile:2: the quote"]);
    check(&project, "http://:8000 {\n}\n}\n", &["Caddyfile:3: "]);
    check(&project, "http://:8000 {\n  root /\n}\n", &["Caddyfile:1: the site has no \"php_server\""]);
    let none = Run::spawn(&mut project.command(&["run", "-c", "none"])).ended();
    none.expect_one_line(&["none", "No such file"]);
}

#[test]
fn the_file_of_octane_is_valid() {
    let project = Project::new();
    let arguments = ["validate", "--config", "Caddyfile", "--adapter", "caddyfile"];
    let outcome = Run::spawn(&mut project.command(&arguments)).ended().expect_success();
    assert_eq!(outcome.stdout, "Valid configuration\n");
}

#[test]
fn addresses_in_use_are_named() {
    let project = Project::new();
    let taken = TcpListener::bind(project.admin.socket()).expect("bind the port");
    Run::spawn(&mut project.command(&["run"])).ended().expect_one_line(&["\"admin\"", "in use"]);
    drop(taken);
    let _taken = TcpListener::bind(project.address.socket()).expect("bind the port");
    let outcome = Run::spawn(&mut project.command(&["run"])).ended();
    assert!(!outcome.status.success() && outcome.stderr.contains("in use"), "{outcome:?}");
    assert!(!outcome.stderr.contains("--listen"), "{outcome:?}");
}

/// A client that reaches it can stop the server.
#[test]
fn calls_are_answered_on_this_machine_alone() {
    for far in ["0.0.0.0", "192.0.2.1"] {
        let project = Project::new().with("CADDY_SERVER_ADMIN_HOST", far);
        let outcome = Run::spawn(&mut project.command(&["run"])).ended();
        outcome.expect_one_line(&["\"admin\"", "can be reached from other machines", far]);
    }
}
