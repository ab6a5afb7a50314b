//! Servers as they are used: nginx, nghttpd, and net/http of Go.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use corral_testkit::{Address, Http2, Request, Site, eventually, site};
use serde_json::json;

use super::grpc::GoServer;
use super::{proxy_with, streamed};

const LARGE: usize = 5_000_000;

/// A program that serves a site's files.
struct Server {
    child: Child,
    address: SocketAddr,
    /// The server's files, and its own.
    _site: Site,
}

impl Server {
    fn start(command: impl FnOnce(&Site, SocketAddr) -> Command) -> Self {
        let site = site().file("hello.txt", "hello").file("large.txt", "x".repeat(LARGE));
        let address = Address::fresh().socket();
        let mut command = command(&site, address);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}: scripts/setup test"));
        eventually("it listens", || TcpStream::connect(address).ok());
        Self { child, address, _site: site }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, or does now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn check_files(url: &str) {
    let server = proxy_with(url, json!({}));
    let mut client = server.connect();
    for _ in 0..3 {
        client.get("/hello.txt").expect(200).expect_body("hello");
        assert_eq!(client.get("/large.txt").expect(200).body.len(), LARGE);
        assert_eq!(client.send(&Request::new("HEAD", "/large.txt")).expect(200).body.len(), 0);
    }
    client.get("/missing").expect(404);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let _ = scope.spawn(|| assert_eq!(server.get("/large.txt").expect(200).body.len(), LARGE));
        }
    });
}

#[test]
fn nginx_over_http2() {
    let server = Server::start(|site, address| {
        let root = site.root();
        let config = format!(
            "daemon off; master_process off; pid {root}/pid; error_log stderr;\n\
             events {{ }}\n\
             http {{ access_log off; client_body_temp_path {root}; proxy_temp_path {root}; fastcgi_temp_path {root};\n\
             uwsgi_temp_path {root}; scgi_temp_path {root};\n\
             server {{ listen {address} http2; root {root}; }} }}"
        );
        fs::write(site.path("nginx.conf"), config).expect("write to the site");
        let mut nginx = Command::new("/usr/sbin/nginx");
        nginx.args(["-p", ".", "-c"]).arg(site.path("nginx.conf")).current_dir(root);
        nginx
    });
    check_files(&server.url());
}

#[test]
fn nghttpd() {
    let server = Server::start(|site, address| {
        let mut nghttpd = Command::new("nghttpd");
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        nghttpd.args(["--no-tls", "--address", &ip, "-d"]).arg(site.root()).arg(port);
        nghttpd
    });
    check_files(&server.url());
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn net_http_of_go() {
        let origin = GoServer::start("web");
        let server = proxy_with(&origin.url(), json!({}));
        let body = vec![b'x'; 1_000_000];
        let response = server.send(&Request::new("POST", "/").body(&body)).expect(200);
        assert!(response.body == body);
        assert_eq!(response.field("X-Protocol"), Some("HTTP/2.0"));
        let mut client = Http2::connect(server.address().socket());
        let mut stream = client.open(&streamed("/").field("TE", "trailers"));
        for word in ["a", "bc"] {
            stream.write(word);
            if word == "a" {
                stream.head().expect(200);
            }
            assert_eq!(stream.read_some(), word.as_bytes());
        }
        stream.finish();
        assert!(stream.read_some().is_empty());
        assert_eq!(stream.trailers().expect("trailers"), [("x-count".to_owned(), "3".to_owned())]);
        let mut client = server.connect();
        client.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        drop(client);
        origin.expect_line("cancelled");
    }
}
