//! `/certificates` and `/js_modules`.

use corral_config::json::Value;
use corral_config::plan::{AssetKind, Assets};

use super::fake_main::Event;
use super::{Server, Setup};

const EC: &str =
    concat!(include_str!("../bundle/testdata/ec.crt"), include_str!("../bundle/testdata/ec.key"));
const RSA: &str =
    concat!(include_str!("../bundle/testdata/rsa.crt"), include_str!("../bundle/testdata/rsa.key"));
const LISTENER: &str = r#"{"pass": "routes", "tls": {"certificate": "a"}}"#;

fn server() -> Server {
    Server::start(Setup { document: Some(r#"{"routes": [], "listeners": {}}"#), ..Setup::default() })
}

#[test]
fn bundles_are_uploaded_shown_and_deleted() {
    let server = server();
    server.check("PUT", "/certificates/a%2Fb", EC, "200 OK", r#"{"success": "Certificate chain uploaded."}"#);
    let (kind, name) = (AssetKind::Certificate, "a/b".to_owned());
    let bytes = Some(EC.as_bytes().to_vec());
    assert_eq!(server.event(), Event::Store { kind, name: name.clone(), bytes });
    server.check("GET", "/certificates/a%2Fb/key", "", "200 OK", r#""ECDH""#);
    server.check("GET", "/certificates/a%2Fb/chain/0/subject", "", "200 OK", r#"{"common_name": "ca"}"#);
    let all = server.get("/certificates").json();
    assert_eq!(all.as_object().map(indexmap_len), Some(1));
    assert_eq!(server.get("/").json().member("certificates"), Some(&all));
    let missing = r#"{"error": "Invalid path."}"#;
    server.check("GET", "/certificates/a%2Fb/chain/1", "", "404 Not Found", missing);
    let exists = r#"{"error": "Certificate already exists."}"#;
    server.check("PUT", "/certificates/a%2Fb", RSA, "400 Bad Request", exists);
    server.check("DELETE", "/certificates/a%2Fb", "", "200 OK", r#"{"success": "Certificate deleted."}"#);
    assert_eq!(server.event(), Event::Store { kind, name, bytes: None });
    let gone = r#"{"error": "Certificate doesn't exist."}"#;
    for method in ["GET", "HEAD", "DELETE"] {
        if method != "HEAD" {
            server.check(method, "/certificates/a%2Fb", "", "404 Not Found", gone);
        }
    }
    server.check("GET", "/certificates", "", "200 OK", "{}");
}

fn indexmap_len(object: &corral_config::json::Object) -> usize {
    object.len()
}

#[test]
fn wrong_requests_are_told_apart() {
    let server = server();
    let name = r#"{"error": "Invalid certificate name."}"#;
    let method = r#"{"error": "Invalid method."}"#;
    for other in ["PUT", "POST", "DELETE", "PATCH"] {
        server.check(other, "/certificates", EC, "400 Bad Request", name);
        server.check(other, "/certificates/", EC, "400 Bad Request", name);
        server.check(other, "/certificates/a/chain", EC, "400 Bad Request", name);
    }
    server.check("PUT", "/certificates/a%00b", EC, "400 Bad Request", name);
    for other in ["POST", "PATCH", "OPTIONS"] {
        server.check(other, "/certificates/a", EC, "405 Method Not Allowed", method);
        server.check(other, "/js_modules/a", EC, "405 Method Not Allowed", method);
    }
    let answer = server.request("PUT", "/certificates/a", "no certificate");
    assert_eq!((answer.status(), answer.text("error").as_str()), ("400 Bad Request", "Invalid certificate."));
    assert!(answer.text("detail").contains("PEM"), "{answer:?}");
    let answer = server.request("PUT", "/certificates/full", EC);
    assert_eq!(answer.status(), "500 Internal Server Error");
    assert_eq!(answer.text("error"), "Failed to store certificate.");
    assert_eq!(answer.text("detail"), "no space left");
    server.check("GET", "/certificates", "", "200 OK", "{}");
}

#[test]
fn what_is_in_use_stays_and_can_be_replaced() {
    let server = server();
    let missing = server.request("PUT", "/config/listeners/unix:@x", LISTENER);
    assert_eq!(missing.text("detail"), "Certificate \"a\" is not found.");
    server.request("PUT", "/certificates/a", EC);
    assert!(matches!(server.event(), Event::Store { .. }));
    assert_eq!(server.request("PUT", "/config/listeners/unix:@x", LISTENER).status(), "200 OK");
    let Event::Apply { assets, .. } = server.event() else { panic!("an Apply is missing") };
    assert_eq!(assets.certificate("a").map(|asset| asset.bytes.as_slice()), Some(EC.as_bytes()));
    let in_use = r#"{"error": "Certificate is used in the configuration."}"#;
    server.check("DELETE", "/certificates/a", "", "400 Bad Request", in_use);
    let uploaded = r#"{"success": "Certificate chain uploaded."}"#;
    let checked = r#"{"success": "The request is valid; nothing has been changed."}"#;
    server.check("PUT", "/certificates/a?replace=true&dry_run=true", RSA, "200 OK", checked);
    server.check("PUT", "/certificates/a?replace=true", RSA, "200 OK", uploaded);
    let Event::Apply { assets, store, .. } = server.event() else { panic!("an Apply is missing") };
    assert_eq!(assets.certificate("a").map(|asset| asset.bytes.as_slice()), Some(RSA.as_bytes()));
    assert!(!store, "the document is the same");
    assert!(matches!(server.event(), Event::Store { bytes: Some(_), .. }));
    server.check("GET", "/certificates/a/key", "", "200 OK", r#""RSA (2048 bits)""#);
    assert_eq!(server.request("DELETE", "/config/listeners/unix:@x", "").status(), "200 OK");
    assert_eq!(server.request("DELETE", "/certificates/a", "").status(), "200 OK");
}

#[test]
fn modules_are_uploaded_shown_and_deleted() {
    let server = server();
    let source = "export default {\n  hello: \"w\\u00e9\"\n}\n";
    server.check("PUT", "/js_modules/m", source, "200 OK", r#"{"success": "JS module uploaded."}"#);
    let answer = server.get("/js_modules/m").json();
    assert_eq!(answer.as_bytes().map(|text| text.to_string()).as_deref(), Some(source));
    assert_eq!(server.get("/js_modules").json().member("m"), Some(&answer));
    server.check("GET", "/js_modules/m/x", "", "404 Not Found", r#"{"error": "Invalid path."}"#);
    let exists = r#"{"error": "JS module already exists."}"#;
    server.check("PUT", "/js_modules/m", source, "400 Bad Request", exists);
    let answer = server.request("PUT", "/js_modules/broken", "export default {");
    assert_eq!((answer.status(), answer.text("error").as_str()), ("400 Bad Request", "Invalid JS module."));
    assert!(!answer.text("detail").is_empty());
    let name = r#"{"error": "Invalid JS module name."}"#;
    server.check("PUT", "/js_modules", source, "400 Bad Request", name);
    server.check("DELETE", "/js_modules/m/x", "", "400 Bad Request", name);
    let stored = server.request("PUT", "/js_modules/full", source);
    assert_eq!(stored.text("error"), "Failed to store script.");
    server.check("DELETE", "/js_modules/m", "", "200 OK", r#"{"success": "JS module deleted."}"#);
    let gone = r#"{"error": "JS module doesn't exist."}"#;
    server.check("DELETE", "/js_modules/m", "", "404 Not Found", gone);
}

#[test]
fn the_stored_ones_are_there_at_the_start_unless_they_are_broken() {
    let mut assets = Assets::default();
    assets.set(AssetKind::Certificate, "good", Some(EC.into()));
    assets.set(AssetKind::Certificate, "bad", Some(b"x".to_vec()));
    assets.set(AssetKind::Script, "bad", Some(b"{".to_vec()));
    let server = Server::start(Setup { assets, ..Setup::default() });
    let names = |path: &str| -> Vec<String> {
        let all = server.get(path).json();
        all.as_object().into_iter().flat_map(|all| all.keys().map(ToString::to_string)).collect()
    };
    assert_eq!(names("/certificates"), ["good"]);
    assert!(names("/js_modules").is_empty());
    assert_eq!(server.get("/certificates/good/key").json(), Value::from("ECDH"));
}

#[test]
fn what_is_not_automatic_is_not_renewed() {
    let server = server();
    server.check("PUT", "/certificates/a", EC, "200 OK", r#"{"success": "Certificate chain uploaded."}"#);
    let missing = r#"{"error": "Certificate doesn't exist."}"#;
    for name in ["a", "a.example.org", "%FF", "*.example.org"] {
        server.check("POST", &format!("/control/certificates/{name}/renew"), "", "404 Not Found", missing);
    }
    let not_allowed = r#"{"error": "Method isn't allowed."}"#;
    for method in ["GET", "PUT", "DELETE"] {
        server.check(method, "/control/certificates/a/renew", "", "405 Method Not Allowed", not_allowed);
    }
}
