//! WordPress with MariaDB, both from Debian's packages: installed, written in, looked at, over HTTP.

use std::path::Path;

use corral_testkit::{
    Browser, Daemon, MariaDb, Part, Request, Response, Site, eventually, serve_recipe_with, site,
};
use serde_json::{Value, json};

/// 400 × 300 pixels: large enough for a thumbnail.
const PICTURE: &[u8] = include_bytes!("../fixtures/picture.png");

struct WordPress {
    _database: MariaDb,
    site: Site,
    server: Daemon,
}

fn wordpress() -> WordPress {
    let database = MariaDb::start();
    database.execute("CREATE DATABASE wordpress");
    let site = site()
        .copy_of(Path::new("/usr/share/wordpress"))
        .file("wp-config.php", configuration(&database))
        .writable_folder("wp-content/uploads");
    let server = serve_recipe_with("wordpress", "/srv/wordpress", &site, |config| {
        config["applications"]["blog"]["processes"] = json!(4);
    });
    WordPress { _database: database, site, server }
}

fn configuration(database: &MariaDb) -> String {
    format!(
        "<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'corral');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{}');
define('DB_CHARSET', 'utf8mb4');
define('AUTH_KEY', 'one'); define('SECURE_AUTH_KEY', 'two'); define('LOGGED_IN_KEY', 'three'); define('NONCE_KEY', 'four');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {{ define('ABSPATH', __DIR__ . '/'); }}
require ABSPATH . 'wp-settings.php';
",
        database.socket().display()
    )
}

#[test]
fn it_is_installed_written_in_and_read() {
    let wordpress = wordpress();
    let mut owner = Browser::new(wordpress.server.address().socket());
    install(&mut owner);
    log_in(&mut owner);
    let dashboard = owner.open("/wp-admin/").expect(200).expect_text("Dashboard");
    assert!(dashboard.text().contains("Corral Gazette"), "{dashboard}");

    set_permalinks(&mut owner, "/%postname%/");
    let picture = upload_picture(&mut owner);
    write_post(&mut owner, &picture);

    let mut reader = Browser::new(wordpress.server.address().socket());
    let page =
        reader.open("/greetings-from-the-corral/").expect(200).expect_text("It runs behind one daemon.");
    assert!(page.text().contains(&picture), "the picture is in the page\n{page}");
    let shown = reader.open(&picture).expect(200).expect_field("Content-Type", "image/png");
    assert!(shown.body == PICTURE);
    reader.open("/").expect(200).expect_text("Greetings from the corral");
    reader.open("/feed/").expect(200).expect_text("<rss");
    reader.open("/no-such-page/").expect(404);
    reader.open("/wp-includes/css/dashicons.min.css").expect(200).expect_field("Content-Type", "text/css");
    comment(&mut reader);
}

/// Does what it is asked for later, without a visitor to begin it.
const LATER: &str = "<?php
define('DISABLE_WP_CRON', true);
add_action('note', fn ($job) => file_put_contents(ABSPATH . 'out/journal', \"$job\\n\", FILE_APPEND));
if (isset($_GET['later'])) { add_action('init', fn () => wp_schedule_single_event(time(), 'note', [$_GET['later']])); }
";

/// Options: applications.{N}.schedule
#[test]
fn its_cron_is_run_by_a_schedule() {
    let wordpress = wordpress();
    // Before it begins its cron by itself, which holds up every other one for a minute.
    wordpress.site.write("wp-content/mu-plugins/later.php", LATER);
    install(&mut Browser::new(wordpress.server.address().socket()));
    let site = site().writable_folder("out");
    std::os::unix::fs::symlink(site.path("out"), wordpress.site.path("out")).expect("link a folder");
    let mut reader = Browser::new(wordpress.server.address().socket());
    reader.open("/?later=one").expect(200);
    let cron = json!({
        "type": "process", "command": "php wp-cron.php", "working_directory": wordpress.site.root(),
        "schedule": "@every 1s", "with": "blog",
    });
    wordpress.server.control().put("/config/applications/cron", &cron).expect_done();
    let written = || std::fs::read_to_string(site.path("out/journal")).unwrap_or_default();
    eventually("the job is done", || (written() == "one\n").then_some(()));
    reader.open("/?later=two").expect(200);
    eventually("the next one is done, too", || (written() == "one\ntwo\n").then_some(()));
    let runs = wordpress.server.control().get("/status/applications/cron/schedule/runs").json();
    assert_eq!(runs["failed"], 0, "{}", wordpress.server.log());
}

/// An experiment, as PHP's manual page tells: its pages come from memory, and everything with a script of its own does
/// not.
#[test]
fn its_pages_can_be_made_from_memory() {
    let wordpress = wordpress();
    let (server, address) = (&wordpress.server, wordpress.server.address().socket());
    let mut owner = Browser::new(address);
    install(&mut owner);
    log_in(&mut owner);
    set_permalinks(&mut owner, "/%postname%/");
    let picture = upload_picture(&mut owner);
    write_post(&mut owner, &picture);
    wordpress.site.write("worker.php", include_bytes!("../fixtures/wordpress-worker.php"));
    let front = json!({ "root": wordpress.site.path(""), "worker": { "script": "worker.php" } });
    server.control().put("/config/applications/blog/targets/front", &front).expect_done();
    server.control().put("/config/applications/blog/processes", &json!(4)).expect_done();
    let mut reader = Browser::new(address);
    for _ in 0..3 {
        reader.open("/").expect(200).expect_text("Greetings from the corral");
        let page = reader.open("/greetings-from-the-corral/").expect(200);
        page.expect_text("It runs behind one daemon.").expect_text("</html>");
        reader.open("/no-such-page/").expect(404);
        reader.open("/?s=greetings").expect(200).expect_text("Greetings from the corral");
        owner.open("/").expect(200).expect_text("wpadminbar");
        let page = reader.open("/greetings-from-the-corral/").expect(200);
        assert!(!page.text().contains("wpadminbar"), "nobody is somebody else\n{page}");
        owner.open("/wp-admin/").expect(200).expect_text("Dashboard");
    }
    comment(&mut reader);
    eventually("the processes that make pages stay", || {
        let figures = server.control().get("/status/applications/blog%2Ffront").json();
        (figures["processes"]["running"] == 4).then_some(())
    });
}

/// Holds requests that ask for it in the middle of WordPress, and notes those that were run to their end.
const HOLD: &str = "<?php
add_action('init', function () {
    if (!isset($_GET['hold'])) return;
    if ($_GET['hold'] === 'cron') ignore_user_abort(true);
    file_put_contents(ABSPATH . 'wp-content/uploads/begun-' . uniqid(), '');
    while (!file_exists(ABSPATH . 'wp-content/uploads/release')) { usleep(1000); clearstatcache(); }
    register_shutdown_function(function () {
        file_put_contents(ABSPATH . 'wp-content/uploads/ended-' . uniqid(), '');
    });
});
";

/// WordPress's own cron is a POST whose client leaves at once.
#[test]
fn clients_that_leave_while_it_works_cost_nobody_anything() {
    let wordpress = wordpress();
    let server = &wordpress.server;
    let mut owner = Browser::new(server.address().socket());
    install(&mut owner);
    wordpress.site.write("wp-content/mu-plugins/hold.php", HOLD);
    let uploads = wordpress.site.path("wp-content/uploads");
    let count = |kind: &str| {
        let files = std::fs::read_dir(&uploads).expect("read the folder").flatten();
        files.filter(|file| file.file_name().to_string_lossy().starts_with(kind)).count()
    };
    let cron = || Request::post("/wp-cron.php?doing_wp_cron=1&hold=cron").body("");
    let held: Vec<_> = [cron(), Request::get("/?hold=page"), cron(), Request::get("/?hold=page")]
        .iter()
        .map(|request| {
            let mut client = server.connect();
            client.write(request.encode());
            client
        })
        .collect();
    eventually("WordPress works", || (count("begun-") == 4).then_some(()));
    // All processes are busy: these wait, and leave while they do.
    let mut waiting = server.connect();
    waiting.write(cron().encode());
    expect_active(server, 5);
    drop((held, waiting));
    wordpress.site.write("wp-content/uploads/release", "");
    eventually("what was to be run was run", || (count("ended-") >= 3).then_some(()));
    expect_active(server, 0);
    for _ in 0..8 {
        owner.open("/").expect(200).expect_text("Corral Gazette").expect_text("</html>");
    }
    let figures = server.control().get("/status/applications/blog").json();
    assert_eq!(figures["processes"]["running"], 4, "{figures}\n{}", server.log());
}

#[track_caller]
fn expect_active(server: &Daemon, n: u64) {
    eventually("the requests have come and gone", || {
        let figures = server.control().get("/status/applications/blog").json();
        (figures["requests"]["active"] == n).then_some(())
    });
}

#[track_caller]
fn install(owner: &mut Browser) {
    owner.open("/").expect(200).expect_text("language");
    let fields = [
        ("weblog_title", "Corral Gazette"),
        ("user_name", "owner"),
        ("admin_password", "correct horse battery"),
        ("admin_password2", "correct horse battery"),
        ("admin_email", "owner@example.com"),
        ("blog_public", "0"),
        ("language", ""),
    ];
    owner.submit("/wp-admin/install.php?step=2", &fields).expect(200).expect_text("Success!");
}

#[track_caller]
fn log_in(owner: &mut Browser) {
    owner.open("/wp-login.php").expect(200).expect_text("user_login");
    let wrong = [("log", "owner"), ("pwd", "wrong"), ("testcookie", "1")];
    owner.submit("/wp-login.php", &wrong).expect(200).expect_text("incorrect");
    let right = [("log", "owner"), ("pwd", "correct horse battery"), ("testcookie", "1")];
    owner.submit("/wp-login.php", &right).expect(200).expect_text("Dashboard");
}

#[track_caller]
fn set_permalinks(owner: &mut Browser, structure: &str) {
    let page = owner.open("/wp-admin/options-permalink.php").expect(200);
    let nonce = page.between("name=\"_wpnonce\" value=\"", "\"");
    let fields = [("_wpnonce", nonce.as_str()), ("selection", "custom"), ("permalink_structure", structure)];
    owner.submit("/wp-admin/options-permalink.php", &fields).expect(200).expect_text("updated");
}

/// By the form without scripts; returns the picture's path on the server.
#[track_caller]
fn upload_picture(owner: &mut Browser) -> String {
    let page = owner.open("/wp-admin/media-new.php?browser-uploader").expect(200);
    let nonce = page.between("name=\"_wpnonce\" value=\"", "\"");
    let parts = [
        Part::Text("_wpnonce", &nonce),
        Part::Text("post_id", "0"),
        Part::Text("html-upload", "Upload"),
        Part::File {
            name: "async-upload",
            file_name: "corral.png",
            media_type: "image/png",
            content: PICTURE,
        },
    ];
    owner.upload("/wp-admin/media-new.php", &parts).expect(200);
    let media = rest(owner, Request::get("/wp-json/wp/v2/media")).expect(200).json();
    let url = media[0]["source_url"].as_str().unwrap_or_else(|| panic!("no picture in {media}")).to_owned();
    let path = url.splitn(4, '/').nth(3).expect("a URL has a path");
    format!("/{path}")
}

#[track_caller]
fn write_post(owner: &mut Browser, picture: &str) {
    let post = json!({
        "title": "Greetings from the corral",
        "content": format!("<p>It runs behind one daemon.</p><img src=\"{picture}\">"),
        "status": "publish",
    });
    let request = Request::post("/wp-json/wp/v2/posts")
        .field("Content-Type", "application/json")
        .body(post.to_string());
    let written: Value = rest(owner, request).expect(201).json();
    let link = written["link"].as_str().unwrap_or_default();
    assert!(link.ends_with("/greetings-from-the-corral/"), "{written}");
}

/// A request to the REST API, as the editor in the browser makes it.
#[track_caller]
fn rest(owner: &mut Browser, request: Request) -> Response {
    let nonce = owner.open("/wp-admin/admin-ajax.php?action=rest-nonce").expect(200).text();
    owner.send(request.field("X-WP-Nonce", &nonce))
}

#[track_caller]
fn comment(reader: &mut Browser) {
    let page = reader.open("/greetings-from-the-corral/").expect(200);
    let post = page.between("name='comment_post_ID' value='", "'");
    let fields = [
        ("comment_post_ID", post.as_str()),
        ("author", "Reader"),
        ("email", "reader@example.com"),
        ("comment", "Nice and quick."),
        ("comment_parent", "0"),
    ];
    reader.submit("/wp-comments-post.php", &fields).expect(200).expect_text("Nice and quick.");
}
