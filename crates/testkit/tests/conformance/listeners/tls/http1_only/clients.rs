//! Certificates of clients: which are good, which are revoked, and how long a chain may be.

use super::*;

/// Options: listeners.{addr}.tls.client.ca, listeners.{addr}.tls.client.verify
#[test]
fn clients_show_certificates() {
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
    upload(&setup.daemon, "ca", &setup.authority.bundle().pem()).0.expect(200);
    let (alice, stranger) = (setup.authority.client("Alice"), Authority::new("Others").client("Mallory"));
    let with = |bundle: &Bundle| setup.client().identity(bundle);
    setup.put(json!({ "certificate": "a", "client": { "ca": "ca" } })).expect_done();
    assert!(setup.is_served(&with(&alice)));
    assert!(!setup.is_served(&setup.client()));
    assert!(!setup.is_served(&with(&stranger)));
    setup.put(json!({ "certificate": "a", "client": { "ca": ["ca"], "verify": "optional" } })).expect_done();
    assert!(setup.is_served(&setup.client()));
    assert!(!setup.is_served(&with(&stranger)));
    let told = |client: &TlsClient| {
        let mut connection = setup.connect(client, "localhost");
        let told = connection.get("/tls").expect(301).field("Location").unwrap().to_owned();
        // Scripts see the same, also when the connection has seen others before.
        connection.get("/script").expect(301).expect_field("Location", &told);
        told
    };
    let known = told(&with(&alice));
    assert!(known.starts_with("/TLSv1.3/TLS_AES_256_GCM_SHA384/localhost/SUCCESS/CN=Alice/"), "{known}");
    assert_eq!(known.rsplit('/').next().unwrap().len(), 64);
    assert!(told(&setup.client()).contains("/localhost/NONE//"));
    assert!(told(&setup.client().without_name()).contains("384//NONE//"));
    let plain = daemon().routes(json!([{ "action": { "return": 301, "location": SCRIPT } }])).start();
    // Without values; two slashes in front would begin a host.
    plain.get("/").expect_field("Location", "/");
}

/// Options: listeners.{addr}.tls.client.crl
#[test]
fn revoked_certificates_are_refused() {
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
    let (alice, mallory) = (setup.authority.client("Alice"), setup.authority.client("Mallory"));
    let with = |bundle: &Bundle| setup.client().identity(bundle);
    let upload = |name: &str, pem: &str| {
        setup.daemon.control().put_text(&format!("/certificates/{name}?ca=true"), pem).0
    };
    upload("ca", &setup.authority.bundle().certificate).expect(200);
    let list = |revoked: &[&Bundle], year| setup.authority.revocation_list(revoked, year);
    upload("revoked", &list(&[&mallory], 2090)).expect(200);
    let shown = setup.daemon.control().get("/certificates/revoked").json();
    assert_eq!(shown["revocation_lists"][0]["revoked"], 1, "{shown}");
    assert_eq!(shown["revocation_lists"][0]["issuer"]["common_name"], "Testers", "{shown}");
    let client = |crl: Value| json!({ "certificate": "a", "client": { "ca": "ca", "crl": crl } });
    setup.put(client(json!("revoked"))).expect_done();
    assert!(setup.is_served(&with(&alice)));
    assert!(!setup.is_served(&with(&mallory)));
    setup.daemon.expect_log("invalid peer certificate: Revoked");
    // A list that is out of date says nothing, as one of another authority does.
    upload("old", &list(&[&mallory], 2021)).expect(200);
    upload("other", &Authority::new("Others").revocation_list(&[], 2090)).expect(200);
    for name in ["old", "other"] {
        setup.put(client(json!(name))).expect_done();
        assert!(!setup.is_served(&with(&alice)), "{name}");
    }
    // A bundle without a list, a list without an end, and one that is none.
    assert!(setup.put(client(json!("ca"))).0.expect(500).text().contains("no list of revoked certificates"));
    upload("none", "-----BEGIN X509 CRL-----\nYWJj\n-----END X509 CRL-----\n").expect(400);
    setup.daemon.control().put_text("/certificates/none", &list(&[], 2090)).0.expect(400);
}

#[test]
fn a_certificate_that_was_revoked_meanwhile_resumes_no_session() {
    let session = json!({ "tickets": "AAAA".repeat(16), "cache_size": 10 });
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
    let alice = setup.authority.client("Alice");
    let put = |name: &str, pem: &str| {
        let path = format!("/certificates/{name}?ca=true&replace=true");
        setup.daemon.control().put_text(&path, pem).0.expect(200);
    };
    put("ca", &setup.authority.bundle().certificate);
    put("crl", &setup.authority.revocation_list(&[], 2090));
    let client = json!({ "ca": "ca", "crl": "crl" });
    setup.put(json!({ "certificate": "a", "session": session, "client": client })).expect_done();
    let client = setup.client().identity(&alice);
    assert!(resumes(&setup, &client));
    put("crl", &setup.authority.revocation_list(&[&alice], 2090));
    assert!(!setup.is_served(&client));
}

/// Options: listeners.{addr}.tls.client.depth
#[test]
fn chains_are_as_long_as_the_depth_allows() {
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
    upload(&setup.daemon, "ca", &setup.authority.bundle().pem()).0.expect(200);
    let office = setup.authority.intermediate("Office");
    let desk = office.intermediate("Desk");
    let direct = setup.authority.client("Alice");
    let below = office.client("Bob").with_issuer(&office);
    let lowest = desk.client("Carol").with_issuer(&desk).with_issuer(&office);
    let with = |bundle: &Bundle| setup.client().identity(bundle);
    let served = |depth: Value| {
        setup.put(json!({ "certificate": "a", "client": depth })).expect_done();
        [&direct, &below, &lowest].map(|bundle| setup.is_served(&with(bundle)))
    };
    assert_eq!(served(json!({ "ca": "ca" })), [true; 3]);
    assert_eq!(served(json!({ "ca": "ca", "depth": 2 })), [true; 3]);
    assert_eq!(served(json!({ "ca": "ca", "depth": 1 })), [true, true, false]);
    assert_eq!(served(json!({ "ca": "ca", "depth": 0 })), [true, false, false]);
    setup.daemon.expect_log("longer than 0");
}

/// `openssl x509 -req` makes certificates of version 1 unless it is told otherwise, and `openssl req -x509`
/// authorities that are used as they are.
#[test]
fn clients_show_what_openssl_makes() {
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
    let fixture = Bundle::of_version_1;
    upload(&setup.daemon, "old", &fixture("authority.pem").pem()).0.expect(200);
    let itself = Authority::new("Itself").bundle();
    upload(&setup.daemon, "itself", &itself.pem()).0.expect(200);
    let with = |bundle: &Bundle| setup.client().identity(bundle);
    setup.put(json!({ "certificate": "a", "client": { "ca": ["old", "itself"] } })).expect_done();
    for versions in [&[&TLS12][..], &[&TLS13]] {
        assert!(setup.is_served(&with(&fixture("signed.pem")).versions(versions)), "{versions:?}");
        assert!(setup.is_served(&with(&itself).versions(versions)), "{versions:?}");
        // Another authority of the same name has signed it.
        assert!(!setup.is_served(&with(&fixture("forged.pem")).versions(versions)), "{versions:?}");
        // It is shown without its key.
        let stolen = Bundle { certificate: fixture("signed.pem").certificate, ..itself.clone() };
        assert!(!setup.is_served(&with(&stolen).versions(versions)), "{versions:?}");
    }
    setup.put(json!({ "certificate": "a", "client": { "ca": "itself" } })).expect_done();
    assert!(!setup.is_served(&with(&fixture("signed.pem"))));
    // Being trusted is not being an authority.
    upload(&setup.daemon, "leaf", &fixture("no_authority.pem").pem()).0.expect(200);
    setup.put(json!({ "certificate": "a", "client": { "ca": "leaf" } })).expect_done();
    assert!(setup.is_served(&with(&fixture("no_authority.pem"))));
    assert!(!setup.is_served(&with(&fixture("signed_by_no_authority.pem"))));
}

#[test]
fn a_session_proves_nothing_to_a_listener_that_asks_for_more() {
    let session = json!({ "tickets": "AAAA".repeat(16) });
    let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a", "session": session }));
    upload(&setup.daemon, "ca", &setup.authority.bundle().pem()).0.expect(200);
    let client = setup.client();
    setup.connect(&client, "localhost").get("/").expect(200);
    setup.put(json!({ "certificate": "a", "session": session, "client": { "ca": "ca" } })).expect_done();
    assert!(!setup.is_served(&client));
}
