//! `corral run --domain`: certificates that are ordered for a site without a configuration.

use corral_testkit::Run;

use crate::home::Home;

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
