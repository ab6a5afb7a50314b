//! `--print-config`, and configuration files in place of a folder.

use corral_testkit::{Address, Client, Run, eventually, site};

use crate::serve;

/// The printed document gives the same replies, and the daemon takes it.
#[test]
fn the_printed_document_is_the_served_one() {
    let sites = [
        site().file("index.html", "page").file("a.py", "secret").file(".env", "secret"),
        site()
            .file("public/index.php", "<?php echo 'front ', $_SERVER['REQUEST_URI'];")
            .file("public/a.css", "a"),
    ];
    for site in sites {
        let address = Address::fresh();
        let arguments = ["run", &site.root(), "--listen", &address.to_string(), "--print-config"];
        let printed = Run::to_end(&arguments).expect_success();
        assert!(!printed.stdout.contains('\r') && printed.stderr.is_empty(), "{printed:?}");
        let (run, mut found) = serve(&site, &[]);
        let stdout = run.stdout();
        let control =
            stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is told");
        let served = Run::to_end(&["config", "get", "--control", control]).expect_success();
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
        let (served, printed_json) = (json(&served.stdout), json(&printed.stdout));
        assert_eq!(served["routes"], printed_json["routes"]);
        assert_eq!(served["applications"], printed_json["applications"]);
        site.write("site.json", &printed.stdout);
        let path = site.path("site.json").display().to_string();
        let _again = Run::start(&["run", &path]);
        let mut client = eventually("it serves", || Client::try_connect(address.socket()).ok());
        for path in ["/", "/a.css", "/a.py", "/.env", "/none"] {
            let (here, there) = (client.get(path), found.get(path));
            assert_eq!((here.status, here.body), (there.status, there.body), "{path}");
        }
    }
}

#[test]
fn a_configuration_is_served_by_its_name() {
    let address = Address::fresh();
    let text = format!("listeners:\n  '{address}': {{pass: routes}}\nroutes:\n  - action: {{return: 201}}\n");
    let site = site().file("site.yaml", text).file("bad.yml", "listeners: {}\nrutes: []\n");
    let path = |name: &str| site.path(name).display().to_string();
    let mut run = Run::start(&["run", &path("site.yaml")]);
    run.expect_output(&format!("listening: http://{address}"));
    eventually("it serves", || Client::try_connect(address.socket()).ok()).get("/").expect(201);
    assert!(run.interrupt().status.success());
    let printed = Run::to_end(&["run", &path("site.yaml"), "--print-config"]).expect_success();
    assert!(printed.stdout.contains("\"return\": 201"), "{printed:?}");
    let both = Run::to_end(&["run", &path("site.yaml"), "--listen", "8080"]);
    both.expect_one_line(&["site.yaml", "--listen", "change the file"]);
    let bad = Run::to_end(&["run", &path("bad.yml")]);
    assert!(!bad.status.success() && bad.stderr.contains("bad.yml:2:1: /rutes: "), "{bad:?}");
    Run::to_end(&["run", &path("none.yaml")]).expect_one_line(&["none.yaml", "does not exist"]);
}

/// The log may be a file, which a person at a terminal does not look at when starting a daemon.
#[test]
fn a_daemon_says_at_once_what_is_wrong_with_its_files() {
    let site = site().file("bad.yaml", "listeners: {}\nrutes: []\n");
    let path = |name: &str| site.path(name).display().to_string();
    let control = format!("unix:{}", path("control.sock"));
    for more in [&["--no-daemon"][..], &[]] {
        let options = [
            "--control",
            &control,
            "--pid",
            &path("pid"),
            "--log",
            &path("log"),
            "--statedir",
            &path("state"),
        ];
        let bad = Run::to_end(&[&["daemon", "--config", &path("bad.yaml")], &options[..], more].concat());
        assert!(!bad.status.success() && bad.stderr.contains("bad.yaml:2:1: /rutes: "), "{bad:?}");
    }
}

#[test]
fn configuration_files_are_served_without_a_state_directory() {
    let address = Address::fresh();
    let answers = |status: u16| {
        format!("listeners:\n  '{address}': {{pass: routes}}\nroutes:\n  - action: {{return: {status}}}\n")
    };
    let site = site().file("site.yaml", answers(201)).file("bad.yaml", "listeners: {}\nrutes: []\n");
    let path = |name: &str| site.path(name).display().to_string();
    let mut run = Run::start(&["run", "--config", &path("site.yaml"), "--watch"]);
    run.expect_output(&format!("listening: http://{address}"));
    let get = || Some(Client::try_connect(address.socket()).ok()?.get("/").status);
    eventually("it serves", || get().filter(|status| *status == 201));
    site.write("site.yaml", answers(202));
    eventually("it follows the file", || get().filter(|status| *status == 202));
    let stdout = run.stdout();
    let control = stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is told");
    let refused = Run::to_end(&["config", "delete", "--control", control]);
    assert!(!refused.status.success() && refused.stderr.contains("read-only"), "{refused:?}");
    assert!(run.interrupt().status.success());
    let bad = Run::to_end(&["run", "--config", &path("bad.yaml")]);
    assert!(!bad.status.success() && bad.stderr.contains("bad.yaml:2:1: /rutes: "), "{bad:?}");
    let both = Run::to_end(&["run", "--config", &path("site.yaml"), &site.root()]);
    assert!(!both.status.success() && both.stderr.contains("--config"), "{both:?}");
}
