//! The recipes in `examples/`: each configuration is valid, and serves what the `requests.txt` beside it expects.
//!
//! `srv` holds a small application in the folders of the real one. A line of `requests.txt` is a request, the status of
//! its reply, and a text that its head or body holds. With a URL for its target, the request goes to that host.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use corral_testkit::{
    Address, Authority, Client, Daemon, Origin, PhpFpm, Request, Run, Site, TlsClient, WebSocket, build_go,
    daemon, examples, recipe, serve_recipe, serve_recipe_with, site,
};
use serde_json::{Value, json};

const PHP: &[&str] = &[
    "drupal",
    "laravel-octane",
    "magento",
    "mediawiki",
    "moodle",
    "nextcloud",
    "phpbb",
    "woocommerce",
    "wordpress",
    "wordpress-multisite",
];

const PYTHON: &[&str] = &["django", "fastapi", "flask", "jupyter", "several-sites", "streamlit"];

const NODE: &[&str] = &["astro", "nuxt", "sveltekit"];

const OTHERS: &[&str] = &["acme", "go", "sinatra", "spa", "spring-boot", "static-site"];

/// Served with what stands beside or before them, by tests below.
const WITH_OTHERS: &[&str] = &["php-fpm", "proxy-tls", "tcp-udp"];

/// Served as whole applications from packages, by tests of their own.
const WHOLE: &[&str] = &[
    "django-celery",
    "express",
    "laravel",
    "laravel-queue",
    "nextjs",
    "rails",
    "rails-sidekiq",
    "symfony",
    "symfony-messenger",
];

/// Checks the configuration as it is, and sends the requests that stand beside it.
#[track_caller]
fn try_recipe(name: &str) {
    let srv = files_of(name);
    build(&srv);
    let server = serve_recipe(name, "/srv", &srv);
    try_requests(name, &server, || server.connect());
}

/// Checks a configuration as it is, and makes the folder that it serves.
#[track_caller]
fn files_of(name: &str) -> Site {
    let folder = examples().join(name);
    Run::to_end(&["check", folder.join("corral.json").to_str().expect("text")]).expect_success();
    site().copy_parts_of(&folder.join("srv"), &[""])
}

#[track_caller]
fn try_requests(name: &str, server: &Daemon, connect: impl Fn() -> Client) {
    let requests = fs::read_to_string(examples().join(name).join("requests.txt"));
    let requests = requests.expect("a recipe has requests");
    let lines = requests.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let n_requests = lines.map(|line| try_request(name, server, connect(), line)).count();
    assert!(n_requests > 1, "{name} has {n_requests} requests");
}

/// Compiles what has to be compiled.
fn build(srv: &Site) {
    if srv.path("go/main.go").exists() {
        build_go(&srv.path("go"), ".", &srv.path("go/server"));
    }
    if srv.path("shop/Shop.java").exists() {
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).current_dir(srv.path("shop")).status();
            assert!(done.expect("a JDK is installed: scripts/setup test").success(), "{program}");
        };
        run("javac", &["Shop.java"]);
        run("jar", &["--create", "--file", "shop.jar", "--main-class", "Shop", "Shop.class"]);
    }
}

#[track_caller]
fn try_request(name: &str, server: &Daemon, mut client: Client, line: &str) {
    let mut columns = line.splitn(3, '|').map(str::trim);
    let mut column = || columns.next().unwrap_or_else(|| panic!("{name}: a column is missing: {line}"));
    let (request, status, text) = (column(), column(), column());
    let (method, target) = request.split_once(' ').expect("a method and a target");
    let (host, target) = match target.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
        Some((host, path)) => (host, format!("/{path}")),
        None => ("localhost", target.to_owned()),
    };
    if method == "WEBSOCKET" {
        let mut socket = WebSocket::open(client, &WebSocket::request(&target));
        socket.send_text(text);
        socket.expect_text(text);
        return;
    }
    let reply = client.send(&Request::new(method, &target).field("Host", host));
    let is_expected = reply.status.to_string() == status && reply.to_string().contains(text);
    assert!(is_expected, "{name}: {line}\n{reply}\n{}", server.log());
}

#[test]
fn recipes_of_php_serve_what_they_promise() {
    PHP.iter().for_each(|name| try_recipe(name));
}

#[test]
fn recipes_of_python_serve_what_they_promise() {
    PYTHON.iter().for_each(|name| try_recipe(name));
}

#[test]
fn recipes_of_node_serve_what_they_promise() {
    NODE.iter().for_each(|name| try_recipe(name));
}

#[test]
fn other_recipes_serve_what_they_promise() {
    OTHERS.iter().for_each(|name| try_recipe(name));
}

#[test]
fn a_pool_of_php_fpm_stays_where_it_is() {
    let (srv, fpm) = (files_of("php-fpm"), PhpFpm::at_socket("pm = static\npm.max_children = 2"));
    let server = serve_recipe_with("php-fpm", "/srv", &srv, |config| {
        config["routes"][0]["action"]["fastcgi"] = json!(fpm.address());
    });
    try_requests("php-fpm", &server, || server.connect());
}

#[test]
fn a_proxy_ends_tls() {
    let (srv, origin, authority) = (files_of("proxy-tls"), Origin::echo(), Authority::new("recipes"));
    let server = daemon().start_unconfigured();
    let bundle = authority.server("localhost", &["localhost"]).pem();
    server.control().send(&Request::new("PUT", "/certificates/site").body(bundle)).0.expect(200);
    let mut config = recipe("proxy-tls", "/srv", &srv);
    config["routes"][1]["action"]["proxy"] = json!(origin.url());
    config["listeners"] = json!({ server.address().to_string(): config["listeners"]["*:443"] });
    server.control().put("/config", &config).expect_done();
    let tls = TlsClient::new(&authority);
    try_requests("proxy-tls", &server, || Client::connect_tls(server.address().socket(), &tls, "localhost"));
}

/// The listeners are at addresses of the test, in front of a server that answers all of them.
#[test]
fn connections_are_passed_on() {
    let file = examples().join("tcp-udp/corral.json");
    Run::to_end(&["check", file.to_str().expect("text")]).expect_success();
    let mut config: Value =
        serde_json::from_str(&fs::read_to_string(file).expect("it is a recipe")).expect("it is JSON");
    let origin = Origin::saying("here");
    let server = daemon().start_unconfigured();
    let (places, mut listeners) = (config["listeners"].take(), serde_json::Map::new());
    let addresses = ["*:5432", "127.0.0.1:6379", "*:53"].map(|name| (name, Address::fresh()));
    for (name, address) in addresses {
        listeners.insert(address.to_string(), places[name].clone());
    }
    let [.., (_, last)] = addresses;
    listeners.insert(format!("{last}/udp"), places["*:53/udp"].clone());
    config["listeners"] = json!(listeners);
    for name in ["postgres", "redis", "dns"] {
        config["upstreams"][name]["servers"] = json!({ origin.address(): {} });
    }
    config["access_log"] = json!(server.path("access.log"));
    server.control().put("/config", &config).expect_done();
    for (_, address) in addresses {
        Client::connect(address.socket()).get("/").expect(200).expect_body("here");
    }
}

/// A recipe that no test serves is a guess.
#[test]
fn each_recipe_has_a_test() {
    let entries = fs::read_dir(examples()).expect("there are examples");
    let folders = entries.map(|entry| entry.expect("read the folder").path());
    let found: BTreeSet<_> = folders
        .filter(|folder| folder.join("corral.json").exists())
        .map(|folder| folder.file_name().expect("it has a name").to_string_lossy().into_owned())
        .collect();
    let tested: BTreeSet<_> =
        [PHP, PYTHON, NODE, OTHERS, WITH_OTHERS, WHOLE].concat().into_iter().map(str::to_owned).collect();
    assert_eq!(found, tested);
}
