//! Roots with variables: a folder of scripts for each host.

use corral_testkit::{Daemon, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

fn serve(root: &str, target: &Value) -> (Daemon, Site) {
    let show = "<?php echo $_SERVER['DOCUMENT_ROOT'], ' ', $_SERVER['corral.root'] ?? '-';";
    let site = site()
        .file("outside.php", "outside")
        .file("hosts/a.example/public/index.php", show)
        .file("hosts/b.example/public/index.php", show)
        .file("hosts/b.example/public/only.php", "only b")
        .file("hosts/public/index.php", "of nobody");
    let mut app = php_app(&site).with("root", json!(format!("{}/{root}", site.root()))).value();
    app.as_object_mut().expect("an object").extend(target.as_object().expect("an object").clone());
    let routes = json!([{ "action": { "pass": "applications/app" } }]);
    (daemon().config(json!({ "applications": { "app": app }, "routes": routes })).start(), site)
}

/// Options: applications.{N}.root
#[test]
fn each_host_has_its_folder() {
    let (server, site) = serve("hosts/$host/public", &json!({}));
    let get = |host: &str, path: &str| server.send(&Request::get(path).field("Host", host));
    for _ in 0..2 {
        for host in ["a.example", "b.example"] {
            let root = format!("{}/hosts/{host}/public", site.root());
            get(host, "/").expect(200).expect_body(format!("{root} -"));
            get(&format!("{}:80", host.to_uppercase()), "/index.php")
                .expect(200)
                .expect_body(format!("{root} -"));
        }
        get("b.example", "/only.php").expect(200).expect_body("only b");
        get("a.example", "/only.php").expect(404);
        get("c.example", "/").expect(404);
    }
    // One that is made later is found.
    site.write("hosts/c.example/public/index.php", "c");
    get("c.example", "/").expect(200).expect_body("c");
}

/// Whatever a client says: no folder but one with this name, in this place.
#[test]
fn values_lead_nowhere_else() {
    let (server, _site) = serve("hosts/$arg_h/public", &json!({}));
    for value in [
        "",
        ".",
        "..",
        "../hosts/a.example",
        "a.example/..",
        "a.example/",
        "/a.example",
        "%00",
        "a.example%00",
        "%2e%2e",
        "b.example/public/../../a.example",
    ] {
        let encoded = value.replace('/', "%2F");
        server.get(&format!("/?h={encoded}")).expect(404);
        server.get(&format!("/index.php?h={value}")).expect(404);
    }
    server.get("/").expect(404);
    server.get("/?h=a.example").expect(200);
    server.get(&format!("/?h={}", "x".repeat(5000))).expect(404);
}

/// More hosts than are remembered.
#[test]
fn many_hosts_come_and_go() {
    let (server, site) = serve("hosts/$host/public", &json!({ "script": "index.php" }));
    let mut client = server.connect();
    for n in 0..600 {
        let host = format!("h{n}.example");
        if n < 300 {
            site.write(&format!("hosts/{host}/public/index.php"), &host);
        }
        let reply = client.send(&Request::get("/x").field("Host", &host));
        assert_eq!(reply.status, if n < 300 { 200 } else { 404 }, "{host}");
    }
    client.send(&Request::get("/").field("Host", "h0.example")).expect(200).expect_body("h0.example");
}

#[test]
fn roots_that_cannot_be_are_refused() {
    let server = daemon().start_unconfigured();
    let refuse = |app: Value, words: &str| {
        let config = server.with_listener(json!({ "applications": { "app": app } }));
        let detail = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(words), "{detail}");
    };
    refuse(json!({ "type": "php", "root": "$host/public" }), "must begin with a folder");
    refuse(json!({ "type": "php", "root": "/srv$uri" }), "must begin with a folder");
    refuse(json!({ "type": "php", "root": "`/srv/${host}`" }), "not JavaScript");
    refuse(json!({ "type": "php", "root": "/srv/$hots" }), "hots");
    refuse(
        json!({ "type": "php", "root": "/srv/$host", "worker": { "script": "a.php" } }),
        "beside a \"worker\"",
    );
    refuse(json!({ "type": "cgi", "root": "/srv/$host" }), "must not hold variables");
}
