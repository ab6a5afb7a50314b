//! Deployments by a symbolic link: `current` leads to another release, and from that moment on scripts are those of it,
//! as files are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use corral_testkit::{Client, Daemon, Site, daemon, eventually, php_app, site};
use serde_json::json;

/// Says its release in every way that a script can know it.
const TELL: &str = "<?php
require __DIR__ . '/../release.php';
$told = [$release, basename(dirname(__DIR__)), basename(dirname($_SERVER['DOCUMENT_ROOT'])),
    basename(dirname($_SERVER['SCRIPT_FILENAME'], 2)), basename(dirname(getcwd())),
    trim(file_get_contents(__DIR__ . '/release.txt'))];
echo count(array_unique($told)) == 1 ? $told[0] : json_encode($told);
";

/// A folder of releases whose public folders have a file and a script.
fn release(site: &Site, n: u64) {
    let folder = format!("releases/{n}");
    site.write(&format!("{folder}/release.php"), format!("<?php $release = '{n}';"));
    site.write(&format!("{folder}/public/index.php"), TELL);
    site.write(&format!("{folder}/public/release.txt"), format!("{n}\n"));
}

/// As Capistrano and Deployer do: at no moment there is no link.
fn lead(site: &Site, link: &str, target: impl AsRef<Path>) {
    let new = site.path("new");
    symlink(target, &new).expect("make a link");
    fs::rename(new, site.path(link)).expect("put it in its place");
}

fn activate(site: &Site, n: u64) {
    lead(site, "current", format!("releases/{n}"));
}

/// `/` runs the script by its path, `/front` as a front controller; everything else is a file.
fn serve(site: &Site) -> Daemon {
    let root = format!("{}/current/public", site.root());
    let targets = json!({
        "by_path": { "root": root },
        "front": { "root": root, "script": "index.php" },
        // The link is not above the root, but above the script.
        "linked": { "root": site.root(), "script": "current/public/index.php" },
    });
    let app = json!({ "type": "php", "processes": 3, "targets": targets });
    daemon()
        .config(json!({
            "applications": { "php": app },
            "routes": [
                { "match": { "uri": "/" }, "action": { "pass": "applications/php/by_path" } },
                { "match": { "uri": "/front" }, "action": { "pass": "applications/php/front" } },
                { "match": { "uri": "/linked" }, "action": { "pass": "applications/php/linked" } },
                { "action": { "share": format!("{root}$uri") } },
            ],
            "settings": { "listen_threads": 2 },
        }))
        .start()
}

/// Progress of the deployments.
#[derive(Default)]
struct Progress {
    /// The link may lead to this release.
    begun: AtomicU64,
    /// The number of the release that the link leads to at least.
    done: AtomicU64,
    is_over: AtomicBool,
    n_replies: AtomicU64,
}

/// Asks for files and scripts in turn; each reply must be of a release that was current while it was asked for.
fn ask(client: &mut Client, progress: &Progress) {
    for target in ["/", "/release.txt", "/front", "/release.txt"].iter().cycle() {
        if progress.is_over.load(Ordering::SeqCst) {
            return;
        }
        let least = progress.done.load(Ordering::SeqCst);
        let text = client.get(target).expect(200).text();
        let most = progress.begun.load(Ordering::SeqCst);
        let told: u64 = text.trim().parse().unwrap_or_else(|_| panic!("{target} says {text:?}"));
        assert!((least..=most).contains(&told), "{target} is of {told}, not of {least} to {most}");
        progress.n_replies.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn fifty_deployments_under_load_lose_no_request_and_mix_no_releases() {
    const N_DEPLOYMENTS: u64 = 50;
    const N_KEPT: u64 = 5;
    let site = site();
    release(&site, 0);
    activate(&site, 0);
    let server = serve(&site);
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (server, progress) = (&server, &progress);
                scope.spawn(move || ask(&mut server.connect(), progress))
            })
            .collect();
        for n in 1..=N_DEPLOYMENTS {
            release(&site, n);
            progress.begun.store(n, Ordering::SeqCst);
            activate(&site, n);
            progress.done.store(n, Ordering::SeqCst);
            if let Some(old) = n.checked_sub(N_KEPT) {
                fs::remove_dir_all(site.path(&format!("releases/{old}"))).expect("remove an old release");
            }
            let goal = progress.n_replies.load(Ordering::SeqCst) + 20;
            let is_seen = || progress.n_replies.load(Ordering::SeqCst) >= goal;
            eventually("it is used", || {
                (is_seen() || clients.iter().any(|client| client.is_finished())).then_some(())
            });
        }
        progress.is_over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn scripts_behind_a_link_are_followed_too() {
    let site = site();
    release(&site, 1);
    release(&site, 2);
    activate(&site, 1);
    let server = serve(&site);
    for n in [1, 2, 1, 2] {
        activate(&site, n);
        let told = server.get("/linked").expect(200).text();
        assert!(told.contains(&format!("\"{n}\",\"{n}\"")), "{told} for {n}");
    }
}

/// `ln -sfn` removes the link and makes another; a release may be broken.
#[test]
fn scripts_run_where_they_were_while_the_link_leads_nowhere() {
    let site = site();
    release(&site, 1);
    release(&site, 2);
    activate(&site, 1);
    let server = serve(&site);
    server.get("/front").expect(200).expect_body("1");
    fs::remove_file(site.path("current")).expect("remove the link");
    for _ in 0..5 {
        server.get("/").expect(200).expect_body("1");
        server.get("/front").expect(200).expect_body("1");
    }
    server.expect_log("scripts still run in");
    activate(&site, 2);
    server.get("/front").expect(200).expect_body("2");
    server.get("/").expect(200).expect_body("2");
    site.write("releases/3/public/none", "");
    activate(&site, 3);
    server.get("/front").expect(200).expect_body("2");
    server.get("/").expect(404);
    server.expect_log("index.php");
}

/// A folder that was there all the time becomes a link at the first deployment by one.
#[test]
fn a_folder_that_becomes_a_link_is_followed() {
    let site = site();
    release(&site, 1);
    release(&site, 2);
    fs::rename(site.path("releases/1"), site.path("current")).expect("no release yet");
    let tell = "<?php echo $_SERVER['SCRIPT_FILENAME'];";
    site.write("current/public/index.php", tell);
    site.write("releases/2/public/index.php", tell);
    let app = php_app(&site).with("root", json!(site.path("current/public")));
    let server = daemon().application(app).start();
    let expect = |folder: &str| {
        let path = fs::canonicalize(site.path(folder)).expect("it is there").join("public/index.php");
        server.get("/").expect(200).expect_body(path.to_str().expect("paths here are text"));
    };
    expect("current");
    fs::rename(site.path("current"), site.path("releases/1")).expect("move it");
    activate(&site, 2);
    expect("releases/2");
}
