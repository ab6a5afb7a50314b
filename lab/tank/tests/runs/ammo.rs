//! Ammo files of Yandex.Tank.

use std::fs;

use tempfile::TempDir;

use crate::nginx::folder;
use crate::server::{Reply, Server};
use crate::tank::tank;

fn file(text: &str) -> (TempDir, String) {
    let folder = folder();
    let path = folder.path().join("ammo");
    fs::write(&path, text).expect("the folder takes files");
    let path = path.to_str().expect("temporary folders have plain names").to_owned();
    (folder, path)
}

/// Makes requests of a file, and returns them as the server saw them.
#[track_caller]
fn requests(n: &str, ammo: &str) -> Vec<String> {
    let (_folder, path) = file(ammo);
    let server = Server::start(|_, _| Reply::Good("hello"));
    let run = tank(&["-n", n, "-c", "1", "--ammo", &path, &server.url()]);
    run.is_good(n.parse().expect("it is a number"));
    server.requests()
}

#[test]
fn requests_are_made_in_their_order_over_and_over() {
    let seen = requests("5", "[Host: example.org]\n[X-A: 1]\n/one first\n/two second\n");
    let lines: Vec<_> = seen.iter().filter_map(|request| request.lines().next()).collect();
    let [one, two] = ["GET /one HTTP/1.1", "GET /two HTTP/1.1"];
    assert_eq!(lines, [one, two, one, two, one]);
    assert!(seen.iter().all(|request| request.contains("host: example.org\r\nx-a: 1\r\n")), "{}", seen[0]);
}

#[test]
fn bodies_are_posted() {
    let seen = requests("2", "3 /one\nabc\n0 /two\n\n");
    assert!(seen[0].starts_with("POST /one HTTP/1.1\r\n") && seen[0].ends_with("\r\n\r\nabc"), "{}", seen[0]);
    assert!(seen[1].contains("\r\nContent-Length: 0\r\n"), "{}", seen[1]);
}

#[test]
fn whole_requests_are_sent_as_they_are() {
    let request = "PUT /x HTTP/1.1\r\nhOsT: y\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(requests("1", &format!("{} tag\n{request}\n", request.len())), [request]);
}

#[test]
fn tags_are_in_raw_data() {
    let (folder, path) = file("/one first\n/two\n");
    let phout = folder.path().join("phout.txt");
    let server = Server::start(|_, _| Reply::Good("hello"));
    let phout_name = phout.to_str().expect("temporary folders have plain names");
    tank(&["-n", "2", "-c", "1", "--ammo", &path, "--phout", phout_name, &server.url()]).is_good(2);
    let text = fs::read_to_string(phout).expect("it was written");
    let tags: Vec<_> = text.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(tags, ["first", ""]);
}

#[test]
fn files_of_urls_have_weights() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    let (_folder, path) = file(&format!("# two of three\n2 {0}a\n{0}b\n", server.url()));
    tank(&["-n", "30", "-c", "1", "--uris", &path]).is_good(30);
    let n_first = server.requests().iter().filter(|request| request.starts_with("GET /a ")).count();
    assert_eq!(n_first, 20);
}
