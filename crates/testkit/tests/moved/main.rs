//! Configurations of nginx or Apache, and the same sites for Corral: both get the same requests, and their answers are
//! compared.
//!
//! Cases are text files in `cases`, one for each subject; `case.rs` says how they are written. The other server itself
//! is asked each time, so that no answer is written down from memory.

mod case;

use std::fmt::Write as _;
use std::path::Path;

use corral_testkit::{Client, Daemon, Origin, PhpFpm, Reference, Response, daemon, eventually, site};

use self::case::{Case, CasePlaces};

/// Runs all cases of a subject, and tells of all that differ.
#[track_caller]
fn check(cases: &str) {
    let (mut differences, mut n_requests) = (String::new(), 0);
    let server = daemon().start_unconfigured();
    let origin = Origin::echo();
    let fpm = cases.contains("{fpm}").then(|| PhpFpm::at_socket("pm = static\npm.max_children = 2"));
    let fpm = fpm.as_ref().map_or("", PhpFpm::address);
    for case in case::parse(cases) {
        n_requests += case.requests.len();
        differences += &run(&case, &server, &origin, fpm);
    }
    assert!(n_requests > 0, "no request at all");
    assert!(differences.is_empty(), "{differences}");
}

fn run(case: &Case, server: &Daemon, origin: &Origin, fpm: &str) -> String {
    let folder = site();
    for (path, content) in &case.files {
        folder.write(&format!("www/{path}"), content);
    }
    let root = folder.path("www");
    std::fs::create_dir_all(&root).expect("make the root");
    let places =
        CasePlaces { root: root.display().to_string(), origin: origin.address(), fpm: fpm.to_owned() };
    let reference = reference(case, &places, &folder.path(""));
    let document = case.document(&places, &server.address().to_string());
    let answer = server.control().put("/config", &document);
    if answer.0.status != 200 {
        return format!("{}: the configuration is refused: {}\n", case.name, answer.0.text());
    }
    let mut differences = String::new();
    for request in &case.requests {
        // A connection of its own for each request: a server may close it.
        let mut theirs = eventually("it listens", || Client::try_connect(reference.address().socket()).ok());
        let theirs = theirs.try_send(&request.request);
        let ours = server.connect().try_send(&request.request);
        let [theirs, ours] = [theirs, ours].map(|response| shown(case, response));
        if (theirs != ours) != request.differs {
            let (name, line) = (&case.name, &request.line);
            let but = if request.differs { " (they were to differ)" } else { "" };
            writeln!(differences, "{name}: {line}{but}\n  theirs: {theirs}\n  Corral: {ours}")
                .expect("a text");
        }
    }
    differences
}

/// The server that a case has lines for.
fn reference(case: &Case, places: &CasePlaces, folder: &Path) -> Reference {
    let [http, server, apache] = [&case.http, &case.server, &case.apache].map(|lines| places.fill(lines));
    if apache.is_empty() {
        return Reference::nginx(folder, &places.root, &http, &format!("server_name localhost;\n{server}"));
    }
    Reference::apache(folder, &places.root, &format!("ServerName localhost\n{apache}"))
}

/// The part of an answer that is compared.
fn shown(case: &Case, response: Result<Response, String>) -> String {
    let Ok(response) = response else { return "no answer".to_owned() };
    let mut text = response.status.to_string();
    // Pages of errors and redirections are each server's own.
    let is_own_page = (300..400).contains(&response.status)
        || response.status >= 400 && (response.body.is_empty() || response.text().contains(&text));
    for name in case.compared.iter().filter(|name| !is_own_page || !name.starts_with("Content-")) {
        let values: Vec<_> = response.all(name).collect();
        write!(text, " {name}={:?}", values.join(", ")).expect("a text");
    }
    if !is_own_page {
        write!(text, " body={:?}", in_order(&response.text())).expect("a text");
    }
    text
}

/// The lines of an echo in the order of the alphabet: headers may come in any.
fn in_order(body: &str) -> String {
    let Some((first, rest)) = body.split_once(" HTTP/1.1\r\n") else { return body.to_owned() };
    let mut lines: Vec<_> = rest.split("\r\n").filter(|line| !line.is_empty()).collect();
    lines.sort_by_key(|line| line.to_ascii_lowercase());
    format!("{first} {}", lines.join(", "))
}

#[test]
fn locations() {
    check(include_str!("cases/locations.txt"));
}

#[test]
fn returns_and_redirections() {
    check(include_str!("cases/returns.txt"));
}

#[test]
fn rewrites() {
    check(include_str!("cases/rewrites.txt"));
}

#[test]
fn files() {
    check(include_str!("cases/files.txt"));
}

#[test]
fn headers() {
    check(include_str!("cases/headers.txt"));
}

#[test]
fn error_pages() {
    check(include_str!("cases/errors.txt"));
}

#[test]
fn access() {
    check(include_str!("cases/access.txt"));
}

#[test]
fn proxying() {
    check(include_str!("cases/proxying.txt"));
}

#[test]
fn files_that_are_tried() {
    check(include_str!("cases/try.txt"));
}

#[test]
fn captures_and_prefixes() {
    check(include_str!("cases/captures.txt"));
}

#[test]
fn maps() {
    check(include_str!("cases/maps.txt"));
}

#[test]
fn variables() {
    check(include_str!("cases/variables.txt"));
}

#[test]
fn limits() {
    check(include_str!("cases/limits.txt"));
}

#[test]
fn whole_sites() {
    check(include_str!("cases/sites.txt"));
}

#[test]
fn responses() {
    check(include_str!("cases/responses.txt"));
}
