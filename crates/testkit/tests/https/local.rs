//! `corral run --https`: the authority that is made, and the certificates that it signs.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use corral_testkit::{Address, Run};

use crate::home::Home;

/// The words by which `corral trust` is recommended.
const ADVICE: &str = "`corral trust` makes browsers and programs trust it";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_first_start_explains_and_the_second_is_silent() {
    let (home, address) = (Home::new(), Address::fresh());
    let ca = home.authority().join("certificate.pem").display().to_string();
    let url = format!("https://{address}");
    let mut certificate = None;
    for is_first in [true, false] {
        let mut run = home.serve(address.socket(), &[]);
        run.expect_output(&url);
        home.expect_page(&url, &["--cacert", &ca]);
        let said = run.stdout();
        assert_eq!(said.contains(ADVICE), is_first, "{said}");
        assert_eq!(said.contains("local authority: made for this user"), is_first, "{said}");
        let found = home.read(".local/share/corral/authority/certificate.pem");
        assert_eq!(*certificate.get_or_insert(found.clone()), found, "the authority stays");
        assert!(run.interrupt().status.success());
    }
    let folder = home.authority();
    let modes = [folder.clone(), folder.join("authority.pem"), folder.join("certificate.pem")]
        .map(|path| mode(&path));
    assert_eq!(modes, [0o700, 0o600, 0o644]);
    assert!(!certificate.expect("it was read").contains("PRIVATE"));
}

#[test]
fn the_certificate_is_for_the_names_of_this_machine_and_those_that_are_given() {
    let (home, address) = (Home::new(), Address::fresh());
    let mut run = home.serve(address.socket(), &["--domain", "shop.localhost", "--domain", "db.internal"]);
    let port = address.port();
    run.expect_output(&format!("https://shop.localhost:{port}"));
    let ca = home.authority().join("certificate.pem").display().to_string();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("there is one");
    let host = host.trim().split('.').next().expect("a label").to_lowercase();
    for name in ["localhost", "shop.localhost", "db.internal", &host, &format!("{host}.local")] {
        let to = format!("{name}:{port}:{}", address.socket().ip());
        home.expect_page(&format!("https://{name}:{port}"), &["--cacert", &ca, "--resolve", &to]);
    }
    let to = format!("other.internal:{port}:{}", address.socket().ip());
    let refused = home.curl(&format!("https://other.internal:{port}"), &["--cacert", &ca, "--resolve", &to]);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && words.contains("no alternative certificate subject name"),
        "{words}"
    );
}

/// The authority's own constraints shut out what it has signed all the same.
#[test]
fn a_stolen_key_is_of_no_use_for_public_names() {
    let (home, address) = (Home::new(), Address::fresh());
    home.to_end(&["trust", "--path"]).expect_success();
    let (ca, key) = (home.authority().join("certificate.pem"), home.authority().join("authority.pem"));
    let openssl = |arguments: &[&str]| {
        let output = home.command("openssl").args(arguments).current_dir(home.path("")).output();
        let output = output.expect("openssl is installed: scripts/setup test");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let (ca, key) = (ca.display().to_string(), key.display().to_string());
    for (name, is_trusted) in [("own.test", true), ("example.org", false)] {
        let (subject, names) = (format!("/CN={name}"), format!("subjectAltName=DNS:{name}"));
        let request =
            ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem"];
        openssl(&[&request[..], &["-subj", &subject, "-addext", &names, "-out", "request.pem"]].concat());
        let sign =
            ["x509", "-req", "-in", "request.pem", "-CA", &ca, "-CAkey", &key, "-copy_extensions", "copy"];
        openssl(&[&sign[..], &["-days", "9", "-out", "signed.pem"]].concat());
        let bundle = home.read("signed.pem") + &home.read("key.pem");
        let config = format!(
            "listeners: {{'{address}': {{pass: routes, tls: {{certificate: own}}}}}}\nroutes: [{{action: {{return: \
            204}}}}]\n"
        );
        fs::create_dir_all(home.path("config/certificates")).expect("make the folder");
        fs::write(home.path("config/certificates/own.pem"), bundle).expect("write the bundle");
        fs::write(home.path("config/site.yaml"), config).expect("write the configuration");
        let config = home.path("config").display().to_string();
        let mut run = Run::spawn(&mut home.corral(&["run", "--config", &config]));
        run.expect_output("listening: https://");
        let (port, ip) = (address.port(), address.socket().ip());
        let to = format!("{name}:{port}:{ip}");
        let url = format!("https://{name}:{port}");
        let more =
            ["--cacert", &ca, "--resolve", &to, "--retry", "9", "--retry-connrefused", "--retry-delay", "1"];
        let output = home.curl(&url, &more);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_trusted, "{name}: {words}{}", run.stderr());
        assert!(is_trusted || words.contains("permitted subtree violation"), "{words}");
        run.interrupt();
    }
}

#[test]
fn starts_at_the_same_time_share_one_authority() {
    let home = Home::new();
    let (first, second) = (Address::fresh(), Address::fresh());
    let start = |address: Address| {
        let listen = address.to_string();
        Run::spawn(&mut home.corral(&["run", &home.site(), "--https", "--listen", &listen]))
    };
    let mut runs = [start(first), start(second)];
    let ca = home.authority().join("certificate.pem").display().to_string();
    for (run, address) in runs.iter_mut().zip([first, second]) {
        run.expect_output(&format!("https://{address}"));
        home.expect_page(&format!("https://{address}"), &["--cacert", &ca]);
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_a_reason() {
    let home = Home::new();
    let site = home.site();
    let check = |arguments: &[&str], texts: &[&str]| {
        let arguments = [&["run", &site, "--https"], arguments].concat();
        home.to_end(&arguments).expect_one_line(texts);
    };
    check(&["--domain", "example.org"], &["does not sign for \"example.org\"", "without --https"]);
    check(&["--listen", "192.0.2.1:8443"], &["does not sign for \"192.0.2.1\""]);
    check(&["--listen", "unix:/tmp/site.sock"], &["name a port with --listen"]);
    let taken = Address::fresh();
    let _listener = TcpListener::bind(taken.socket()).expect("it is free");
    let mut printed = home.corral(&["run", &site, "--https", "--print-config"]);
    let printed = Run::spawn(&mut printed).ended().expect_success().stdout;
    assert!(
        printed.contains("\"127.0.0.1:8443\"") && printed.contains("\"certificate\": \"localhost\""),
        "{printed}"
    );
    assert!(!home.authority().exists(), "nothing was made");
    let outcome = home.to_end(&["run", &site, "--https", "--listen", &taken.to_string()]);
    let is_told = outcome.stderr.contains("is in use by") && outcome.stderr.contains("with --listen");
    assert!(!outcome.status.success() && is_told, "{outcome:?}");
}

#[test]
fn a_broken_authority_is_named_and_left() {
    let home = Home::new();
    home.to_end(&["trust", "--path"]).expect_success();
    let file = home.authority().join("authority.pem");
    fs::write(&file, "nonsense").expect("write it");
    home.to_end(&["run", &home.site(), "--https"]).expect_one_line(&["authority.pem\" is broken; remove it"]);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "nonsense");
}

#[test]
fn a_user_without_a_home_is_told() {
    if rustix::process::geteuid().is_root() {
        let home = Home::new();
        let mut command = home.corral(&["trust", "--path"]);
        command.env_remove("HOME").env("XDG_DATA_HOME", home.path("data"));
        let outcome = Run::spawn(&mut command).ended().expect_success();
        assert!(outcome.stdout.ends_with("/data/corral/authority/certificate.pem\n"), "{outcome:?}");
        return;
    }
    let home = Home::new();
    let mut command = home.corral(&["run", &home.site(), "--https"]);
    Run::spawn(command.env_remove("HOME"))
        .ended()
        .expect_one_line(&["no place for the key of a local authority", "neither XDG_DATA_HOME nor HOME"]);
}
