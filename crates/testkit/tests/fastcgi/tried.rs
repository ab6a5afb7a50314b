//! `try` in front of a pool of php-fpm, beside `try_files` of nginx in front of the same pool.

use std::fs;

use corral_testkit::{Client, PhpFpm, Reference, Request, Response, Site, daemon, eventually, site};
use serde_json::{Value, json};

use crate::{STATIC, serve};

const WHICH: &str = "<?php echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '', ' ', \
    $_SERVER['QUERY_STRING'], ' ', $_SERVER['REQUEST_URI'], ' ', basename($_SERVER['SCRIPT_FILENAME']);";

fn files() -> Site {
    site()
        .file("index.php", WHICH)
        .file("other.php", WHICH)
        .file("sub/index.php", WHICH)
        .file("sub/a.css", "css of sub")
        .file("docs/index.html", "docs")
        .file("style.css", "css")
        .file("page.html", "page")
        .file("100%.txt", "percent")
        .file("a b.txt", "blank")
}

/// nginx in front of a pool, and the folder that it has for itself.
fn nginx(site: &Site, fpm: &PhpFpm) -> Reference {
    let folder = site.path("reference");
    fs::create_dir(&folder).expect("make a folder");
    let server = format!(
        "index index.php index.html;\n\
         rewrite ^/article-(\\d+)$ /other.php?id=$1 last; rewrite ^/old/(.*)$ /sub/$1 last;\n\
         rewrite ^/dropped/(.*)$ /other.php?p=$1? last;\n\
         location / {{ try_files $uri $uri/ /index.php$is_args$args; }}\n\
         location ~ \\.php(/|$) {{ fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n\
         include /etc/nginx/fastcgi.conf; fastcgi_param PATH_INFO $fastcgi_path_info;\n\
         fastcgi_pass {fpm}; }}",
        fpm = fpm.address(),
    );
    Reference::nginx(&folder, &site.root(), "", &server)
}

/// The parts of a reply that both servers have to agree on.
fn told(reply: &Response) -> (u16, String, Option<String>) {
    let body = if reply.status == 200 { reply.text() } else { String::new() };
    (reply.status, body, reply.field("Location").map(str::to_owned))
}

#[test]
fn each_path_gets_what_it_gets_from_nginx() {
    let (site, fpm) = (files(), PhpFpm::at_socket(STATIC));
    let server = serve(&fpm, &site, json!({ "try": ["$uri", "$uri/", "/index.php"] }));
    let nginx = nginx(&site, &fpm);
    let mut theirs = eventually("nginx listens", || Client::try_connect(nginx.address().socket()).ok());
    let mut ours = server.connect();
    for target in [
        "/",
        "/?a=b",
        "/?",
        "/style.css",
        "/style.css?q",
        "/page.html",
        "/100%25.txt",
        "/a%20b.txt",
        "/sub",
        "/sub?q=1&r",
        "/sub/",
        "/sub/?q=1",
        "/sub/a.css",
        "/docs",
        "/docs/",
        "/index.php",
        "/index.php?x=%26",
        "/index.php/a/b?c=d",
        "/index.php/",
        "/other.php?x",
        "/sub/index.php/x",
        "/none",
        "/none?q=1",
        "/none/",
        "/none/x?q=%20",
        "/a%26b?c=%26",
        "//style.css",
        "/x/../other.php",
        "/sub//a.css",
        "/sub/../page.html",
    ] {
        let expected = told(&theirs.get(target));
        assert_eq!(told(&ours.get(target)), expected, "{target}");
    }
    for target in ["/style.css", "/other.php?x", "/none?q=1"] {
        let request = Request::post(target).body("x");
        let expected = told(&theirs.send(&request));
        assert_eq!(told(&ours.send(&request)), expected, "POST {target}");
    }
}

/// Groups of an expression, with the query behind them and without it.
#[test]
fn rewrites_lead_where_those_of_nginx_lead() {
    let (site, fpm) = (files(), PhpFpm::at_socket(STATIC));
    let action = |options: Value| {
        let mut action = options;
        action["fastcgi"] = json!(fpm.address());
        action["root"] = json!(site.root());
        action["try"] = json!(["$uri", "$uri/", "/index.php$is_args$args"]);
        action
    };
    let step = |uri: &str, rewrite: &str| {
        let action = action(json!({ "rewrite": rewrite }));
        json!({ "match": { "uri": uri }, "action": action })
    };
    let routes = json!([
        step("~^/article-(\\d+)$", "/other.php?id=$1"),
        step("~^/old/(.*)$", "/sub/$1"),
        step("~^/dropped/(?<rest>.*)$", "/other.php?p=$rest?"),
        { "action": action(json!({})) }
    ]);
    let server = daemon().routes(routes).start();
    let nginx = nginx(&site, &fpm);
    let mut theirs = eventually("nginx listens", || Client::try_connect(nginx.address().socket()).ok());
    let mut ours = server.connect();
    for target in [
        "/article-7",
        "/article-7?x=y",
        "/article-x?x=y",
        "/old/a.css",
        "/old/",
        "/old/?q",
        "/old/none?q",
        "/dropped/a?b=c",
        "/dropped/%26%20x",
        "/dropped/",
        "/none?q=1",
    ] {
        let expected = told(&theirs.get(target));
        assert_eq!(told(&ours.get(target)), expected, "{target}");
    }
}

/// Where the two differ: what nginx answers with an error is left to the front controller.
#[test]
fn what_is_not_there_is_the_front_controller_s() {
    let (site, fpm) = (files(), PhpFpm::at_socket(STATIC));
    fs::create_dir(site.path("empty")).expect("make a folder");
    site.write(".env", "SECRET");
    let server = serve(&fpm, &site, json!({ "try": ["$uri", "$uri/", "/index.php"] }));
    for target in ["/none.php", "/none.php/x", "/empty/", "/empty", "/.env", "/style.css/x.php"] {
        let expected = format!("/index.php   {target} index.php");
        server.get(target).expect(200).expect_body(expected);
    }
}

/// A server without names of scripts runs what is there.
#[test]
fn names_of_scripts_are_those_of_the_action() {
    let (site, fpm) =
        (files(), PhpFpm::at_socket(&format!("{STATIC}\nsecurity.limit_extensions = .php .html")));
    site.write("page.html", WHICH);
    let options = json!({ "split_path": [".html"], "index": "page.html", "try": ["$uri", "$uri/", "=404"] });
    let server = serve(&fpm, &site, options);
    server.get("/page.html/x").expect(200).expect_body("/page.html /x  /page.html/x page.html");
    server.get("/").expect(200).expect_body("/page.html   / page.html");
    server.get("/style.css").expect(200).expect_body("css");
    // The script is not run there, and its source is not sent either.
    server.get("/other.php").expect(404);
}
