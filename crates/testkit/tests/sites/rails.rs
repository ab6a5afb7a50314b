//! Ruby on Rails from Debian's packages: forms, sessions, a database.

use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use corral_testkit::{Browser, Daemon, Site, WebSocket, serve_recipe_with, site};
use serde_json::{Value, json};

use super::fixture;

/// A new site with a database.
fn guestbook(processes: u32, preload: bool) -> (Site, Daemon) {
    let folders = ["data", "tmp", "log"];
    let site =
        folders.iter().fold(site().copy_of(&fixture("rails")), |site, folder| site.writable_folder(folder));
    run(&site, "bundle", &["lock", "--local"]);
    run(&site, "ruby", &["-r", "./config/environment", "-e", "load 'db/schema.rb'"]);
    // The application's user has not made the files.
    for file in fs::read_dir(site.path("data")).expect("it is a folder").flatten() {
        set_permissions(file.path(), Permissions::from_mode(0o666)).expect("it is ours");
    }
    let server = serve_recipe_with("rails", "/srv/rails", &site, |config| {
        let application = &mut config["applications"]["rails"];
        application["processes"] = json!(processes);
        application["preload"] = json!(preload);
        application["threads"] = json!(1);
    });
    (site, server)
}

/// Debian's Ruby, whatever others there are.
#[track_caller]
fn run(site: &Site, program: &str, arguments: &[&str]) {
    let mut command = Command::new(Path::new("/usr/bin").join(program));
    command.args(arguments).env("RAILS_ENV", "production").current_dir(site.path(""));
    let output = command.output().expect("it is installed: scripts/setup test");
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
}

fn signed_by_visitors(preload: bool) {
    let (_site, server) = guestbook(2, preload);
    let mut visitor = Browser::new(server.address().socket());
    let page = visitor.open("/").expect(200).expect_text("0 so far");
    let token = page.between("name=\"authenticity_token\" value=\"", "\"");
    let entry = [("authenticity_token", &*token), ("entry[author]", "Ann <b>"), ("entry[text]", "Hello & ü")];
    let page = visitor.submit("/entries", &entry).expect(200).expect_text("1 so far");
    page.expect_text("Thank you, Ann &lt;b&gt;").expect_text("Ann &lt;b&gt; wrote Hello &amp; ü");
    let empty = [("authenticity_token", &*token), ("entry[author]", "Ann"), ("entry[text]", "")];
    visitor.submit("/entries", &empty).expect(422).expect_text("Text can&#39;t be blank");
    Browser::new(server.address().socket()).submit("/entries", &entry).expect(422);
    let found = visitor.open("/entries/1").expect(200).json();
    assert_eq!(found, json!({ "author": "Ann <b>", "text": "Hello & ü" }));
    for n in 1..=4 {
        visitor.open("/visits").expect(200).expect_body(n.to_string());
    }
    visitor.open("/entries/2").expect(404).expect_text("Not here");
    visitor.open("/fail").expect(500).expect_text("Our fault");
    server.expect_log("an error of the page");
    visitor.open("/").expect(200).expect_text("1 so far");
}

#[test]
fn rails_is_signed_by_visitors() {
    signed_by_visitors(false);
}

/// Workers that are forked from a Rails that has been loaded have connections of their own.
#[test]
fn rails_can_be_loaded_once_for_all_workers() {
    signed_by_visitors(true);
}

/// Every connected visitor hears of entries, by connections that Rails takes over from one thread of one process.
#[test]
fn rails_tells_its_visitors_by_websockets() {
    for preload in [false, true] {
        let (_site, server) = guestbook(1, preload);
        let request = WebSocket::request("/cable").field("Origin", "http://localhost");
        let request = request.field("Sec-WebSocket-Protocol", "actioncable-v1-json, actioncable-unsupported");
        let mut visitors: Vec<_> = (0..20).map(|_| WebSocket::open(server.connect(), &request)).collect();
        for visitor in &mut visitors {
            assert!(visitor.accepted.contains("actioncable-v1-json"), "{}", visitor.accepted);
            assert_eq!(next_message(visitor), json!({ "type": "welcome" }));
            tell(visitor, "subscribe", None);
            assert_eq!(next_message(visitor)["type"], "confirm_subscription");
        }
        for count in 1..=3 {
            let entry = json!({ "action": "sign", "author": "Ann", "text": "Hello" });
            tell(&mut visitors[count], "message", Some(&entry));
            for visitor in &mut visitors {
                assert_eq!(next_message(visitor)["message"], json!({ "author": "Ann", "count": count }));
            }
            server.get("/entries/1").expect(200);
        }
        // A sign of life.
        assert!(String::from_utf8_lossy(&visitors[0].receive().1).contains("\"ping\""));
        drop(visitors);
        server.get("/").expect(200).expect_text("3 so far");
    }
}

/// Says something in the language of Rails' channels.
fn tell(visitor: &mut WebSocket, command: &str, data: Option<&Value>) {
    let identifier = json!({ "channel": "EntriesChannel" }).to_string();
    let mut message = json!({ "command": command, "identifier": identifier });
    if let Some(data) = data {
        message["data"] = json!(data.to_string());
    }
    visitor.send_text(&message.to_string());
}

/// The next message that is not a sign of life, of which there is one every three seconds.
#[track_caller]
fn next_message(visitor: &mut WebSocket) -> Value {
    for _ in 0..10 {
        let (_, text) = visitor.receive();
        let message: Value = serde_json::from_slice(&text).expect("messages are JSON");
        if message["type"] != "ping" {
            return message;
        }
    }
    panic!("there are only signs of life");
}
