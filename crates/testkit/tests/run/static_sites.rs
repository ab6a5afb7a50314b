//! Folders of files as hosts of static sites serve them: pages without an extension, `404.html`, and applications in
//! the browser.

use corral_testkit::{Request, Run, site};

use crate::serve;

#[test]
fn a_page_of_the_folder_stands_for_what_is_not_there() {
    let site = site()
        .file("index.html", "page")
        .file("404.html", "own 404")
        .file("about.html", "about")
        .file("docs/index.html", "docs")
        .file("tool.py", "secret");
    let (run, mut client) = serve(&site, &[]);
    for path in
        ["/none", "/none/", "/docs/none", "/tool.py", "/.env", "/none.html", "/about/", "/about.html.html"]
    {
        client.get(path).expect(404).expect_body("own 404").expect_field("Content-Type", "text/html");
    }
    for (path, page) in [("/", "page"), ("/about", "about"), ("/about.html", "about"), ("/docs/", "docs")] {
        client.get(path).expect(200).expect_body(page);
    }
    client.send(&Request::new("HEAD", "/none")).expect(404).expect_body("");
    // It is a page like others, and no error is.
    client.get("/404.html").expect(200).expect_body("own 404");
    assert!(run.interrupt().status.success());
    // With --static, files are as they are.
    let (_run, mut client) = serve(&site, &["--static"]);
    client.get("/about").expect(404);
    assert_ne!(client.get("/none").expect(404).text(), "own 404");
}

/// A name that is denied is denied with and without its extension.
#[test]
fn what_is_denied_by_its_name_has_no_other_name() {
    let denied = "<Files \"install.html\">\nRequire all denied\n</Files>\n";
    let site = site().file("index.html", "page").file("install.html", "secret").file(".htaccess", denied);
    let (_run, mut client) = serve(&site, &[]);
    client.get("/install.html").expect(403);
    client.get("/install").expect(404);
}

#[test]
fn an_application_in_the_browser_answers_for_its_paths() {
    let site = site().file("index.html", "app").file("assets/a.js", "1").file("tool.py", "secret");
    for more in [&["--spa"][..], &["--spa", "--static"]] {
        let (_run, mut client) = serve(&site, more);
        for path in ["/", "/users/1", "/users/", "/a.b/c"] {
            client.get(path).expect(200).expect_body("app");
        }
        client.get("/assets/a.js").expect(200).expect_body("1");
        for path in ["/assets/old.js", "/favicon.ico", "/.env"] {
            client.get(path).expect(404);
        }
        client.send(&Request::new("POST", "/users/1")).expect(405);
    }
}

#[test]
fn an_application_of_a_server_has_no_use_for_it() {
    let python = site().file("app.py", "app = 1\n").file("index.html", "x");
    Run::to_end(&["run", &python.root(), "--spa"])
        .expect_one_line(&["--spa is for a folder of files", "dist"]);
    let empty = site().file("a.css", "x");
    Run::to_end(&["run", &empty.root(), "--spa"])
        .expect_one_line(&["--spa is for a folder of files", "index.html"]);
}
