//! Applications that are described requests as CGI does: programs of FastCGI, and scripts of CGI.

mod c;
mod isolation;
mod life;
mod perl;
mod php;
mod scripts;
mod spawned;
mod start;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Builder, Daemon, Site, daemon};
use serde_json::{Value, json};

/// A daemon in the making with the application `app`.
fn with_app(app: &Value) -> Builder {
    daemon().config(json!({ "applications": { "app": app } }))
}

fn merge(app: &mut Value, members: Value) {
    let Value::Object(members) = members else { panic!("members are an object") };
    app.as_object_mut().expect("an application is an object").extend(members);
}

/// php-cgi with the scripts of a site, and further members.
fn php_cgi(site: &Site, members: Value) -> Value {
    let mut app = json!({ "type": "fastcgi", "executable": "php-cgi", "root": site.root() });
    merge(&mut app, members);
    app
}

/// A script or program of a site, which may be executed.
fn executable(site: &Site, name: &str) {
    fs::set_permissions(site.path(name), PermissionsExt::from_mode(0o755)).expect("it is ours");
}

/// The process that answers `/who.php`.
fn who(server: &Daemon) -> u32 {
    server.get("/who.php").expect(200).text().trim().parse().expect("a number")
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root may do this");
    }
    is_root
}
