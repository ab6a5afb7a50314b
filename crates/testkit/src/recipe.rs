//! The recipes in `examples/`, for servers of tests: the same configurations in other folders.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::{Daemon, daemon};
use crate::site::Site;

/// The folder of the examples.
#[must_use]
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The configuration of a recipe with a site of the test in the place of `folder`, which is `/srv` or one below it.
///
/// # Panics
/// When there is no such recipe, or it is not JSON.
#[must_use]
#[track_caller]
pub fn recipe(name: &str, folder: &str, site: &Site) -> Value {
    let text = fs::read_to_string(examples().join(name).join("corral.json")).expect("it is a recipe");
    // A folder, and not another one whose name begins in the same way.
    let text = ["/", "\"", "$"]
        .iter()
        .fold(text, |text, end| text.replace(&format!("{folder}{end}"), &format!("{}{end}", site.root())));
    let mut config: Value = serde_json::from_str(&text).expect("it is JSON");
    let applications = config.get_mut("applications").and_then(Value::as_object_mut);
    applications.into_iter().flat_map(|applications| applications.values_mut()).for_each(adapt);
    config
}

/// Users that this machine lacks, and packages that only a real site has, are left out.
fn adapt(application: &mut Value) {
    let members = application.as_object_mut().expect("an application has members");
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    let (user, home) = (text("user"), text("home"));
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_user = users.lines().any(|line| line.split(':').next() == user.as_deref());
    if !is_user || !rustix::process::geteuid().is_root() {
        members.remove("user");
        members.remove("group");
    }
    if home.is_some_and(|home| !Path::new(&home).exists()) {
        members.remove("home");
    }
}

/// Starts a server with a recipe whose listener of port 80 is at a fresh address.
#[must_use]
#[track_caller]
pub fn serve_recipe(name: &str, folder: &str, site: &Site) -> Daemon {
    serve_recipe_with(name, folder, site, |_| {})
}

/// The same with a change of the configuration.
#[must_use]
#[track_caller]
pub fn serve_recipe_with(name: &str, folder: &str, site: &Site, change: impl FnOnce(&mut Value)) -> Daemon {
    let server = daemon().start_unconfigured();
    let mut config = recipe(name, folder, site);
    change(&mut config);
    let listener = config["listeners"]["*:80"].clone();
    config["listeners"] = json!({ server.address().to_string(): listener });
    server.control().put("/config", &config).expect_done();
    server
}
