//! Images: sites whose PHP starts in the same way share a process that has started it, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use corral_testkit::{Daemon, Request, Site, daemon, php_app, site};
use serde_json::{Map, Value, json};

/// The short name of an image.
const IMAGE: &str = "php image";

/// Says what its process has, and does what it is asked for.
const PAGE: &str = r#"<?php
$status = opcache_get_status();
echo json_encode([
    'site' => basename(__DIR__),
    'scripts' => array_keys($status['scripts'] ?? []),
    'environment' => getenv(),
    'user' => posix_geteuid(),
    'groups' => posix_getgroups(),
    'settings' => [ini_get('open_basedir'), ini_get('memory_limit'), ini_get('session.save_path'), ini_get('precision')],
    'may_set' => ini_set('memory_limit', '200M') !== false,
]);
"#;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn uid(number: usize) -> u32 {
    64_100 + u32::try_from(number).expect("a few")
}

/// Some sites with that page, each under a user of its own if there is the right to do that.
struct Sites {
    site: Site,
    n: usize,
}

impl Sites {
    fn new(n: usize) -> Self {
        let site = (0..n).fold(site(), |site, number| site.file(&format!("s{number}/index.php"), PAGE));
        Self { site, n }
    }

    fn name(number: usize) -> String {
        format!("s{number}")
    }

    /// One of the applications, and the settings that are its own.
    fn app(&self, number: usize) -> Value {
        let root = format!("{}/{}", self.site.root(), Self::name(number));
        let app = php_app(&self.site)
            .with("root", json!(root))
            .processes(1)
            .admin("opcache.file_update_protection", "0")
            .admin("open_basedir", &root)
            .admin("session.save_path", &format!("/tmp/{number}"))
            .admin("memory_limit", &format!("{}M", 64 + number));
        if !is_root() {
            return app.value();
        }
        app.with("user", json!(uid(number).to_string())).value()
    }

    fn config(&self, change: impl Fn(usize, &mut Value)) -> Value {
        let apps: Map<_, _> = (0..self.n)
            .map(|number| {
                let mut app = self.app(number);
                change(number, &mut app);
                (Self::name(number), app)
            })
            .collect();
        let route = |number| {
            let name = Self::name(number);
            json!({ "match": { "host": name }, "action": { "pass": format!("applications/{name}") } })
        };
        json!({ "applications": apps, "routes": (0..self.n).map(route).collect::<Vec<_>>() })
    }

    fn start(&self, change: impl Fn(usize, &mut Value)) -> Daemon {
        daemon().config(self.config(change)).start()
    }

    fn ask(server: &Daemon, number: usize) -> Value {
        server.send(&Request::get("/").field("Host", &Self::name(number))).expect(200).json()
    }

    fn ask_all(&self, server: &Daemon) -> Vec<Value> {
        (0..self.n).map(|number| Self::ask(server, number)).collect()
    }
}

fn restart(server: &Daemon, number: usize) {
    server.control().get(&format!("/control/applications/{}/restart", Sites::name(number))).0.expect(200);
}

fn set_option(app: &mut Value, name: &str, value: Value) {
    app["options"][name] = value;
}

#[test]
fn sites_share_an_image_and_nothing_else() {
    let sites = Sites::new(3);
    let server = sites.start(|number, app| {
        app["environment"] = json!({ "SHARED": "1", "N": if number < 2 { "1" } else { "2" } });
    });
    server.expect_processes(IMAGE, 1);
    for _ in 0..2 {
        for (number, said) in sites.ask_all(&server).into_iter().enumerate() {
            let root = format!("{}/{}", sites.site.root(), Sites::name(number));
            assert_eq!(said["site"], Sites::name(number));
            assert_eq!(said["scripts"], json!([format!("{root}/index.php")]), "others have compiled theirs");
            let memory = format!("{}M", 64 + number);
            assert_eq!(said["settings"], json!([root, memory, format!("/tmp/{number}"), "14"]));
            assert_eq!(said["may_set"], false, "an administrator's setting");
            assert_eq!(said["environment"]["N"], if number < 2 { "1" } else { "2" });
            if is_root() {
                assert_eq!(said["user"], uid(number));
                assert_eq!(said["groups"], json!([uid(number)]));
                assert_eq!(said["environment"]["HOME"], "/", "a number has no home");
            }
        }
    }
}

#[test]
fn a_copy_has_no_descriptor_of_the_image_s() {
    if !is_root() {
        return;
    }
    let sites = Sites::new(2);
    let server = sites.start(|_, _| {});
    let [image] = server.expect_processes(IMAGE, 1)[..] else { panic!("one image") };
    sites.ask_all(&server);
    let [prototype] = server.expect_processes("\"s1\" prototype", 1)[..] else { panic!("one prototype") };
    // Main reads what each of them prints.
    let of_image = server.shared_with(image, 1);
    assert!(!of_image.is_empty());
    let of_prototype = server.shared_with(prototype, 1);
    let both: Vec<_> = of_prototype.iter().filter(|name| of_image.contains(name)).collect();
    assert_eq!(both, Vec::<&String>::new());
}

#[test]
fn one_site_needs_no_image() {
    let sites = Sites::new(1);
    let server = sites.start(|_, _| {});
    sites.ask_all(&server);
    server.expect_processes(IMAGE, 0);
}

#[test]
fn sites_go_on_without_their_image() {
    let sites = Sites::new(2);
    let server = sites.start(|_, _| {});
    let [image] = server.expect_processes(IMAGE, 1)[..] else { panic!("one image") };
    sites.ask_all(&server);
    server.kill(image);
    sites.ask_all(&server);
    // It is made again when it is needed.
    restart(&server, 0);
    sites.ask_all(&server);
    let again = server.expect_processes(IMAGE, 1);
    assert_ne!(again, [image]);
    // A prototype that dies is another copy.
    let [prototype] = server.expect_processes("\"s1\" prototype", 1)[..] else { panic!("one prototype") };
    server.kill(prototype);
    server.expect_processes("\"s1\" prototype", 1);
    sites.ask_all(&server);
    assert_eq!(server.expect_processes(IMAGE, 1), again);
}

#[test]
fn a_restart_reads_php_ini_again() {
    let sites = Sites::new(2);
    sites.site.write("php.ini", "precision = 5");
    let file = json!(sites.site.path("php.ini"));
    let server = sites.start(|_, app| set_option(app, "file", file.clone()));
    let image = server.expect_processes(IMAGE, 1);
    let precision = |number| Sites::ask(&server, number)["settings"][3].clone();
    assert_eq!([precision(0), precision(1)], ["5", "5"]);
    sites.site.write("php.ini", "precision = 6\n");
    restart(&server, 0);
    assert_eq!([precision(0), precision(1)], ["6", "5"]);
    assert_ne!(server.expect_processes(IMAGE, 1), image);
    restart(&server, 1);
    assert_eq!([precision(0), precision(1)], ["6", "6"]);
}

#[test]
fn each_php_ini_has_its_image() {
    let sites = Sites::new(4);
    sites.site.write("a.ini", "precision = 5");
    sites.site.write("b.ini", "precision = 6");
    let file = |number| json!(sites.site.path(if number % 2 == 0 { "a.ini" } else { "b.ini" }));
    let server = sites.start(|number, app| set_option(app, "file", file(number)));
    server.expect_processes(IMAGE, 2);
    let said = sites.ask_all(&server);
    let precisions: Vec<_> = said.iter().map(|said| said["settings"][3].clone()).collect();
    assert_eq!(precisions, ["5", "6", "5", "6"]);
    // Without sites, an image ends.
    let config = server.with_listener(sites.config(|_, app| set_option(app, "file", file(0))));
    server.control().put("/config", &config).expect_done();
    server.expect_processes(IMAGE, 1);
}

#[test]
fn settings_with_variables_are_a_site_s_own() {
    let sites = Sites::new(2);
    sites.site.write("php.ini", "precision = ${DIGITS}");
    let file = json!(sites.site.path("php.ini"));
    let server = sites.start(|_, app| {
        set_option(app, "file", file.clone());
        app["environment"] = json!({ "DIGITS": "7" });
    });
    for said in sites.ask_all(&server) {
        assert_eq!(said["settings"][3], "7");
    }
    server.expect_processes(IMAGE, 0);
    server.expect_log("reads variables");
}

/// An image has the rights of the daemon's main process.
#[test]
fn no_image_reads_what_others_may_write() {
    if !is_root() {
        return;
    }
    for (mode, owner) in [(0o666, 0), (0o644, 64_100)] {
        let sites = Sites::new(2);
        sites.site.write("php.ini", "precision = 5");
        let path = sites.site.path("php.ini");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), None).unwrap();
        let server = sites.start(|_, app| set_option(app, "file", json!(path)));
        assert_eq!(sites.ask_all(&server)[1]["settings"][3], "5");
        server.expect_processes(IMAGE, 0);
    }
}

#[test]
fn a_successor_has_images_of_its_own() {
    let sites = Sites::new(2);
    let mut server = sites.start(|_, _| {});
    let before = server.expect_processes(IMAGE, 1);
    sites.ask_all(&server);
    server.upgrade();
    sites.ask_all(&server);
    assert_ne!(server.expect_processes(IMAGE, 1), before);
    server.stop();
}

#[test]
fn fifty_sites_start_at_once() {
    let sites = Sites::new(50);
    let mut server = sites.start(|number, app| {
        if number % 2 == 1 {
            app["processes"] = json!({ "max": 1, "spare": 0, "idle_timeout": 1 });
        }
    });
    sites.ask_all(&server);
    server.expect_processes(IMAGE, 1);
    server.stop();
}

/// Options: applications.{N}.opcache, applications.{N}.opcache.shared
#[test]
fn sites_that_trust_each_other_share_an_opcache() {
    let sites = Sites::new(3);
    let server = sites.start(|number, app| app["opcache"] = json!({ "shared": number < 2 }));
    let said = sites.ask_all(&server);
    let scripts = |said: &Value| said["scripts"].as_array().unwrap().len();
    // Each has compiled its own script before it looks.
    assert_eq!(said.iter().map(scripts).collect::<Vec<_>>(), [1, 2, 1]);
    assert_eq!(scripts(&Sites::ask(&server, 0)), 2);
}
