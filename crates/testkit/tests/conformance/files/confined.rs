//! Section 12: what may be on the way to a file: `chroot`, `follow_symlinks` and `traverse_mounts`.

use std::os::unix::fs::symlink;

use corral_testkit::{Request, Site, daemon, site};
use serde_json::json;

use super::{check, serve};

/// A site with links of all kinds: `root` is what is shared.
fn linked() -> Site {
    let site = site()
        .file("jail/a.txt", "a")
        .file("jail/etc/passwd", "inside")
        .file("jail/sub/b.txt", "b")
        .file("outside.txt", "outside");
    let root = site.path("jail");
    symlink("a.txt", root.join("beside")).expect("make a link");
    symlink("../outside.txt", root.join("climbing")).expect("make a link");
    symlink("/etc/passwd", root.join("absolute")).expect("make a link");
    symlink("sub", root.join("folder")).expect("make a link");
    site
}

/// Options: …action.follow_symlinks
#[test]
fn links_can_be_refused() {
    let site = linked();
    let root = std::fs::canonicalize(site.path("jail")).expect("it is there");
    let path = format!("{}$uri", root.display());
    let server = serve(&json!({ "share": path, "follow_symlinks": true }));
    let all = ["/a.txt", "/beside", "/climbing", "/absolute", "/folder/b.txt"];
    check(&server, &all.map(|path| (path, 200)));
    let server = serve(&json!({ "share": path, "follow_symlinks": false }));
    let refused = [("/beside", 403), ("/climbing", 403), ("/absolute", 403), ("/folder/b.txt", 403)];
    check(&server, &[("/a.txt", 200), ("/sub/b.txt", 200), ("/sub", 301), ("/nope", 404)]);
    check(&server, &refused);
    server.expect_log("beside");
    let server = serve(&json!({ "share": path, "follow_symlinks": false, "fallback": { "return": 402 } }));
    check(&server, &[("/beside", 402), ("/a.txt", 200)]);
}

/// A link above the chroot is the operator's own; one below it counts.
///
/// Options: …action.chroot, …action.follow_symlinks
#[test]
fn links_above_the_chroot_do_not_count() {
    let site = linked();
    symlink("jail", site.path("link")).expect("make a link");
    let path = format!("{}/link$uri", site.root());
    let server = serve(&json!({ "share": path, "follow_symlinks": false }));
    check(&server, &[("/a.txt", 403)]);
    let chroot = format!("{}/link", site.root());
    let server = serve(&json!({ "share": path, "chroot": chroot, "follow_symlinks": false }));
    check(&server, &[("/a.txt", 200), ("/beside", 403), ("/folder/b.txt", 403)]);
}

/// Options: …action.chroot
#[test]
fn a_chroot_keeps_links_inside() {
    let site = linked();
    let root = site.root();
    let server = serve(&json!({ "share": format!("{root}/jail$uri"), "chroot": format!("{root}//jail/") }));
    server.get("/a.txt").expect(200).expect_body("a");
    server.get("/beside").expect(200).expect_body("a");
    server.get("/absolute").expect(200).expect_body("inside");
    server.get("/folder/b.txt").expect(200).expect_body("b");
    check(&server, &[("/climbing", 404), ("/sub", 301), ("/", 404)]);
    // As text, the path must lie in it.
    let server = serve(&json!({ "share": format!("{root}/outside.txt"), "chroot": format!("{root}/jail") }));
    check(&server, &[("/", 403)]);
    let server = serve(&json!({ "share": format!("{root}/jail2$uri"), "chroot": format!("{root}/jail") }));
    check(&server, &[("/a.txt", 403)]);
    let server =
        serve(&json!({ "share": format!("{root}/jail/../outside.txt"), "chroot": format!("{root}/jail") }));
    check(&server, &[("/", 404)]);
    let server = serve(&json!({ "share": format!("{root}/jail$uri"), "chroot": format!("{root}/gone") }));
    check(&server, &[("/a.txt", 403)]);
}

/// Options: …action.traverse_mounts
#[test]
fn mounts_can_be_refused() {
    let server = serve(&json!({ "share": "/proc$uri", "traverse_mounts": true }));
    check(&server, &[("/version", 200)]);
    let server = serve(&json!({ "share": "/proc$uri", "traverse_mounts": false }));
    check(&server, &[("/version", 403), ("/no-such-file", 403)]);
    // Inside a chroot that is a mount itself nothing is crossed.
    let server = serve(&json!({ "share": "/proc$uri", "chroot": "/proc", "traverse_mounts": false }));
    check(&server, &[("/version", 200)]);
    let server = serve(&json!({ "share": "/proc$uri", "chroot": "/", "traverse_mounts": false }));
    check(&server, &[("/version", 403)]);
}

/// The same path under other restrictions is not answered from what is open already.
#[test]
fn restrictions_hold_for_files_that_are_open_already() {
    let site = linked();
    let path = format!("{}/jail$uri", site.root());
    let server = daemon()
        .config(json!({ "routes": [
            { "match": { "uri": "/free/*" }, "action": { "share": format!("{}/jail/beside", site.root()) } },
            { "action": { "share": path, "follow_symlinks": false } },
        ], "settings": { "listen_threads": 1 } }))
        .start();
    check(&server, &[("/free/", 200), ("/beside", 403), ("/free/", 200), ("/beside", 403)]);
}

/// A file that becomes a link while it is open is refused at once.
#[test]
fn a_file_that_becomes_a_link_is_refused() {
    let site = linked();
    let root = std::fs::canonicalize(site.path("jail")).expect("it is there");
    let server = serve(&json!({ "share": format!("{}$uri", root.display()), "follow_symlinks": false }));
    check(&server, &[("/a.txt", 200)]);
    std::fs::rename(root.join("a.txt"), root.join("moved.txt")).expect("rename");
    symlink("moved.txt", root.join("a.txt")).expect("make a link");
    check(&server, &[("/a.txt", 403)]);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn a_chroot_is_a_template() {
        let site = site().file("a.example/f.txt", "a").file("b.example/f.txt", "b");
        let root = site.root();
        let server =
            serve(&json!({ "share": format!("{root}/a.example$uri"), "chroot": format!("{root}/$host") }));
        let get = |host: &str| server.send(&Request::get("/f.txt").field("Host", host));
        get("a.example").expect(200).expect_body("a");
        get("b.example").expect(403);
        // No host is not the folder of all hosts.
        let reply = get("");
        assert!(matches!(reply.status, 400 | 404), "{reply}");
        get("a.example").expect(200);
    }
}
