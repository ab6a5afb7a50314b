//! Section 12: files that change while they are served. The next request gets the file that is on disk, and a file that
//! is no longer asked for or named is not held.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use corral_testkit::{Client, Daemon, Request, Site, daemon, eventually, site};
use serde_json::{Value, json};

use super::{check, serve, share};

/// With several event loops.
fn serve_with_loops(n_loops: u32, action: &Value, http: &Value) -> Daemon {
    daemon()
        .config(json!({
            "routes": [{ "action": action }],
            "settings": { "listen_threads": n_loops, "http": http },
        }))
        .start()
}

/// Connections to all event loops, with near certainty.
fn clients(server: &Daemon) -> Vec<Client> {
    (0..16).map(|_| server.connect()).collect()
}

#[track_caller]
fn expect_everywhere(clients: &mut [Client], path: &str, body: &str) {
    for client in clients {
        client.get(path).expect(200).expect_body(body);
    }
}

fn replace(site: &Site, path: &str, content: &str) {
    site.write("new", content);
    fs::rename(site.path("new"), site.path(path)).expect("replace the file");
}

/// Leads a symbolic link elsewhere, as deployments do: it is never missing.
fn lead(link: &Path, target: &str) {
    let new = link.with_extension("new");
    symlink(target, &new).expect("make a link");
    fs::rename(new, link).expect("put it in its place");
}

/// Longer than the clock by which file systems note changes stands still.
fn for_a_while(mut act: impl FnMut()) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(120) {
        act();
    }
}

#[track_caller]
fn packed(server: &Daemon, path: &str) -> String {
    server.send(&Request::get(path).field("Accept-Encoding", "gzip")).expect(200).text()
}

// --- what changes --------------------------------------------------------------------------------------

#[test]
fn every_event_loop_serves_a_changed_file_at_once() {
    let site = site().file("a.txt", "0000");
    let server = serve_with_loops(4, &json!({ "share": format!("{}$uri", site.root()) }), &json!({}));
    let mut clients = clients(&server);
    expect_everywhere(&mut clients, "/a.txt", "0000");
    for n in 1..60 {
        // Of the same size, most of them in the same tick of the file system's clock.
        let body = format!("{n:04}");
        match n % 3 {
            0 => replace(&site, "a.txt", &body),
            _ => fs::write(site.path("a.txt"), &body).expect("write the file"),
        }
        expect_everywhere(&mut clients, "/a.txt", &body);
    }
    fs::remove_file(site.path("a.txt")).expect("remove the file");
    clients.iter_mut().for_each(|client| drop(client.get("/a.txt").expect(404)));
}

/// Small files are kept in memory once they have not changed for a while.
#[test]
fn a_file_that_was_quiet_for_a_while_changes_at_once() {
    let large = |digit: char| digit.to_string().repeat(100_000);
    let site = site().file("small.txt", "1").file("large.txt", large('1'));
    let server = share(&site);
    for digit in ['2', '3'] {
        for_a_while(|| {
            server.get("/small.txt").expect(200);
            server.get("/large.txt").expect(200);
        });
        fs::write(site.path("small.txt"), digit.to_string()).expect("write the file");
        fs::write(site.path("large.txt"), large(digit)).expect("write the file");
        server.get("/small.txt").expect_body(digit.to_string());
        server.get("/large.txt").expect_body(large(digit));
    }
}

/// `rsync --times`, `touch -r`: neither the size nor the time of modification tells.
#[test]
fn a_file_with_the_time_of_the_old_one_is_another_one() {
    let site = site().file("a.txt", "old");
    let server = share(&site);
    let old = SystemTime::now() - Duration::from_secs(3600);
    for content in ["one", "two", "six"] {
        fs::write(site.path("a.txt"), content).expect("write the file");
        let file = fs::File::options().write(true).open(site.path("a.txt")).expect("open the file");
        file.set_modified(old).expect("set its time");
        server.get("/a.txt").expect_body(content);
    }
}

#[test]
fn files_that_come_and_go_decide_over_index_and_fallback() {
    let site = site().file("one/x", "").file("two/a.txt", "two").file("folder/x", "");
    let root = site.root();
    let server = serve(&json!({
        "share": [format!("{root}/one$uri"), format!("{root}/two$uri"), format!("{root}$uri")],
        "fallback": { "return": 402 },
    }));
    check(&server, &[("/none.txt", 402), ("/folder/", 402)]);
    server.get("/a.txt").expect_body("two");
    site.write("one/a.txt", "one");
    site.write("none.txt", "here");
    site.write("folder/index.html", "index");
    server.get("/a.txt").expect_body("one");
    server.get("/none.txt").expect_body("here");
    server.get("/folder/").expect_body("index");
    for path in ["one/a.txt", "none.txt", "folder/index.html"] {
        fs::remove_file(site.path(path)).expect("remove the file");
    }
    server.get("/a.txt").expect_body("two");
    check(&server, &[("/none.txt", 402), ("/folder/", 402)]);
    fs::rename(site.path("folder"), site.path("moved")).expect("move the folder");
    check(&server, &[("/folder", 402), ("/moved", 301)]);
}

/// `current` is a folder on the way to the file; so is a folder that has become a link.
#[test]
fn links_on_the_way_that_move_are_followed_at_once() {
    let site = site().file("1/public/a.txt", "1").file("2/public/a.txt", "2").file("2/public/b.txt", "b");
    let current = site.path("current");
    symlink("1", &current).expect("make a link");
    let share = format!("{}/current/public$uri", site.root());
    let server = serve_with_loops(2, &json!({ "share": share }), &json!({}));
    let mut clients = clients(&server);
    for n in 0..20 {
        let release = ["1", "2"][n % 2];
        lead(&current, release);
        expect_everywhere(&mut clients, "/a.txt", release);
        check(&server, &[("/b.txt", if release == "1" { 404 } else { 200 })]);
    }
    fs::rename(site.path("2/public"), site.path("2/other")).expect("move the folder");
    check(&server, &[("/a.txt", 404)]);
}

// --- under restrictions ----------------------------------------------------------------------------------

#[test]
fn confined_files_are_as_fresh_and_stay_confined() {
    let site = site().file("root/sub/a.txt", "1111").file("outside/a.txt", "outside");
    let root = fs::canonicalize(site.path("root")).expect("it is there");
    let path = format!("{}$uri", root.display());
    let actions = [
        (json!({ "share": path, "chroot": root }), 404),
        (json!({ "share": path, "follow_symlinks": false }), 403),
        (json!({ "share": path, "chroot": root, "follow_symlinks": false }), 403),
        (json!({ "share": path, "traverse_mounts": false }), 200),
    ];
    for (action, status_behind_link) in actions {
        let server = serve(&action);
        for content in ["2222", "3333", "longer"] {
            fs::write(root.join("sub/a.txt"), content).expect("write the file");
            server.get("/sub/a.txt").expect(200).expect_body(content);
        }
        fs::rename(root.join("sub"), root.join("moved")).expect("move the folder");
        symlink("../outside", root.join("sub")).expect("make a link");
        check(&server, &[("/sub/a.txt", status_behind_link), ("/moved/a.txt", 200)]);
        fs::remove_file(root.join("sub")).expect("remove the link");
        fs::rename(root.join("moved"), root.join("sub")).expect("move it back");
        check(&server, &[("/sub/a.txt", 200)]);
    }
}

/// The folder that paths are confined to may be a link as well.
#[test]
fn a_chroot_that_moves_is_another_one() {
    let site = site().file("1/a.txt", "1").file("2/a.txt", "2");
    lead(&site.path("current"), "1");
    let current = format!("{}/current", site.root());
    let server = serve(&json!({ "share": format!("{current}$uri"), "chroot": current }));
    server.get("/a.txt").expect_body("1");
    lead(&site.path("current"), "2");
    server.get("/a.txt").expect_body("2");
}

// --- what is beside a file, or made of it ------------------------------------------------------------------

#[test]
fn siblings_that_come_go_and_change_are_noticed_at_once() {
    for confined in [false, true] {
        let site = site().file("a.css", "plain");
        let mut action = json!({ "share": format!("{}$uri", site.root()) });
        if confined {
            action["chroot"] = json!(site.root());
        }
        let server = serve(&action);
        // When the folder has not changed for a while, it is what tells.
        for_a_while(|| assert_eq!(packed(&server, "/a.css"), "plain"));
        for content in ["1111", "2222", "longer", "22"] {
            fs::write(site.path("a.css.gz"), content).expect("write the sibling");
            assert_eq!(packed(&server, "/a.css"), content);
        }
        replace(&site, "a.css.gz", "other");
        assert_eq!(packed(&server, "/a.css"), "other");
        server.get("/a.css").expect_body("plain");
        fs::remove_file(site.path("a.css.gz")).expect("remove the sibling");
        assert_eq!(packed(&server, "/a.css"), "plain");
    }
}

/// Nothing that happens to these changes the folder.
#[test]
fn siblings_that_were_of_no_use_become_so_at_once() {
    let site = site().file("a.css", "plain").file("a.css.gz", "OLD").file("b.css", "plain");
    let gz = site.path("a.css.gz");
    let file = fs::File::options().write(true).open(&gz).expect("open the sibling");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("set its time");
    symlink("elsewhere/b.gz", site.path("b.css.gz")).expect("make a link");
    fs::create_dir(site.path("elsewhere")).expect("make a folder");
    let server = share(&site);
    for_a_while(|| {
        assert_eq!((packed(&server, "/a.css"), packed(&server, "/b.css")), ("plain".into(), "plain".into()));
    });
    fs::write(gz, "NEW").expect("write the sibling");
    site.write("elsewhere/b.gz", "linked");
    assert_eq!((packed(&server, "/a.css"), packed(&server, "/b.css")), ("NEW".into(), "linked".into()));
}

#[test]
fn what_a_compressor_made_of_a_changed_file_is_not_sent() {
    let page = |n: usize| format!("<p>{n:04}</p>").repeat(200);
    let site = site().file("a.html", page(0));
    let compression = json!({ "compression": { "compressors": { "encoding": "gzip" } } });
    let action = json!({ "share": format!("{}$uri", site.root()) });
    let server = serve_with_loops(2, &action, &compression);
    for n in 1..30 {
        fs::write(site.path("a.html"), page(n)).expect("write the file");
        for _ in 0..3 {
            let request = Request::get("/a.html").field("Accept-Encoding", "gzip");
            let response = server.send(&request).expect(200).expect_field("Content-Encoding", "gzip");
            let mut text = String::new();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*response.body), &mut text)
                .expect("it is gzip");
            assert_eq!(text, page(n));
        }
    }
}

// --- trust on demand ---------------------------------------------------------------------------------------

/// A file that was not written to for this long is taken for complete.
const SETTLED: Duration = Duration::from_millis(50);

fn age(site: &Site, name: &str) -> Option<Duration> {
    let modified =
        fs::metadata(site.path(name)).and_then(|metadata| metadata.modified()).expect("it is there");
    SystemTime::now().duration_since(modified).ok()
}

/// A file that has just been written is looked at each time, however long files are trusted: one that is copied in
/// place would be half of it for as long.
#[test]
fn files_that_are_being_written_are_not_trusted() {
    let site = site().file("a.txt", "0");
    let action = json!({ "share": format!("{}$uri", site.root()) });
    let server = serve_with_loops(1, &action, &json!({ "static": { "cache_valid": 3600 } }));
    let mut were_new = 0;
    for _ in 0..100 {
        let content = format!("{were_new}, {were_new}");
        site.write("a.txt", &content);
        let response = server.get("/a.txt").expect(200);
        // A pause of this test can make it one that has settled.
        if age(&site, "a.txt").is_some_and(|age| age < SETTLED) {
            response.expect_body(content);
            were_new += 1;
        } else {
            break;
        }
    }
    assert!(were_new > 0);
}

/// Options: settings.http.static.cache_valid
#[test]
fn files_are_trusted_for_as_long_as_the_configuration_says() {
    let site = site().file("a.txt", "first").file("a.css", "plain");
    let action = json!({ "share": format!("{}$uri", site.root()) });
    let server = serve_with_loops(1, &action, &json!({ "static": { "cache_valid": 3600 } }));
    // What was written a moment ago may still be being written.
    eventually("the files have settled", || {
        age(&site, "a.css").is_some_and(|age| age > SETTLED).then_some(())
    });
    server.get("/a.txt").expect_body("first");
    assert_eq!(packed(&server, "/a.css"), "plain");
    site.write("a.txt", "second, longer");
    site.write("a.css.gz", "GZ");
    server.get("/a.txt").expect_body("first");
    assert_eq!(packed(&server, "/a.css"), "plain");
    // Whatever it is, a change of the configuration begins anew.
    server.control().put("/config/settings/http/static/cache_valid", &json!(3599)).expect_done();
    server.get("/a.txt").expect_body("second, longer");
    site.write("a.txt", "third");
    server.control().put("/config/settings/http/static/cache_valid", &json!(0)).expect_done();
    server.get("/a.txt").expect_body("third");
    site.write("a.txt", "fourth");
    server.get("/a.txt").expect_body("fourth");
}

// --- what is held ------------------------------------------------------------------------------------------

/// The files below the site that the router has open.
fn held(server: &Daemon, site: &Site) -> Vec<PathBuf> {
    let router = server.expect_processes("router", 1)[0];
    let folder = fs::read_dir(format!("/proc/{router}/fd")).expect("tests may look into the daemon");
    let targets = folder.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let root = fs::canonicalize(site.path("")).expect("it is there");
    targets.filter(|target| target.starts_with(&root)).collect()
}

#[test]
fn files_that_nobody_asks_for_are_closed() {
    let site =
        site().file("a.txt", "x").file("b.css", "x").file("b.css.gz", "x").file("gone.bin", [0; 50_000]);
    let server = share(&site);
    server.get("/a.txt").expect(200);
    packed(&server, "/b.css");
    server.get("/gone.bin").expect(200);
    assert_eq!(held(&server, &site).len(), 4);
    fs::remove_file(site.path("gone.bin")).expect("remove the file");
    eventually("they are closed", || held(&server, &site).is_empty().then_some(()));
    server.get("/a.txt").expect(200);
    assert_eq!(held(&server, &site).len(), 1, "one that is asked for again is kept again");
}

#[test]
fn a_file_that_is_being_sent_stays_open() {
    let content = vec![b'x'; 8_000_000];
    let site = site().file("big.bin", &content);
    let server = share(&site);
    let mut slow = server.connect();
    slow.write("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("it is being sent", || (held(&server, &site).len() == 1).then_some(()));
    fs::remove_file(site.path("big.bin")).expect("remove the file");
    server.control().put("/config/routes", &json!([{ "action": { "return": 200 } }])).expect_done();
    assert_eq!(held(&server, &site).len(), 1);
    slow.read_response().expect(200).expect_body(&content);
    eventually("it is closed", || held(&server, &site).is_empty().then_some(()));
}

#[test]
fn files_that_the_configuration_names_no_more_are_closed_at_once() {
    let site = site().file("a.txt", "x").file("b.txt", "x");
    let action = json!({ "share": format!("{}$uri", site.root()) });
    let server = serve_with_loops(2, &action, &json!({}));
    let mut clients = clients(&server);
    expect_everywhere(&mut clients, "/a.txt", "x");
    expect_everywhere(&mut clients, "/b.txt", "x");
    assert!(held(&server, &site).len() >= 2);
    server.control().put("/config/routes", &json!([{ "action": { "return": 200 } }])).expect_done();
    assert_eq!(held(&server, &site), Vec::<PathBuf>::new());
}
