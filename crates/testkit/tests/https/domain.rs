//! `corral run --domain`: certificates that are ordered for a site without a configuration.

use std::fs;

use corral_testkit::pebble::{Options, Pebble};
use corral_testkit::{Address, Run, eventually};

use crate::home::{Home, PAGE};

/// A user with a site for two names, and an authority that validates at the ports where it is served.
struct Ordering {
    home: Home,
    pebble: Pebble,
    http: Address,
    https: Address,
}

const NAMES: [&str; 2] = ["example.org", "www.example.org"];

impl Ordering {
    fn new() -> Self {
        let (http, https) = (Address::fresh(), Address::fresh());
        let places = Options { http_port: http.port(), tls_port: https.port(), ..Options::default() };
        let (home, pebble) = (Home::new(), Pebble::start(places));
        fs::write(home.path("ca.pem"), pebble.root_ca_pem()).expect("write a file");
        fs::write(home.path("issuer.pem"), pebble.issuer_roots_pem()).expect("write a file");
        Self { home, pebble, http, https }
    }

    fn start(&self) -> Run {
        let (http, https) = (self.http.to_string(), self.https.to_string());
        let (directory, ca) = (self.pebble.directory_url(), self.home.path("ca.pem").display().to_string());
        let mut command = self.home.corral(&["run", &self.home.site()]);
        command.args(NAMES.iter().flat_map(|name| ["--domain", name]));
        command.args(["--listen", &https, "--listen-http", &http, "--email", "admin@example.org"]);
        command.args(["--acme-directory", &directory, "--acme-ca", &ca]);
        let mut run = Run::spawn(&mut command);
        run.expect_output("https://example.org https://www.example.org\n");
        run
    }

    /// The output of curl, if there is a certificate of this authority for the name.
    fn page(&self, name: &str) -> Option<String> {
        let port = self.https.port();
        let to = format!("{name}:{port}:{}", self.https.socket().ip());
        let issuer = self.home.path("issuer.pem").display().to_string();
        let more = ["--resolve", &to, "--cacert", &issuer];
        let output = self.home.curl(&format!("https://{name}:{port}/"), &more);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[test]
fn certificates_are_ordered_and_kept_for_the_next_start() {
    let mut ordering = Ordering::new();
    let page = format!("{PAGE}\n200 2");
    let run = ordering.start();
    for name in NAMES {
        let found = eventually("there is a certificate", || ordering.page(name));
        assert_eq!(found, page, "{}", run.stderr());
    }
    // The ports of this test stand for the usual ones, which are those of URLs.
    let plain =
        ordering.home.curl(&format!("http://{}/a?b=c", ordering.http), &["--header", "Host: example.org"]);
    assert!(String::from_utf8_lossy(&plain.stdout).ends_with("308 1.1"), "{plain:?}");
    assert!(run.interrupt().status.success());
    assert!(ordering.home.path(".local/state/corral/run/acme").is_dir());
    ordering.pebble.stop();
    let run = ordering.start();
    for name in NAMES {
        let found = eventually("the certificate is there", || ordering.page(name));
        assert_eq!(found, page, "{}", run.stderr());
    }
    assert!(run.interrupt().status.success());
}

#[test]
fn the_configuration_that_is_served_can_be_printed() {
    let home = Home::new();
    let arguments =
        ["run", &home.site(), "--domain", "example.org", "--domain", "www.example.org", "--print-config"];
    let printed = home.to_end(&arguments).expect_success().stdout;
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let listeners = serde_json::json!({
        "*:80": { "pass": "routes", "https_only": true },
        "*:443": { "pass": "routes", "tls": { "acme": { "names": ["example.org", "www.example.org"] } } },
    });
    assert_eq!(printed["listeners"], listeners);
}

#[test]
fn a_user_without_privileges_is_told_how_to_get_them() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can become somebody else");
    }
    let home = Home::new();
    let mut command = home.command("unshare");
    command.args(["--net", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(&corral_testkit::executables().corral).args(["run", &home.site(), "--domain", "example.org"]);
    Run::spawn(&mut command).ended().expect_one_line(&[
        "this user may not listen on port 80. Start it by sudo",
        "sudo setcap cap_net_bind_service=+ep ",
        "sudo sysctl net.ipv4.ip_unprivileged_port_start=80",
    ]);
}

#[test]
fn options_of_authorities_need_a_name() {
    let home = Home::new();
    for option in
        [["--email", "a@example.org"], ["--acme-directory", "https://ca.example/"], ["--listen-http", "8080"]]
    {
        let outcome = home.to_end(&[&["run", &home.site()], &option[..]].concat());
        assert!(!outcome.status.success() && outcome.stderr.contains("--domain"), "{outcome:?}");
    }
    let both = ["run", &home.site(), "--https", "--domain", "a.test", "--email", "a@example.org"];
    assert!(home.to_end(&both).stderr.contains("cannot be used with"));
}
