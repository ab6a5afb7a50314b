//! Programs that serve HTTP themselves, in languages of the system: started, asked, broken and replaced.

mod background;
mod external;
mod frameworks;
mod go;
mod hostile;
mod isolation;
mod life;
mod manual;
mod next;
mod node;
mod packages;
mod port;
mod start;
mod web_sockets;

use std::path::Path;

use corral_testkit::{Builder, Daemon, Site, daemon, site};
use serde_json::{Value, json};

/// A site with one of the repository's programs in it, where any user can read it.
fn program(name: &str) -> Site {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs").join(name);
    site().file(name, std::fs::read(&path).unwrap_or_else(|error| panic!("read {name}: {error}")))
}

/// A daemon in the making with the application `app`.
fn with_app(app: &Value) -> Builder {
    daemon().config(json!({ "applications": { "app": app } }))
}

/// The server of `server.js` with further members.
fn node(site: &Site, members: Value) -> Value {
    let mut app =
        json!({ "type": "http", "executable": "/usr/bin/node", "arguments": [site.path("server.js")] });
    merge(&mut app, members);
    app
}

fn merge(app: &mut Value, members: Value) {
    let Value::Object(members) = members else { panic!("members are an object") };
    app.as_object_mut().expect("an application is an object").extend(members);
}

/// The number behind a word of an answer.
fn number_after(text: &str, word: &str) -> u32 {
    let number = text.split(word).nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no number behind {word:?} in {text:?}"))
}

/// The process that answers `/`.
fn pid_of(server: &Daemon) -> u32 {
    pid_of_path(server, "/")
}

/// The process that answers a path.
fn pid_of_path(server: &Daemon, path: &str) -> u32 {
    number_after(&server.get(path).expect(200).text(), "hello from ")
}
