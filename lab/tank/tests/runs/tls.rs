//! TLS: servers that are trusted and those that are not.

use std::fs;

use rcgen::{CertificateParams, KeyPair, SanType};

use crate::nginx::{Nginx, folder};
use crate::server::{Reply, Server};
use crate::tank::tank;

/// nginx with a certificate that is its own authority, and the path of the certificate.
pub(crate) fn nginx(directives: &str) -> (Nginx, String) {
    let folder = folder();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::IpAddress([127, 0, 0, 1].into())];
    let key = KeyPair::generate().expect("keys can be made");
    let certificate = params.self_signed(&key).expect("certificates can be made");
    let path = folder.path().join("certificate.pem");
    fs::write(&path, certificate.pem()).expect("the folder takes files");
    fs::write(folder.path().join("key.pem"), key.serialize_pem()).expect("the folder takes files");
    let path = path.to_str().expect("temporary folders have plain names").to_owned();
    let files = "ssl_certificate @D/certificate.pem; ssl_certificate_key @D/key.pem;";
    (Nginx::start(folder, &format!("{files} {directives}")), path)
}

#[test]
fn an_authority_can_be_given() {
    let (nginx, ca) = nginx("listen 127.0.0.1:@A ssl; return 200 hello;");
    let url = nginx.url("https");
    let run = tank(&["-n", "200", "-c", "4", "--ca", &ca, "--expect-body", "hello", &url]);
    run.is_good(200);
    assert_eq!(run.number("/connections"), 4);
    tank(&["-n", "20", "-c", "4", "--ca", &ca, "--no-keep-alive", "--no-resumption", &url]).is_good(20);
}

#[test]
fn a_large_body_is_read_to_its_end() {
    let (nginx, _) = nginx("listen 127.0.0.1:@A ssl; location / { root @D; }");
    let run = tank(&["-n", "1", "-k", "--expect-status", "404", &format!("{}none", nginx.url("https"))]);
    run.is_good(1);
}

#[test]
fn unknown_authorities_are_refused() {
    let (nginx, _) = nginx("listen 127.0.0.1:@A ssl; return 200 hello;");
    let run = tank(&["-n", "4", "-c", "2", &nginx.url("https")]);
    assert_eq!((run.failures().as_str(), run.code), ("tls 4", Some(1)), "{:#}", run.json);
    tank(&["-n", "4", "-c", "2", "--insecure", &nginx.url("https")]).is_good(4);
}

#[test]
fn a_server_without_tls_is_told() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    let url = server.url().replace("http:", "https:");
    let run = tank(&["-n", "2", "-c", "1", "-k", "--timeout", "2s", &url]);
    // This server waits for the end of a head that never comes.
    assert_eq!(run.failures(), "timeout 2", "{:#}", run.json);
    let (nginx, _) = nginx("listen 127.0.0.1:@A; return 200 hello;");
    let run = tank(&["-n", "2", "-c", "1", "-k", &nginx.url("https")]);
    assert_eq!(run.failures(), "tls 2", "{:#}", run.json);
}
