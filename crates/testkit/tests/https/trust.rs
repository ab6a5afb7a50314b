//! `corral trust`: which stores are changed, and what is said of them.

use std::fs;

use corral_testkit::{Address, Run};

use crate::home::Home;

/// The authorities in a store of NSS, as certutil lists them.
#[track_caller]
fn authorities(home: &Home, store: &str) -> Vec<String> {
    let database = format!("sql:{}", home.path(store).display());
    let output = home.command("certutil").args(["-L", "-d", &database]).output();
    let output = output.expect("certutil is installed: scripts/setup test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    list.lines().filter(|line| line.starts_with("Corral")).map(|line| line.trim().to_owned()).collect()
}

/// Makes a store, as a browser would.
fn make_store(home: &Home, folder: &str) {
    let path = home.path(folder);
    fs::create_dir_all(&path).expect("make the folder");
    let database = format!("sql:{}", path.display());
    let status = home.command("certutil").args(["-N", "--empty-password", "-d", &database]).status();
    assert!(status.expect("certutil is installed: scripts/setup test").success());
}

#[test]
fn an_authority_goes_into_the_stores_of_all_browsers_and_out_again() {
    let home = Home::new();
    let profiles = [".mozilla/firefox/a.default", "snap/firefox/common/.mozilla/firefox/b.default"];
    profiles.iter().for_each(|profile| make_store(&home, profile));
    let stores = [&[".pki/nssdb"], &profiles[..]].concat();
    let check = |arguments: &[&str], words: &str, expected: usize| {
        let outcome = home.to_end(&[&["trust", "--no-system"], arguments].concat()).expect_success();
        for store in &stores {
            let line = outcome.stdout.lines().find(|line| line.contains(store)).expect("it is mentioned");
            assert!(line.ends_with(words), "{line}");
            let found = authorities(&home, store);
            assert_eq!(found.len(), expected, "{found:?}");
            assert!(found.iter().all(|line| line.ends_with("C,,")), "{found:?}");
        }
    };
    check(&[], ": trusted from now on", 1);
    check(&[], ": trusted already", 1);
    check(&["--remove"], ": removed", 0);
    check(&["--remove"], ": not in there", 0);
}

#[test]
fn a_store_of_one_s_own_is_made_and_no_other_is_touched() {
    let home = Home::new();
    make_store(&home, ".mozilla/firefox/a.default");
    let store = home.path("own/store").display().to_string();
    let outcome = home.to_end(&["trust", "--nss-store", &store]).expect_success();
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
    assert_eq!(authorities(&home, "own/store").len(), 1);
    assert_eq!(authorities(&home, ".mozilla/firefox/a.default").len(), 0);
}

#[test]
fn an_authority_that_was_replaced_is_trusted_anew() {
    let home = Home::new();
    let store = home.path("store").display().to_string();
    home.to_end(&["trust", "--nss-store", &store]).expect_success();
    fs::remove_dir_all(home.authority()).expect("remove it");
    let outcome = home.to_end(&["trust", "--nss-store", &store]).expect_success();
    assert!(outcome.stdout.ends_with(": trusted from now on\n"), "{outcome:?}");
    assert_eq!(authorities(&home, "store").len(), 2, "nothing is known of the old one any more");
}

#[test]
fn the_certificate_can_be_printed_for_other_machines() {
    let home = Home::new();
    let printed = home.to_end(&["trust", "--print"]).expect_success().stdout;
    assert!(printed.starts_with("-----BEGIN CERTIFICATE") && !printed.contains("PRIVATE"), "{printed}");
    let path = home.to_end(&["trust", "--path"]).expect_success().stdout;
    assert_eq!(fs::read_to_string(path.trim()).expect("it is there"), printed);
    let address = Address::fresh();
    let _run = home.serve(address.socket(), &[]);
    home.expect_page(&format!("https://{address}"), &["--cacert", path.trim()]);
}

#[test]
fn without_an_authority_there_is_nothing_to_remove() {
    let home = Home::new();
    let outcome = home.to_end(&["trust", "--remove"]).expect_success();
    assert_eq!(outcome.stdout, "there is no local authority that could be trusted\n");
    assert!(!home.authority().exists());
}

#[test]
fn it_fails_where_no_store_can_be_used() {
    let home = Home::new();
    let mut command = home.corral(&["trust", "--no-system"]);
    let outcome = Run::spawn(command.env("PATH", home.path("empty"))).ended();
    assert!(outcome.stdout.starts_with("browsers: this user has none"), "{outcome:?}");
    outcome.expect_one_line(&["no store could be changed"]);
    let store = home.path("store").display().to_string();
    let mut command = home.corral(&["trust", "--nss-store", &store]);
    let outcome = Run::spawn(command.env("PATH", home.path("empty"))).ended();
    assert!(outcome.stdout.contains("sudo apt install libnss3-tools"), "{outcome:?}");
    outcome.expect_one_line(&["no store could be changed"]);
    let broken = home.path("broken");
    fs::create_dir_all(&broken).expect("make the folder");
    fs::write(broken.join("cert9.db"), "nonsense").expect("write it");
    let outcome = home.to_end(&["trust", "--nss-store", &broken.display().to_string()]);
    assert!(outcome.stdout.contains("not changed: certutil says: "), "{outcome:?}");
    outcome.expect_one_line(&["no store could be changed"]);
}

/// In a view of the file system in which the system's folders are copies.
#[test]
fn the_system_s_store_is_root_s() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can change the system's store");
    }
    let home = Home::new();
    let address = Address::fresh();
    let _run = home.serve(address.socket(), &[]);
    fs::create_dir(home.path("certs")).expect("make the folder");
    let corral = corral_testkit::executables().corral.display().to_string();
    let script = format!(
        "cp -a /etc/ssl/certs/. '{certs}' || exit
        mount --bind '{certs}' /etc/ssl/certs || exit
        mount -t tmpfs tmpfs /usr/local/share/ca-certificates || exit
        ask() {{ curl --silent --noproxy '*' --max-time 60 --output /dev/null https://{address}; echo \"curl: $?\"; }}
        trust() {{ '{corral}' trust $1 | grep ^system; ask; }}
        ask; trust; trust; trust --remove; trust --remove",
        certs = home.path("certs").display(),
    );
    let output =
        home.command("unshare").args(["--mount", "sh", "-c", &script]).output().expect("unshare(1) is there");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "curl: 60
system: trusted from now on
curl: 0
system: trusted already
curl: 0
system: removed
curl: 60
system: not in there
curl: 60
";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

/// A user that may not change it is told what to type.
#[test]
fn others_are_told_the_command_for_the_system_s_store() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can become somebody else");
    }
    let home = Home::new();
    let root = home.path("").display().to_string();
    std::os::unix::fs::chown(&root, Some(65534), Some(65534)).expect("root may do that");
    let mut command = home.command("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(&corral_testkit::executables().corral).arg("trust");
    let outcome = Run::spawn(&mut command).ended().expect_success();
    let file = home.authority().join("certificate.pem").display().to_string();
    let advice = format!(
        "system: not changed: only root can do that: sudo install -m 644 '{file}' \
        /usr/local/share/ca-certificates/corral-local-authority-"
    );
    assert!(outcome.stdout.starts_with(&advice), "{outcome:?}");
    assert!(outcome.stdout.contains(".crt && sudo update-ca-certificates\n"), "{outcome:?}");
    assert!(outcome.stdout.contains(".pki/nssdb: trusted from now on\n"), "{outcome:?}");
}
