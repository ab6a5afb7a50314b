//! The command line: `corral run` and its friends, and how they fail.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::Duration;

use corral_testkit::{Address, Client, PATIENCE, Run, Site, component, daemon, php_app, site, within};
use serde_json::json;

/// Starts `corral run` on a site and waits until it serves.
fn serve(site: &Site, more: &[&str]) -> (Run, Client) {
    serve_within(PATIENCE, site, more)
}

/// The same for what has to be compiled first.
fn serve_within(patience: Duration, site: &Site, more: &[&str]) -> (Run, Client) {
    let address = Address::fresh();
    let (root, listen) = (site.root(), address.to_string());
    let arguments = [&["run", &root, "--listen", &listen], more].concat();
    let mut run = Run::start(&arguments);
    // What it waits for in vain is told by what follows.
    let _ = within(patience, || run.stdout().contains(&listen).then_some(()));
    run.expect_output(&listen);
    let client =
        corral_testkit::eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    (run, client)
}

#[test]
fn plain_scripts_are_served_as_they_lie() {
    let site = site()
        .file("page.php", "<?php echo 'page';")
        .file("a/index.php", "<?php echo 'index';")
        .file("a/page.php", "<?php echo $_SERVER['PATH_INFO'] ?? 'none';")
        .file("style.css", "a{}")
        .file(".env", "SECRET=1")
        .file(".git/config", "secret");
    let (run, mut client) = serve(&site, &[]);
    client.get("/page.php").expect(200).expect_body("page");
    client.get("/a/").expect(200).expect_body("index");
    client.get("/a/page.php/info").expect(200).expect_body("/info");
    client.get("/style.css").expect(200).expect_field("Content-Type", "text/css");
    client.get("/nope").expect(404);
    for hidden in ["/.env", "/.git/config"] {
        let response = client.get(hidden);
        assert!(matches!(response.status, 403 | 404), "{hidden}\n{response}");
    }
    assert!(run.interrupt().status.success());
}

#[test]
fn a_front_controller_in_public_is_found() {
    let site = site()
        .file("public/index.php", "<?php echo 'front ', $_SERVER['REQUEST_URI'];")
        .file("public/app.js", "1")
        .file("secret.php", "<?php echo 'secret';");
    let (mut run, mut client) = serve(&site, &[]);
    run.expect_output("front controller");
    client.get("/").expect(200).expect_body("front /");
    client.get("/posts/1?x=2").expect(200).expect_body("front /posts/1?x=2");
    client.get("/app.js").expect(200).expect_body("1");
    client.get("/secret.php").expect(200).expect_body("front /secret.php");
    client.get("/../secret.php").expect(400);
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
    corral_testkit::eventually("it serves", || get().filter(|status| *status == 201));
    site.write("site.yaml", answers(202));
    corral_testkit::eventually("it follows the file", || get().filter(|status| *status == 202));
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

#[test]
fn workers_and_php_settings_can_be_given() {
    let site = site().file("index.php", "<?php echo ini_get('memory_limit');");
    let (run, mut client) = serve(&site, &["--workers", "3", "--php-ini", "memory_limit=99M"]);
    client.get("/").expect(200).expect_body("99M");
    let workers = || run.processes().iter().filter(|process| process.name.ends_with("worker")).count();
    corral_testkit::eventually("three workers", || (workers() == 3).then_some(()));
}

#[test]
fn a_program_with_a_start_script_is_served() {
    let server = include_str!("../fixtures/programs/server.js");
    let package = r#"{"scripts": {"start": "node server.js"}}"#;
    let site = site().file("server.js", server).file("package.json", package);
    let (mut run, mut client) = serve(&site, &["--workers", "2"]);
    run.expect_output("started by \"node server.js\"");
    assert!(client.get("/").expect(200).text().starts_with("hello from "));
    let environment = client.get("/environment").expect(200).json();
    let path = environment["PATH"].as_str().expect("it has one");
    assert!(
        path.starts_with(&format!("{}/node_modules/.bin:", site.path("").canonicalize().unwrap().display())),
        "{path}"
    );
    assert!(run.interrupt().status.success());
}

/// It is compiled, gets the socket that its package wants, and leaves nothing in the folder.
#[test]
fn a_go_program_is_served() {
    let page = include_str!("../../../../docs/src/configuration/go.md");
    let code = page.split("```go\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let list =
        "module app\n\ngo 1.21\n\nrequire unit.nginx.org/go v0.0.0\n\nreplace unit.nginx.org/go => ./unit\n";
    let mut site = site().file("app.go", code).file("go.mod", list);
    // Where any user may read it.
    for name in ["go.mod", "body.go", "client.go", "response.go", "unit.go"] {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/go");
        let text = std::fs::read(package.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        site = site.file(&format!("unit/{name}"), text);
    }
    let (mut run, mut client) = serve_within(Duration::from_secs(240), &site, &["--workers", "1"]);
    run.expect_output("Go program in ");
    client.get("/").expect(200).expect_body("hello from unit.nginx.org/go\n");
    assert!(run.interrupt().status.success());
    assert_eq!(std::fs::read_dir(site.path("")).expect("the site is there").count(), 3);
}

#[test]
fn a_java_web_application_is_served() {
    let site = site().file("WEB-INF/web.xml", "<web-app/>").file("index.jsp", "<%= 6 * 7 %>");
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("Java web application ");
    run.expect_output("Java on Tomcat 9.");
    client.get("/").expect(200).expect_body("42");
    client.get("/WEB-INF/web.xml").expect(404);
    assert!(run.interrupt().status.success());
}

/// Without them being given away as text.
#[test]
fn pages_of_java_alone_are_served() {
    let site = site().file("index.jsp", "<%= 6 * 7 %>");
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("Java web application ");
    client.get("/").expect(200).expect_body("42");
    client.get("/index.jsp").expect(200).expect_body("42");
    assert!(run.interrupt().status.success());
}

#[test]
fn a_component_is_served() {
    let content = std::fs::read(component("older")).expect("the component");
    let site = site().file("app.wasm", content);
    let (mut run, mut client) = serve(&site, &["--workers", "2"]);
    run.expect_output("app.wasm; WebAssembly 0.2, 2 workers");
    client.get("/").expect(200).expect_body("Hello from WASI 0.2.0\n");
    assert!(run.interrupt().status.success());
}

#[test]
fn requests_are_shown_without_colours_where_there_is_no_terminal() {
    let site = site().file("index.php", "<?php echo 'x';");
    let (mut run, mut client) = serve(&site, &[]);
    client.get("/some/page?x=1");
    run.expect_output("/some/page");
    assert!(!run.stdout().contains('\x1b'), "{:?}", run.stdout());
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    let site = site().file("index.php", "<?php echo 'x';");
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200);
    assert!(run.interrupt().status.success());
    let left = std::fs::read_dir(site.path("")).expect("the site is there").count();
    assert_eq!(left, 1, "nothing is written into the site");
}

/// Whoever owns the folder of the control socket can put another one in its place.
#[test]
fn root_s_control_socket_is_out_of_the_owner_s_reach() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let take = "$folder = dirname($_GET['socket']); echo json_encode([posix_geteuid(), @rename($_GET['socket'], \
                $folder . '/other'), @touch($folder . '/new'), @touch($folder . '/tmp/new')]);";
    for (owner, user) in [(4001, 4001), (0, 65534)] {
        let site = site().file("take.php", format!("<?php {take}")).file("style.css", "a{}");
        chown(site.root(), Some(owner), Some(owner)).expect("root may do that");
        let (run, mut client) = serve(&site, &[]);
        let stdout = run.stdout();
        let socket =
            stdout.lines().find_map(|line| line.strip_prefix("control socket: unix:")).expect("it is said");
        let reply = client.get(&format!("/take.php?socket={socket}")).expect(200);
        reply.expect_body(format!("[{user},false,false,false]"));
        client.get("/style.css").expect(200);
        let folder = Path::new(socket).parent().expect("it has one").metadata().expect("it is there");
        assert_eq!((folder.uid(), folder.mode() & 0o022), (0, 0));
        let router = run.processes().into_iter().find(|process| process.name == "router").expect("it runs");
        assert!(router.uid != 0 && router.uid != user, "{router:?}");
        assert!(run.interrupt().status.success());
    }
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let good = site().file("index.php", "<?php");
    Run::to_end(&["run", "/nonexistent/site"]).expect_one_line(&["/nonexistent/site"]);
    Run::to_end(&["run", &good.root(), "--listen", &address]).expect_one_line(&[&address, "in use"]);
    Run::to_end(&["run", &good.root(), "--listen", "nonsense"]).expect_one_line(&["nonsense"]);
}

#[test]
fn version_and_help() {
    let version = Run::to_end(&["--version"]).expect_success();
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version:?}");
    let help = Run::to_end(&["--help"]).expect_success();
    for command in ["run", "daemon", "config", "check", "status"] {
        assert!(help.stdout.contains(command), "{help:?}");
    }
}

#[test]
fn a_file_is_checked_without_a_server() {
    let files = site()
        .file("good.json", json!({ "listeners": { "*:80": { "pass": "routes" } }, "routes": [{ "action": { "return": 200 } }] }).to_string())
        .file("bad.json", json!({ "listeners": { "*:80": { "pass": "routes/nope" } }, "rutes": [] }).to_string())
        .file("broken.json", "{\n  \"a\": }");
    let check = |name: &str| Run::to_end(&["check", files.path(name).to_str().expect("text")]);
    check("good.json").expect_success();
    let bad = check("bad.json");
    assert!(!bad.status.success(), "{bad:?}");
    let said = bad.stdout.clone() + &bad.stderr;
    assert!(said.contains("rutes") && said.contains("routes/nope"), "all mistakes at once: {bad:?}");
    let broken = check("broken.json");
    assert!(!broken.status.success() && (broken.stdout + &broken.stderr).contains('2'), "the line");
    check("missing.json").expect_one_line(&["missing.json"]);
}

#[test]
fn config_and_status_of_a_running_daemon() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().application(php_app(&site)).start();
    let control = format!("unix:{}", server.control_socket().display());
    let corral = |arguments: &[&str]| Run::to_end(&[arguments, &["--control", &control]].concat());
    let found = corral(&["config", "get", "/applications/php/type"]).expect_success();
    assert_eq!(found.stdout.trim(), "\"php\"");
    let file = site.path("pass.json");
    std::fs::write(&file, "{ \"http\": { \"idle_timeout\": 77 } }").expect("write the file");
    corral(&["config", "set", "/settings", file.to_str().expect("text")]).expect_success();
    let found = corral(&["config", "get", "/settings/http/idle_timeout"]).expect_success();
    assert_eq!(found.stdout.trim(), "77");
    corral(&["config", "delete", "/settings"]).expect_success();
    let missing = corral(&["config", "get", "/settings"]);
    assert!(!missing.status.success(), "{missing:?}");
    let status = corral(&["status"]).expect_success();
    assert!(status.stdout.contains("php"), "{status:?}");
    let elsewhere = Run::to_end(&["status", "--control", "unix:/nonexistent/control.sock"]);
    elsewhere.expect_one_line(&["/nonexistent/control.sock"]);
}

#[test]
fn called_unitd_it_is_the_daemon() {
    let folder = site();
    let link = folder.path("unitd");
    std::os::unix::fs::symlink(&corral_testkit::executables().corral, &link).expect("make the link");
    let output = std::process::Command::new(&link).arg("--version").output().expect("it runs");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.to_lowercase().contains("version"), "{said}");
    let output = std::process::Command::new(&link).arg("--nonsense").output().expect("it runs");
    assert!(!output.status.success());
}
