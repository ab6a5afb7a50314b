//! `octane:start --https`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::{Run, eventually};

use super::project::Project;

/// A project that is served by HTTPS, and the home of its user.
fn secure(host: Option<&str>) -> (Project, PathBuf) {
    let project = if host.is_some() { Project::on_all_addresses() } else { Project::new() };
    let host = host.map_or_else(|| project.address.socket().ip().to_string(), str::to_owned);
    let home = project.site.path("home");
    fs::create_dir(&home).expect("make the folder");
    let name = format!("https://{host}:{}", project.address.socket().port());
    let project = project
        .with("CADDY_SERVER_SERVER_NAME", name)
        .with("HOME", home.display().to_string())
        .with("XDG_DATA_HOME", "")
        .with("XDG_STATE_HOME", "");
    (project, home)
}

/// The status and the version of HTTP by which curl gets the page, and the page. It trusts this certificate alone.
#[track_caller]
fn ask(project: &Project, certificate: &Path, host: &str) -> (String, String) {
    let socket = project.address.socket();
    let (ip, port) = (socket.ip(), socket.port());
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--http2", "--noproxy", "*", "--max-time", "60", "--cacert"])
        .arg(certificate)
        .args(["--write-out", "\n%{http_code} %{http_version}", "--resolve", &format!("{host}:{port}:{ip}")])
        .arg(format!("https://{host}:{port}/page"))
        .output()
        .expect("curl is installed: scripts/setup test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let (page, outcome) = text.rsplit_once('\n').expect("it says how it went");
    (outcome.to_owned(), page.to_owned())
}

#[track_caller]
fn expect_notice(run: &Run, text: &str) {
    eventually("it says so", || run.stderr().contains(text).then_some(()));
}

#[test]
fn it_is_served_with_a_certificate_of_the_local_authority() {
    let (project, home) = secure(None);
    let ip = project.address.socket().ip().to_string();
    let authority = home.join(".local/share/corral/authority/certificate.pem");
    let mut bytes = None;
    for _ in 0..2 {
        let run = project.start();
        expect_notice(&run, "until `corral trust` was called once");
        let (outcome, page) = ask(&project, &authority, &ip);
        assert!(outcome == "200 2" && page.contains("\\/page"), "{outcome}: {page}");
        assert_eq!(ask(&project, &authority, "localhost").0, "200 2");
        let found = fs::read(&authority).expect("it is kept");
        assert_eq!(*bytes.get_or_insert(found.clone()), found, "trust lasts");
        assert!(run.interrupt().status.success());
    }
}

/// The local authority does not sign for public names.
#[test]
fn a_public_name_has_a_certificate_that_lasts_and_is_for_its_host_only() {
    let (project, home) = secure(Some("shop.example"));
    let kept = home.join(".local/state/corral/certificates/shop.example.pem");
    let mut bytes = None;
    for _ in 0..2 {
        let run = project.start();
        expect_notice(&run, "is signed by itself, and by no authority that they know. It is kept in");
        assert_eq!(ask(&project, &kept, "shop.example").0, "200 2");
        assert_eq!(ask(&project, &kept, "localhost").0, "404 2");
        let found = fs::read(&kept).expect("it is kept");
        assert_eq!(*bytes.get_or_insert(found.clone()), found, "an exception lasts");
        assert_eq!(fs::metadata(&kept).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert!(run.interrupt().status.success());
    }
}

/// Each start has another one where there is no home.
#[test]
fn it_works_where_nothing_can_be_kept() {
    let (project, _) = secure(None);
    let project = project.with("HOME", "");
    let run = project.start();
    expect_notice(&run, "The next start makes another one: neither XDG_STATE_HOME nor HOME names a folder");
    assert!(run.interrupt().status.success());
}
