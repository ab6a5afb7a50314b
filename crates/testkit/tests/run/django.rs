//! Projects of Django as `django-admin` makes them.

use std::process::Command;

use corral_testkit::{Run, Site, site};

use crate::serve;

/// A new project, as the tutorial begins.
#[track_caller]
fn project() -> Site {
    let site = site().writable_folder("data");
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-m", "django", "startproject", "shop", "."]).current_dir(site.path(""));
    let output = python.output().expect("Python is installed");
    assert!(output.status.success(), "scripts/setup test; {output:?}");
    site
}

#[test]
fn the_administration_has_its_style_sheets() {
    let site = project();
    let (run, mut client) = serve(&site, &["--workers", "1"]);
    assert!(run.stdout().starts_with("Django in "), "{}", run.stdout());
    client.get("/admin/login/").expect(200).expect_text("/static/admin/css/base.css");
    let style = client.get("/static/admin/css/base.css").expect(200);
    style.expect_field("Content-Type", "text/css").expect_text("DJANGO Admin");
    client.get("/static/admin/__init__.py").expect(404);
    client.get("/static/admin/css/none.css").expect(404);
    assert!(run.interrupt().status.success());
}

/// Other paths and folders than the usual ones, as the project's settings say.
#[test]
fn static_files_are_where_the_settings_say() {
    let site = project();
    let settings = std::fs::read_to_string(site.path("shop/settings.py")).expect("it was made");
    let more =
        "\nSTATIC_URL = '/assets/'\nSTATICFILES_DIRS = [BASE_DIR / 'front$end', ('lib', BASE_DIR / 'js')]\n";
    site.write("shop/settings.py", settings + more);
    site.write("front$end/a.css", "body {}");
    site.write("front$end/a b/ü.txt", "name");
    site.write("js/lib.js", "1");
    site.write("js/secret.py", "secret");
    let (_run, mut client) = serve(&site, &["--workers", "1"]);
    client.get("/assets/a.css").expect(200).expect_body("body {}");
    client.get("/assets/a%20b/%C3%BC.txt").expect(200).expect_body("name");
    client.get("/assets/lib/lib.js").expect(200).expect_body("1");
    client.get("/assets/admin/css/base.css").expect(200).expect_text("DJANGO Admin");
    client.get("/assets/lib/secret.py").expect(404);
    client.get("/static/admin/css/base.css").expect(404);
}

/// A project that cannot be asked for its settings gives its own error.
#[test]
fn a_project_that_cannot_be_loaded_says_why() {
    let site = project();
    site.write("shop/settings.py", "import nothing_of_that_name\n");
    let address = corral_testkit::Address::fresh().to_string();
    let outcome = Run::to_end(&["run", &site.root(), "--listen", &address]);
    assert!(!outcome.status.success(), "{outcome:#?}");
    assert!(outcome.stderr.contains("No module named 'nothing_of_that_name'"), "{outcome:#?}");
}
