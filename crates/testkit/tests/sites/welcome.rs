//! `examples/welcome`, as `make run` serves it: `corral run` without a configuration.

use std::path::Path;

use corral_testkit::{Address, Browser, Client, Part, Request, Run, Site, eventually, site};

fn welcome() -> (Site, Run, Address) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/welcome");
    // Without `data`, which belongs to the user that has run the example in this clone.
    let site = site().copy_parts_of(&example, &["public", "pages", "src"]).writable_folder("data");
    let address = Address::fresh();
    let run = Run::start(&["run", &site.root(), "--listen", &address.to_string()]);
    eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    (site, run, address)
}

/// The hidden field of the page's form.
fn token(visitor: &mut Browser, page: &str) -> String {
    visitor.open(page).expect(200).between("name=\"token\" value=\"", "\"")
}

#[test]
fn pages_and_files_are_served() {
    let (_site, _run, address) = welcome();
    let mut client = Client::connect(address.socket());
    client.get("/").expect(200).expect_text("It runs.");
    client.get("/guestbook").expect(200).expect_text("0 so far");
    client.get("/nope").expect(404).expect_text("Nothing grazes here");
    client.get("/assets/style.css").expect(200).expect_field("Content-Type", "text/css");
    client.get("/assets/logo.svg").expect(200).expect_field("Content-Type", "image/svg+xml");
    let picture = client.get("/assets/corral.png").expect(200).expect_field("Content-Type", "image/png");
    assert!(picture.body.starts_with(b"\x89PNG"));
    for secret in ["/data/db/welcome.sqlite", "/src/session.php", "/../src/session.php"] {
        let response = client.get(secret);
        assert!(matches!(response.status, 400 | 404), "{secret}\n{response}");
        if response.status == 400 {
            client = Client::connect(address.socket());
        }
    }
}

#[test]
fn the_guestbook_takes_entries_and_escapes_them() {
    let (_site, _run, address) = welcome();
    let mut visitor = Browser::new(address.socket());
    let token = token(&mut visitor, "/guestbook");
    let entry = [("token", token.as_str()), ("name", "Ann <b>"), ("message", "Hello & <script>")];
    let page = visitor.submit("/guestbook", &entry).expect(200).expect_text("Thank you, Ann &lt;b&gt;.");
    page.expect_text("Hello &amp; &lt;script&gt;").expect_text("1 so far");
    Browser::new(address.socket()).submit("/guestbook", &entry).expect(403);
    visitor.submit("/guestbook", &[("token", &token), ("name", "Ann"), ("message", " ")]).expect(422);
}

#[test]
fn files_go_up_and_come_down() {
    let (_site, _run, address) = welcome();
    let mut visitor = Browser::new(address.socket());
    let token = token(&mut visitor, "/files");
    let content: Vec<u8> = (0..300_000_u32).map(|i| (i % 253) as u8).collect();
    let file =
        |content| Part::File { name: "file", file_name: "photo.jpg", media_type: "image/jpeg", content };
    let page = visitor.upload("/files", &[Part::Text("token", &token), file(&content)]).expect(200);
    let download = page.expect_text("photo.jpg is here.").between("<td><a href=\"", "\"");
    let response = visitor.open(&download).expect(200).expect_field("Content-Length", "300000");
    assert!(response.body == content);
    assert!(response.field("Content-Disposition").is_some_and(|value| value.starts_with("attachment")));
    visitor.upload("/files", &[Part::Text("token", &token)]).expect(422);
}

#[test]
fn visitors_sign_in_and_out() {
    let (_site, _run, address) = welcome();
    let mut visitor = Browser::new(address.socket());
    let first = token(&mut visitor, "/account");
    visitor.submit("/account", &[("token", &first), ("user", "demo"), ("password", "wrong")]).expect(403);
    let before = visitor.cookie("welcome").map(str::to_owned);
    let page = visitor.submit("/account", &[("token", &first), ("user", "demo"), ("password", "corral")]);
    page.expect(200).expect_text("Hello, demo");
    assert_ne!(visitor.cookie("welcome").map(str::to_owned), before, "a new session id with new rights");
    visitor
        .submit("/guestbook", &[("token", &first), ("name", "Ann"), ("message", "Hi")])
        .expect_text("Remove");
    visitor.submit("/guestbook", &[("token", &first), ("delete", "1")]).expect_text("0 so far");
    visitor.submit("/account", &[("token", &first), ("sign-out", "1")]).expect_text("You are signed out.");
}

#[test]
fn many_visitors_write_at_once() {
    let (_site, _run, address) = welcome();
    let threads: Vec<_> = (0..8)
        .map(|n| {
            std::thread::spawn(move || {
                let mut visitor = Browser::new(address.socket());
                let token = token(&mut visitor, "/guestbook");
                for _ in 0..5 {
                    let fields = [("token", token.as_str()), ("name", "V"), ("message", "from many")];
                    visitor.submit("/guestbook", &fields).expect(200);
                }
                n
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a visitor does not fail");
    }
    Client::connect(address.socket()).send(&Request::get("/guestbook")).expect_text("40 so far");
}
