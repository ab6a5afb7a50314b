//! `try`: files, scripts and a front controller below one folder.

use std::fs::{create_dir_all, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use corral_testkit::{Daemon, Origin, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

use super::steps::{put_step, refuse_step};

/// Says what runs, and how it was asked for.
const WHICH: &str = "<?php echo basename(__DIR__) === 'sub' ? 'sub' : 'top', ' ', $_SERVER['SCRIPT_NAME'], ' ', \
    $_SERVER['PATH_INFO'] ?? '', ' ', $_SERVER['QUERY_STRING'];";

/// A site with a front controller, scripts, files, folders, and files that must stay hidden.
fn files() -> Site {
    let files = site()
        .file("index.php", WHICH)
        .file("other.php", WHICH)
        .file("sub/index.php", WHICH)
        .file("sub/a.css", "css of sub")
        .file("docs/index.html", "docs")
        .file("empty/x.txt", "x")
        .file("style.css", "css")
        .file("page.html", "page")
        .file("100%.txt", "percent")
        .file(".env", "SECRET")
        .file(".git/config", "SECRET")
        .file("sub/.htpasswd", "SECRET")
        .file(".well-known/acme/x", "well known")
        .file("other.PHP", "SECRET")
        .file("other.php~", "SECRET")
        .file("other.php.bak", "SECRET")
        .file("lib.inc", "SECRET")
        .file("old.phtml", "SECRET")
        .file("evil.jpg", "<?php echo 'ran'; SECRET");
    create_dir_all(files.path("dir.php")).expect("make a folder");
    files
}

/// The answer of a front controller.
fn front(query: &str) -> String {
    format!("top /index.php  {query}")
}

const TRY: [&str; 3] = ["$uri", "$uri/", "/index.php"];

/// A daemon with this action, and PHP to pass to.
fn serve(site: &Site, options: Value) -> Daemon {
    let mut action = options;
    action["pass"] = json!("applications/php");
    daemon().routes(json!([{ "action": action }])).application(php_app(site)).start()
}

/// Options: …action.try
#[test]
fn files_are_sent_scripts_run_and_the_rest_is_the_front_controller_s() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    for (target, body) in [
        ("/style.css", "css"),
        ("/page.html?q", "page"),
        ("/100%25.txt", "percent"),
        ("/sub/a.css", "css of sub"),
        ("/docs/", "docs"),
        ("/.well-known/acme/x", "well known"),
        ("/", "top /index.php  "),
        ("/?a=b", "top /index.php  a=b"),
        ("/index.php", "top /index.php  "),
        ("/index.php/a/b?c=d", "top /index.php /a/b c=d"),
        ("/other.php?x", "top /other.php  x"),
        ("/other.php/", "top /other.php / "),
        ("/other.php/style.css", "top /other.php /style.css "),
        ("/sub/", "sub /sub/index.php  "),
        ("/sub/?a", "sub /sub/index.php  a"),
        ("/sub/index.php/x", "sub /sub/index.php /x "),
    ] {
        server.get(target).expect(200).expect_body(body);
    }
    for target in
        ["/none", "/none/", "/none.php", "/none.php/x", "/sub/none.php", "/empty/", "/empty", "/style.css/"]
    {
        server.get(&format!("{target}?q=1")).expect(200).expect_body(front("q=1"));
    }
    server.get("/sub?q=1").expect(301).expect_field("Location", "/sub/?q=1");
    server.get("/docs").expect(301).expect_field("Location", "/docs/");
    server.get("/style.css").expect(200).expect_field("Content-Type", "text/css");
}

/// Hidden files and sources count as not there: the front controller answers.
#[test]
fn nothing_hidden_and_no_source_is_sent() {
    let site = files();
    symlink(site.path("other.php"), site.path("readme.txt")).expect("make a link");
    let server = serve(&site, json!({ "try": TRY }));
    for target in [
        "/.env",
        "/.git/config",
        "/.git/",
        "/sub/.htpasswd",
        "/other.PHP",
        "/other.php~",
        "/other.php.bak",
        "/other.php%20",
        "/other.php.",
        "/other.php%00",
        "/other.php%00.css",
        "/lib.inc",
        "/old.phtml",
        "/dir.php",
        "/dir.php/",
        "/dir.php/x",
        "/evil.jpg/x.php",
        "/evil.jpg/.php",
        "/style.css/x.php",
        "/%2e%2e/index.php",
        "/..%2f..%2fetc/passwd",
        "/%252e%252e/index.php",
        "/x%0a.php",
        "/other.php%0d%0aX:%20y",
        "/.%2fother.php%3f",
    ] {
        let reply = server.get(target);
        assert!(!reply.text().contains("SECRET") && !reply.text().contains("ran"), "{target}: {reply}");
        assert!([200, 400, 404].contains(&reply.status), "{target}: {reply}");
    }
    // A file is what its name says.
    server.get("/evil.jpg").expect(200).expect_field("Content-Type", "image/jpeg");
}

#[test]
fn slashes_and_dots_are_resolved_before() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    server.get("//style.css").expect(200).expect_body("css");
    server.get("/sub//a.css").expect(200).expect_body("css of sub");
    server.get("//sub").expect(301).expect_field("Location", "/sub/");
    server.get("/x/../other.php").expect(200).expect_body("top /other.php  ");
    server.get("//evil.example/%2e%2e/sub").expect(301).expect_field("Location", "/sub/");
}

#[test]
fn methods_conditions_and_ranges_are_those_of_files() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    server.send(&Request::post("/style.css").body("x")).expect(405);
    server.send(&Request::post("/other.php").body("x")).expect(200).expect_body("top /other.php  ");
    server.send(&Request::post("/none").body("x")).expect(200).expect_body(front(""));
    server.send(&Request::new("HEAD", "/style.css")).expect(200).expect_field("Content-Length", "3");
    server.send(&Request::get("/style.css").field("Range", "bytes=1-")).expect(206).expect_body("ss");
    let tag = server.get_settled("/style.css").field("ETag").expect("it has a tag").to_owned();
    server.send(&Request::get("/style.css").field("If-None-Match", &tag)).expect(304);
}

/// The request goes on as it is, or with another path and query, or ends.
#[test]
fn the_last_path_is_taken_in_any_case() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    let put =
        |paths: Value| put_step(&server, &json!({ "action": { "pass": "applications/php", "try": paths } }));
    put(json!(["$uri", "=404"]));
    server.get("/style.css").expect(200).expect_body("css");
    server.get("/none").expect(404);
    server.get("/").expect(404);
    put(json!(["$uri", "$uri/", "=403"]));
    server.get("/empty/").expect(403);
    put(json!(["/index.php"]));
    server.get("/style.css").expect(200).expect_body(front(""));
    put(json!(["$uri", "/index.php?q=$uri"]));
    server.get("/a&b?c=d").expect(200).expect_body(front("q=/a%26b&c=d"));
    put(json!(["$uri", "/index.php?q=1?"]));
    server.get("/none?c=d").expect(200).expect_body(front("q=1"));
    put(json!(["$uri", "/other.php$uri"]));
    server.get("/none/x").expect(200).expect_body("top /other.php /none/x ");
    put(json!(["$uri.html", "$uri/index.php?found=1", "$uri"]));
    server.get("/page?a").expect(200).expect_body("page");
    server.get("/sub?a").expect(200).expect_body("sub /sub/index.php  found=1&a");
    server.get("/other.php/x").expect(200).expect_body("top /other.php /x ");
    server.get("/none").expect(404);
}

#[test]
fn values_of_clients_lead_nowhere_else() {
    let site = files();
    site.write("beside/secret.txt", "beside");
    let root = site.path("sub").display().to_string();
    let action = json!({ "try": { "root": root, "paths": ["/$arg_f", "$uri$header_x", "=404"] } });
    let server = serve(&site, action);
    server.get("/?f=a.css").expect(200).expect_body("css of sub");
    for value in [
        "../style.css",
        "..%2fbeside/secret.txt",
        "/../style.css",
        "",
        ".",
        "..",
        "%00",
        "a.css%00",
        ".htpasswd",
    ] {
        server.get(&format!("/?f={value}")).expect(404);
    }
    server.send(&Request::get("/").field("X", "../style.css")).expect(404);
}

/// Options: …action.try.paths, …action.try.root, …action.try.index, …action.try.types, …action.try.cache_control
#[test]
fn an_object_says_where_and_how() {
    let site = files();
    site.write("public/app.js", "js");
    site.write("public/home.htm", "home");
    site.write("public/d/index.html", "d");
    site.write("public/x.php", "SECRET");
    let origin = Origin::echo();
    let server = daemon().routes(json!([])).start();
    let root = site.path("public").display().to_string();
    let tried = json!({
        "root": root, "paths": ["$uri", "$uri/", "$uri"], "index": ["home.htm", "index.html"],
        "types": ["!text/html"], "cache_control": { "*.js": "max-age=60" },
    });
    put_step(&server, &json!({ "action": { "try": tried, "proxy": origin.url() } }));
    let is_passed_on = |target: &str| {
        let text = server.get(target).expect(200).text();
        assert!(text.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{text}");
    };
    server.get("/app.js").expect(200).expect_body("js").expect_field("Cache-Control", "max-age=60");
    for target in ["/", "/d/", "/d", "/x.php", "/a%2Fb%3Fc?d=%26", "/none/"] {
        is_passed_on(target);
    }
    let tried = json!({ "root": format!("{root}//"), "paths": ["$uri/", "$uri"], "index": "home.htm" });
    put_step(&server, &json!({ "action": { "try": tried, "proxy": origin.url() } }));
    server.get("/").expect(200).expect_body("home");
    is_passed_on("/d/");
}

/// Options: …action.try.chroot, …action.try.follow_symlinks, …action.try.traverse_mounts
#[test]
fn links_lead_where_they_may() {
    let site = files();
    site.write("beside.txt", "beside");
    symlink(site.path("beside.txt"), site.path("sub/link.txt")).expect("make a link");
    symlink(site.path("other.php"), site.path("sub/link.php")).expect("make a link");
    let server = serve(&site, json!({ "try": TRY }));
    let root = site.path("sub").display().to_string();
    let put = |options: Value| {
        let mut tried = json!({ "root": root, "paths": ["$uri", "=404"] });
        tried.as_object_mut().expect("it is one").extend(options.as_object().cloned().unwrap_or_default());
        put_step(&server, &json!({ "action": { "return": 204, "try": tried } }));
    };
    put(json!({}));
    server.get("/link.txt").expect(200).expect_body("beside");
    server.get("/link.php").expect(204);
    for confined in [json!({ "follow_symlinks": false }), json!({ "chroot": root })] {
        put(confined);
        server.get("/link.txt").expect(404);
        server.get("/link.php").expect(404);
        server.get("/a.css").expect(200);
    }
    put(json!({ "root": "/proc", "traverse_mounts": false }));
    server.get("/uptime").expect(404);
}

/// A share sends what was found, by its own rules.
#[test]
fn a_share_tries_paths_where_its_files_are() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let share = format!("{}$uri", site.root());
    let action = json!({
        "share": share, "try": ["$uri", "$uri.html", "$uri/", "/page.html"], "types": ["text/*"],
        "response_headers": { "X-Path": "$uri" },
    });
    put_step(&server, &json!({ "action": action }));
    server.get("/style.css").expect(200).expect_body("css").expect_field("X-Path", "/style.css");
    server.get("/page").expect(200).expect_body("page").expect_field("X-Path", "/page.html");
    server.get("/docs").expect(301).expect_field("Location", "/docs/");
    server.get("/docs/").expect(200).expect_body("docs");
    server.get("/none").expect(200).expect_body("page");
    server.get("/evil.jpg").expect(200).expect_body("page");
    // Several folders.
    let shares = json!([format!("{}/sub$uri", site.root()), share]);
    put_step(&server, &json!({ "action": { "share": shares, "try": ["$uri", "/a.css"] } }));
    server.get("/style.css").expect(200).expect_body("css");
    server.get("/none").expect(200).expect_body("css of sub");
}

#[test]
fn targets_have_their_own_folders() {
    let site = files();
    let targets = json!({
        "top": { "root": site.root() },
        "sub": { "root": site.path("sub"), "index": "index.php" },
        "front": { "root": site.root(), "script": "index.php" },
    });
    let step = |target: &str| {
        let action = json!({ "pass": format!("applications/php/{target}"), "try": TRY });
        json!({ "match": { "host": target }, "action": action })
    };
    let config = json!({
        "applications": { "php": { "type": "php", "targets": targets } },
        "routes": [step("top"), step("sub"), step("front")],
    });
    let server = daemon().config(config).start();
    let get = |host: &str, target: &str| server.send(&Request::get(target).field("Host", host));
    get("top", "/sub/").expect(200).expect_body("sub /sub/index.php  ");
    get("sub", "/a.css").expect(200).expect_body("css of sub");
    get("sub", "/style.css").expect(200).expect_body("sub /index.php  ");
    get("front", "/style.css").expect(200).expect_body("css");
    get("front", "/other.php").expect(200).expect_body(front(""));
}

/// A file that cannot be read is there, and one in a folder that cannot be entered is not.
#[test]
fn what_the_server_may_not_see_is_not_sent() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    set_permissions(site.path("style.css"), PermissionsExt::from_mode(0o000)).expect("set the mode");
    set_permissions(site.path("empty"), PermissionsExt::from_mode(0o000)).expect("set the mode");
    let file = server.get("/style.css");
    // A router that runs as root sees everything.
    let sees_all = file.status == 200;
    assert!(sees_all || file.status == 403, "{file}");
    server.get("/empty/x.txt").expect(200).expect_body(if sees_all { "x".to_owned() } else { front("") });
    set_permissions(site.path("empty"), PermissionsExt::from_mode(0o755)).expect("set the mode");
}

#[test]
fn errors_of_files_have_their_pages_and_headers() {
    let site = files();
    let options = json!({
        "try": ["$uri", "=404"], "errors": { "404": { "return": 410, "body": "gone" } },
        "response_headers": { "X-A": "$uri" },
    });
    let server = serve(&site, options);
    server.get("/none").expect(410).expect_body("gone").expect_field("X-A", "/none");
    server.get("/style.css").expect(200).expect_field("X-A", "/style.css");
}

/// Files come and go while they are asked for.
#[test]
fn each_request_looks_anew() {
    let site = files();
    let server = serve(&site, json!({ "try": TRY }));
    let mut client = server.connect();
    for n in 0..3 {
        client.get("/new.txt").expect(200).expect_body(front(""));
        site.write("new.txt", format!("new {n}"));
        client.get("/new.txt").expect(200).expect_body(format!("new {n}"));
        std::fs::remove_file(site.path("new.txt")).expect("remove it");
    }
}

#[test]
fn what_cannot_be_tried_is_refused() {
    let server = daemon().routes(json!([])).start();
    let root = json!({ "root": "/srv", "paths": ["$uri"] });
    let with = |name: &str, value: Value| {
        let mut tried = root.clone();
        tried[name] = value;
        json!({ "return": 200, "try": tried })
    };
    let many: Vec<_> = (0..17).map(|n| format!("/{n}")).collect();
    for (action, detail) in [
        (json!({ "return": 200, "try": ["$uri"] }), "There is no folder that the paths of \"try\""),
        (json!({ "proxy": "http://127.0.0.1:1", "try": ["$uri"] }), "{\"root\": \"/srv/site\", \"paths\""),
        (
            json!({ "fastcgi": "127.0.0.1:1", "try": ["$uri"] }),
            "There is no folder that the paths of \"try\"",
        ),
        (
            json!({ "share": "/srv$uri", "try": root }),
            "The \"root\" of a share is an option of the share itself.",
        ),
        (with("paths", json!([])), "The \"paths\" array must contain at least one element."),
        (with("paths", json!(many)), "must not contain more than 16 elements"),
        (with("paths", json!([1])), "must be a string, but not an integer number"),
        (with("paths", json!(["", "/"])), "A path of \"try\" must not be empty."),
        (with("paths", json!(["$uri", "@app"])), "there are no named locations"),
        (with("paths", json!(["$uri", "=200"])), "must be from 400 to 599"),
        (with("paths", json!(["$uri", "=x"])), "It is like \"=404\"."),
        (with("paths", json!(["=404", "$uri"])), "it must be its last element"),
        (with("paths", json!(["/%zz", "$uri"])), "followed by two hexadecimal digits"),
        (with("paths", json!(["$document_root", "$uri"])), "Unknown variable \"document_root\""),
        (with("root", json!("")), "The \"root\" must not be empty."),
        (with("root", json!("$arg_a/x")), "The \"root\" must not begin with what the client sends"),
        (with("root", json!("`/x`")), "The \"root\" must not be JavaScript."),
        (with("index", json!([])), "The \"index\" array must contain at least one element."),
        (with("index", json!([""])), "The \"index\" string must not be empty."),
        (with("folder", json!("/x")), "Unknown parameter \"folder\"."),
        (json!({ "return": 200, "try": { "root": "/srv" } }), "Required parameter \"paths\" is missing."),
        (json!({ "return": 200, "root": "/srv" }), "\"try\": {\"root\": \"/srv/site\""),
        (json!({ "return": 200, "try_files": ["$uri"] }), "Unknown parameter \"try_files\"."),
    ] {
        refuse_step(&server, &json!({ "action": action }), detail);
    }
    let config = json!({
        "applications": { "py": { "type": "python", "path": "/srv", "module": "app" } },
        "routes": [{ "action": { "pass": "applications/py", "try": ["$uri"] } }],
    });
    let reply = server.control().put("/config", &config);
    let found = reply.expect_refused(400, "Invalid configuration.");
    assert!(found.contains("There is no folder"), "{found}");
}
