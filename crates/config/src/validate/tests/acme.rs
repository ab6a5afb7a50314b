//! `tls.acme` and `https_only` of listeners.

use std::time::Duration;

use super::{check_problems, config};
use crate::listener::HttpsOnly;
use crate::tls::{AcmeSettings, AllowRule, Challenge, DnsAlgorithm, DnsUpdate};

/// The settings of a listener with this `acme`, that passes to a route of these steps.
#[track_caller]
fn acme(value: &str, routes: &str) -> AcmeSettings {
    let document = document(value, routes);
    config(&document).listeners.remove(0).tls.unwrap().acme.unwrap()
}

fn document(value: &str, routes: &str) -> String {
    format!(
        r#"{{"listeners": {{"*:443": {{"pass": "routes/main", "tls": {{"acme": {value}}}}}}}, "routes": {routes}}}"#
    )
}

const HOSTS: &str = r#"{"main": [
    {"match": {"host": ["A.example.org", "b.example.org", "!c.example.org"]}, "action": {"return": 200}},
    {"match": {"host": ["*.example.org", "10.0.0.1", "intranet", "a.example.org", "x*.example.org"]}, "action": {"pass": "routes/other"}},
    {"action": {"pass": "routes/main"}}],
    "other": [{"match": {"host": "d.example.net"}, "action": {"return": 200}}],
    "unused": [{"match": {"host": "e.example.net"}, "action": {"return": 200}}]}"#;

/// `expect` are the problems of an `acme`, with pointers relative to it.
#[track_caller]
fn check(value: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(at, detail)| (format!("/listeners/*:443/tls/acme{at}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(at, detail)| (at.as_str(), *detail)).collect();
    check_problems(&document(value, HOSTS), &expect);
}

#[test]
fn one_word_orders_for_the_hosts_of_the_routes() {
    let acme = acme("true", HOSTS);
    assert_eq!(acme.names, ["a.example.org", "b.example.org", "d.example.net"]);
    assert_eq!(acme.issuer.directory, "https://acme-v02.api.letsencrypt.org/directory");
    assert_eq!((acme.challenge, acme.on_demand, acme.issuer.email), (Challenge::Automatic, None, None));
}

#[test]
fn without_it_a_certificate_is_needed() {
    let document = document("false", HOSTS);
    check_problems(&document, &[("/listeners/*:443/tls", "Required parameter \"certificate\" is missing.")]);
}

#[test]
fn it_stands_beside_uploaded_certificates() {
    let document = r#"{"listeners": {"*:443": {"pass": "routes", "tls": {"certificate": "a", "acme": {"names": "x.org"}}}},
        "routes": []}"#;
    let tls = config(document).listeners.remove(0).tls.unwrap();
    assert_eq!(tls.certificates, ["a"]);
    assert_eq!(tls.acme.unwrap().names, ["x.org"]);
}

#[test]
fn all_options_are_read() {
    let acme = acme(
        r#"{"names": ["Z.example.org.", "*.example.net", "z.example.org"], "email": "me@example.org",
            "directory": "https://localhost:14000/dir", "ca": "a", "profile": "shortlived",
            "eab": {"kid": "k-1", "key": "AAEC_-8="},
            "challenge": {"dns": {"server": "[::1]:5353", "zone": "example.net", "timeout": 5, "delay": 1,
                "key": {"name": "corral", "algorithm": "hmac-sha512", "secret": "AAEC/+8="}}},
            "on_demand": {"allow": ["*.example.com"], "per_address": 3, "per_domain": 4}}"#,
        HOSTS,
    );
    assert_eq!(acme.names[..3], ["z.example.org", "*.example.net", "a.example.org"]);
    let issuer = &acme.issuer;
    assert_eq!(issuer.directory, "https://localhost:14000/dir");
    assert_eq!((issuer.ca.as_deref(), issuer.email.as_deref()), (Some("a"), Some("me@example.org")));
    assert_eq!(issuer.profile.as_deref(), Some("shortlived"));
    assert_eq!(issuer.eab.as_ref().map(|eab| &*eab.key), Some(&[0, 1, 2, 255, 239][..]));
    let Challenge::Dns(dns) = &acme.challenge else { panic!("{:?}", acme.challenge) };
    assert_eq!((dns.timeout, dns.delay), (Duration::from_secs(5), Duration::from_secs(1)));
    let DnsUpdate::Server(server) = &dns.by else { panic!("{dns:?}") };
    let key = server.key.as_ref().unwrap();
    assert_eq!((server.address.as_str(), key.algorithm), ("[::1]:5353", DnsAlgorithm::HmacSha512));
    assert_eq!(key.secret, [0, 1, 2, 255, 239]);
    assert!(!format!("{acme:?}").contains("239"), "secrets are not printed");
    let on_demand = acme.on_demand.unwrap();
    assert_eq!((on_demand.per_address, on_demand.per_domain), (3, 4));
    assert_eq!(on_demand.allow, AllowRule::Names(vec!["*.example.com".to_owned()]));
}

#[test]
fn a_url_may_allow_names() {
    let acme = acme(
        r#"{"on_demand": {"allow": "http://127.0.0.1:1/ask?x=1", "remember_refused": 0}}"#,
        r#"{"main": []}"#,
    );
    assert_eq!(acme.names, [""; 0]);
    let url = "http://127.0.0.1:1/ask?x=1".to_owned();
    let (allowed_for, refused_for) = (Duration::from_secs(3600), Duration::ZERO);
    assert_eq!(acme.on_demand.unwrap().allow, AllowRule::Url { url, allowed_for, refused_for });
}

#[test]
fn a_program_may_change_the_dns() {
    let acme = acme(
        r#"{"challenge": {"dns": {"program": ["/bin/hook", "-v"], "resolver": "192.0.2.1:53", "timeout": 0}}}"#,
        HOSTS,
    );
    let Challenge::Dns(dns) = acme.challenge else { panic!("{:?}", acme.challenge) };
    assert_eq!(dns.by, DnsUpdate::Program(vec!["/bin/hook".to_owned(), "-v".to_owned()]));
    assert_eq!((dns.resolver.as_deref(), dns.timeout), (Some("192.0.2.1:53"), Duration::ZERO));
}

#[test]
fn a_listener_needs_a_name() {
    let document = document("true", r#"{"main": [{"action": {"return": 200}}]}"#);
    let detail = "The listener has no host name to order a certificate for.";
    check_problems(&document, &[("/listeners/*:443/tls/acme", detail)]);
}

#[test]
fn wrong_values_are_named() {
    for name in ["", "a b", "a..b", "-a.org", "10.0.0.1", "*", "a.*.org", "https://a.org", "[::1]"] {
        let detail = match name {
            "" => "The \"names\" string must not be empty.".to_owned(),
            name => format!("The host name \"{name}\" is invalid."),
        };
        check(&format!(r#"{{"names": ["{name}"]}}"#), &[("/names/0", &detail)]);
    }
    check(
        r#"{"names": "*.example.org"}"#,
        &[("", "A certificate for \"*.example.org\" cannot be ordered with this \"challenge\".")],
    );
    check(
        r#"{"directory": "http://a.org/dir"}"#,
        &[("/directory", "The \"directory\" value is invalid: \"http://a.org/dir\".")],
    );
    check(r#"{"email": "me"}"#, &[("/email", "The \"email\" value is invalid: \"me\".")]);
    check(r#"{"ca": "none"}"#, &[("/ca", "Certificate \"none\" is not found.")]);
    check(r#"{"eab": {"kid": "k"}}"#, &[("/eab", "Required parameter \"key\" is missing.")]);
    check(r#"{"eab": {"kid": "k", "key": "!"}}"#, &[("/eab/key", "The \"key\" value is not Base64 text.")]);
    let detail = "The \"challenge\" value must be \"http\", \"tls-alpn\" or an object with \"dns\".";
    check(r#"{"challenge": "dns"}"#, &[("/challenge", detail)]);
    let detail = "The \"dns\" object must have just one of \"program\" and \"server\".";
    check(r#"{"challenge": {"dns": {}}}"#, &[("/challenge/dns", detail)]);
    check(r#"{"challenge": {"dns": {"program": ["/x"], "server": "a:53"}}}"#, &[("/challenge/dns", detail)]);
    let detail = "The first element of \"program\" must be an absolute path.";
    check(r#"{"challenge": {"dns": {"program": ["hook"]}}}"#, &[("/challenge/dns/program", detail)]);
    for server in ["a", "a:0", "::1:53", ":53", "a:x"] {
        let detail = format!("The \"server\" value is invalid: \"{server}\".");
        let value = format!(r#"{{"challenge": {{"dns": {{"server": "{server}"}}}}}}"#);
        check(&value, &[("/challenge/dns/server", &detail)]);
    }
    check(r#"{"on_demand": {}}"#, &[("/on_demand", "Required parameter \"allow\" is missing.")]);
    let detail = "The \"allow\" value is invalid: \"ask\".";
    check(r#"{"on_demand": {"allow": "ask"}}"#, &[("/on_demand/allow", detail)]);
}

#[track_caller]
fn https_only(value: &str) -> Option<HttpsOnly> {
    let document =
        format!(r#"{{"listeners": {{"*:80": {{"pass": "routes", "https_only": {value}}}}}, "routes": []}}"#);
    config(&document).listeners.remove(0).https_only
}

#[test]
fn https_may_be_demanded() {
    assert_eq!(https_only("false"), None);
    let usual = HttpsOnly { max_age: 31_536_000, include_subdomains: false, preload: false, port: 443 };
    assert_eq!(https_only("true"), Some(usual));
    let value = r#"{"max_age": 0, "port": 8443, "include_subdomains": true}"#;
    let expect = HttpsOnly { max_age: 0, include_subdomains: true, preload: false, port: 8443 };
    assert_eq!(https_only(value), Some(expect));
    let document =
        r#"{"listeners": {"*:80": {"pass": "routes", "https_only": {"preload": true}}}, "routes": []}"#;
    let detail = "The option \"preload\" needs \"include_subdomains\" and a \"max_age\" of a year.";
    check_problems(document, &[("/listeners/*:80/https_only", detail)]);
}
