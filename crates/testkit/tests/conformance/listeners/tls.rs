//! TLS (contract 7), and certificates of clients.

use corral_testkit::{Address, Authority, Bundle, Client, ControlReply, Daemon, Request, TlsClient, daemon};
use rustls::SupportedCipherSuite;
use rustls::version::{TLS12, TLS13};
use rustls_pki_types::CertificateDer;
use serde_json::{Value, json};

/// A daemon with these bundles, whose listener has this `tls`.
struct Setup {
    daemon: Daemon,
    authority: Authority,
    bundles: Vec<Bundle>,
}

impl Setup {
    /// Bundles are given as `NAME=HOST,HOST…`.
    #[track_caller]
    fn start(bundles: &[&str], tls: Value) -> Self {
        let (daemon, authority) = (daemon().start_unconfigured(), Authority::new("Testers"));
        let mut made = Vec::new();
        for bundle in bundles {
            let (name, hosts) = bundle.split_once('=').expect("a name and hosts");
            let bundle = authority.server(name, &hosts.split(',').collect::<Vec<_>>());
            upload(&daemon, name, &bundle.pem()).0.expect(200);
            made.push(bundle);
        }
        let setup = Self { daemon, authority, bundles: made };
        setup.put(tls).expect_done();
        setup
    }

    fn config(&self, tls: Value) -> Value {
        let listener = json!({ "pass": "routes", "tls": tls });
        json!({
            "listeners": { self.daemon.address().to_string(): listener },
            "routes": [
                { "match": { "uri": "/files/*" }, "action": { "share": format!("{}$uri",
                self.daemon.path("tmp").display()) } },
                { "match": { "scheme": "https", "uri": "/scheme" }, "action": { "return": 204 } },
                { "match": { "uri": "/tls" }, "action": { "return": 301, "location": VARIABLES } },
                { "match": { "uri": "/script" }, "action": { "return": 301, "location": SCRIPT } },
                { "action": { "return": 200 } }
            ],
            "access_log": { "path": self.daemon.path("tmp/access"), "format": "$status $request_line" }
        })
    }

    fn put(&self, tls: Value) -> ControlReply {
        self.daemon.control().put("/config", &self.config(tls))
    }

    fn client(&self) -> TlsClient {
        TlsClient::new(&self.authority)
    }

    #[track_caller]
    fn connect(&self, client: &TlsClient, host: &str) -> Client {
        Client::connect_tls(self.daemon.address().socket(), client, host)
    }

    /// The bundle that the server shows for a host, by its number.
    #[track_caller]
    fn shown(&self, client: &TlsClient, host: &str) -> usize {
        let connection = self.connect(client, host);
        let leaf: &CertificateDer<'_> =
            &connection.tls().peer_certificates().expect("the server shows one")[0];
        self.bundles.iter().position(|bundle| bundle.der() == leaf.as_ref()).expect("one of ours")
    }

    /// Whether a client can talk to the server, which may say no only after the handshake.
    fn is_served(&self, client: &TlsClient) -> bool {
        let connected = Client::try_connect_tls(self.daemon.address().socket(), client, "localhost");
        connected.is_ok_and(|mut client| client.try_send(&Request::get("/")).is_ok())
    }
}

const VARIABLES: &str = concat!(
    "/$tls_protocol/$tls_cipher/$tls_server_name",
    "/$tls_client_verify/$tls_client_subject/$tls_client_fingerprint"
);

/// The same in JavaScript.
const SCRIPT: &str = "`/${['protocol', 'cipher', 'server_name', 'client_verify', 'client_subject', \
                      'client_fingerprint'].map(name => vars['tls_' + name]).join('/')}`";

#[track_caller]
fn upload(daemon: &Daemon, name: &str, pem: &str) -> ControlReply {
    daemon.control().put_text(&format!("/certificates/{name}"), pem)
}

/// Whether a second connection resumes the session of a first one.
#[track_caller]
fn resumes(setup: &Setup, client: &TlsClient) -> bool {
    let mut first = setup.connect(client, "localhost");
    first.get("/").expect(200);
    drop(first);
    let mut second = setup.connect(client, "localhost");
    second.get("/").expect(200);
    second.is_resumed()
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    mod clients;

    use super::*;

    /// Options: listeners.{addr}.tls.certificate
    #[test]
    fn requests_are_answered_over_tls() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let mut client = setup.connect(&setup.client(), "localhost");
        for _ in 0..3 {
            client.get("/").expect(200);
        }
        client.get("/scheme").expect(204);
        let mut head = Request::new("HEAD", "/").encode();
        head.extend_from_slice(&Request::get("/scheme").encode());
        client.write(head);
        client.try_read_response_to("HEAD").unwrap().expect(200);
        client.read_response().expect(204);
    }

    #[test]
    fn files_of_every_size_arrive_whole() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let folder = setup.daemon.path("tmp/files");
        std::fs::create_dir(&folder).unwrap();
        let mut client = setup.connect(&setup.client(), "localhost");
        for size in [1, 1000, 16 * 1024, 16 * 1024 + 1, 100_000, 3_000_000] {
            let content: Vec<u8> = (0..size).map(|position: usize| (position % 251) as u8).collect();
            let name = format!("{size}.bin");
            std::fs::write(folder.join(&name), &content).unwrap();
            client.get(&format!("/files/{name}")).expect(200).expect_body(&content);
            let range = Request::get(&format!("/files/{name}")).field("Range", "bytes=0-0");
            client.send(&range).expect(206).expect_body(&content[..1]);
        }
    }

    #[test]
    fn large_bodies_arrive() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let mut client = setup.connect(&setup.client(), "localhost");
        // Read to its end, so that the connection is kept.
        client.send(&Request::post("/").body(vec![b'x'; 200_000])).expect(200);
        client.get("/").expect(200);
    }

    /// The alert comes behind the server's first message, which is complete by then.
    #[test]
    fn clients_that_speak_no_protocol_of_the_listener_are_told() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        for version in [&TLS12, &TLS13] {
            let client = setup.client().versions(&[version]).protocols(&["dot"]);
            let connection = Client::try_connect_http1(setup.daemon.address().socket()).expect("it listens");
            let error = connection.into_tls(&client, "localhost").expect_err("nobody speaks it").to_string();
            assert!(error.contains("NoApplicationProtocol"), "{version:?}: {error}");
        }
    }

    #[test]
    fn the_end_is_announced_and_half_closed_clients_are_answered() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let mut client = setup.connect(&setup.client(), "localhost");
        client.send(&Request::get("/").field("Connection", "close")).expect(200);
        // Without the announcement this is an error.
        assert!(client.is_closed());
        let mut client = setup.connect(&setup.client(), "localhost");
        client.write(Request::get("/").encode());
        client.finish_writing();
        client.read_response().expect(200);
        assert!(client.is_closed());
        let mut client = setup.connect(&setup.client(), "localhost");
        client.finish_writing();
        assert!(client.is_closed());
    }

    #[test]
    fn the_host_name_chooses_the_bundle() {
        let bundles = ["a=a.ex.test,b.ex.test", "b=*.ex.test,c.ex.test", "c=c.ex.test,d.a.ex.test"];
        let setup = Setup::start(&bundles, json!({ "certificate": ["a", "b", "c"] }));
        let client = setup.client();
        assert_eq!(setup.shown(&client, "a.ex.test"), 0);
        assert_eq!(setup.shown(&client, "B.EX.TEST"), 0);
        assert_eq!(setup.shown(&client, "c.ex.test"), 1);
        assert_eq!(setup.shown(&client, "x.ex.test"), 1);
        assert_eq!(setup.shown(&client, "d.a.ex.test"), 2);
        assert_eq!(setup.shown(&client.without_name(), "a.ex.test"), 0);
    }

    /// Options: listeners.{addr}.tls.certificate
    #[test]
    fn one_name_may_have_keys_of_rsa_and_ecdsa() {
        let mut setup = Setup::start(&["ecdsa=localhost"], json!({ "certificate": "ecdsa" }));
        let rsa = setup.authority.server_of_rsa("rsa", &["localhost"]);
        upload(&setup.daemon, "rsa", &rsa.pem()).0.expect(200);
        setup.bundles.push(rsa);
        let only = |key: &'static str| {
            let client = setup.client().versions(&[&TLS12]);
            client.provider(|provider| {
                let names =
                    |suite: &SupportedCipherSuite| suite.suite().as_str().unwrap_or_default().to_owned();
                provider.cipher_suites.retain(|suite| names(suite).contains(key));
            })
        };
        let shown = |client: &TlsClient| {
            let nameless = client.clone().without_name();
            [setup.shown(client, "localhost"), setup.shown(&nameless, "localhost")]
        };
        let any = setup.client();
        setup.put(json!({ "certificate": ["ecdsa", "rsa"] })).expect_done();
        assert_eq!([shown(&any), shown(&only("_ECDSA_")), shown(&only("_RSA_"))], [[0; 2], [0; 2], [1; 2]]);
        setup.put(json!({ "certificate": ["rsa", "ecdsa"] })).expect_done();
        assert_eq!([shown(&any), shown(&only("_ECDSA_")), shown(&only("_RSA_"))], [[1; 2], [0; 2], [1; 2]]);
    }

    /// Options: listeners.{addr}.tls.reject_unknown
    #[test]
    fn clients_of_unknown_names_can_be_refused() {
        let setup = Setup::start(&["a=localhost,*.example.com"], json!({ "certificate": "a" }));
        let client = setup.client();
        let connects = |client: &TlsClient, host: &str| {
            Client::try_connect_tls(setup.daemon.address().socket(), client, host).is_ok()
        };
        assert!(!connects(&client, "elsewhere.org"), "the name is not that of the certificate");
        setup.put(json!({ "certificate": "a", "reject_unknown": true })).expect_done();
        for host in ["localhost", "www.example.com"] {
            assert!(connects(&client, host), "{host}");
        }
        let log = |text: &str| setup.daemon.expect_log(text);
        assert!(!connects(&client, "elsewhere.org"));
        log("elsewhere.org");
        assert!(!connects(&client.without_name(), "localhost"));
        setup.put(json!({ "certificate": "a", "reject_unknown": "yes" })).0.expect(400);
    }

    #[test]
    fn the_common_name_counts_only_without_alternative_names() {
        let setup = Setup::start(&["a=first.test"], json!({ "certificate": "a" }));
        let only_common = setup.authority.server("common.test", &[]);
        upload(&setup.daemon, "b", &only_common.pem()).0.expect(200);
        setup.put(json!({ "certificate": ["a", "b"] })).expect_done();
        // The client refuses a certificate without alternative names, so it is the refusal that tells.
        let address = setup.daemon.address().socket();
        assert!(Client::try_connect_tls(address, &setup.client(), "common.test").is_err());
        setup.connect(&setup.client(), "first.test").get("/").expect(200);
    }

    #[test]
    fn plain_requests_are_told_so() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let mut client = setup.daemon.connect();
        let reply = client.get("/").expect(400).expect_field("Connection", "close");
        let reply = reply.expect_text("Error 400. The plain HTTP request was sent to HTTPS port.");
        assert_eq!(reply.reason, "The plain HTTP request was sent to HTTPS port");
        assert!(client.is_closed());
        let log = || std::fs::read_to_string(setup.daemon.path("tmp/access")).unwrap_or_default();
        corral_testkit::eventually("it is logged", || log().contains("497 GET / HTTP/1.1").then_some(()));
        let mut client = setup.daemon.connect();
        client.write("\x16\x03\x01\x00\x05nonsense");
        client.finish_writing();
        assert!(!String::from_utf8_lossy(&client.read_to_end()).contains("HTTP"));
        setup.daemon.expect_log("TLS handshake failed");
    }

    #[test]
    fn bad_options_are_named() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let detail = |tls: Value| setup.put(tls).expect_refused(400, "Invalid configuration.");
        assert_eq!(
            detail(json!({})),
            "Required parameter \"certificate\" is missing. Name an uploaded bundle, or set \"acme\" to true for \
        automatic certificates."
        );
        assert_eq!(detail(json!({ "certificate": "none" })), "Certificate \"none\" is not found.");
        let empty = "The \"certificate\" array must contain at least one element.";
        assert_eq!(detail(json!({ "certificate": [] })), empty);
        let strings = "The \"certificate\" array must contain only string values.";
        assert_eq!(detail(json!({ "certificate": ["a", 1] })), strings);
        let session = |session: Value| detail(json!({ "certificate": "a", "session": session }));
        assert_eq!(session(json!({ "cache_size": -1 })), "The \"cache_size\" number must not be negative.");
        assert_eq!(session(json!({ "timeout": 0 })), "The \"timeout\" number must be greater than zero.");
        assert_eq!(session(json!({ "tickets": "!" })), "Invalid Base64 format for the ticket key \"!\".");
        let length = "Invalid length 3 of the ticket key \"AAAA\".  Must be 48 or 80 bytes.";
        assert_eq!(session(json!({ "tickets": ["AAAA"] })), length);
        let strings = "The \"key\" array must contain only string values.";
        assert_eq!(session(json!({ "tickets": [1] })), strings);
    }

    #[test]
    fn a_key_of_another_certificate_changes_nothing() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let (one, other) =
            (setup.authority.server("x", &["x.test"]), setup.authority.server("y", &["y.test"]));
        let reply = upload(&setup.daemon, "mixed", &format!("{}{}", one.certificate, other.key));
        let detail = reply.expect_refused(400, "Invalid certificate.");
        assert!(detail.contains("the private key does not belong to the first certificate"), "{detail}");
        setup.put(json!({ "certificate": "mixed" })).expect_refused(400, "Invalid configuration.");
        setup.connect(&setup.client(), "localhost").get("/").expect(200);
    }

    /// Options: listeners.{addr}.tls.conf_commands.{cmd}
    #[test]
    fn commands_limit_what_is_spoken() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let (tls12, tls13) = ([&TLS12], [&TLS13]);
        let served = |commands: Value, client: &TlsClient| {
            setup.put(json!({ "certificate": "a", "conf_commands": commands })).expect_done();
            setup.is_served(client)
        };
        let client = || setup.client();
        assert!(served(json!({}), &client().versions(&tls12)));
        assert!(!served(json!({ "minprotocol": "TLSv1.3" }), &client().versions(&tls12)));
        assert!(served(json!({ "MinProtocol": "TLSv1.3" }), &client().versions(&tls13)));
        assert!(!served(json!({ "MaxProtocol": "TLSv1.2" }), &client().versions(&tls13)));
        assert!(!served(json!({ "Protocol": "-ALL,TLSv1.2" }), &client().versions(&tls13)));
        let cipher = |commands: Value, client: &TlsClient| {
            setup.put(json!({ "certificate": "a", "conf_commands": commands })).expect_done();
            let reply = setup.connect(client, "localhost").get("/tls").expect(301);
            reply.field("Location").unwrap().split('/').nth(2).unwrap().to_owned()
        };
        let ecdsa = "ECDHE-ECDSA-AES128-GCM-SHA256";
        assert_eq!(cipher(json!({ "ciphers": ecdsa }), &client().versions(&tls12)), ecdsa);
        assert_eq!(cipher(json!({ "CipherString": "AES128:HIGH" }), &client().versions(&tls12)), ecdsa);
        let suite = "TLS_AES_128_GCM_SHA256";
        assert_eq!(cipher(json!({ "ciphersuites": suite }), &client().versions(&tls13)), suite);
        let only_p384 = client().provider(|provider| {
            provider.kx_groups.retain(|group| group.name() == rustls::NamedGroup::secp384r1);
        });
        assert!(!served(json!({ "Curves": "P-256:X25519" }), &only_p384));
        assert!(served(json!({ "Groups": "P-384" }), &only_p384));
        for commands in
            [json!({ "nonsense": "x" }), json!({ "ciphers": "RC4" }), json!({ "MaxProtocol": "TLSv1.1" })]
        {
            let reply = setup.put(json!({ "certificate": "a", "conf_commands": commands }));
            let detail = reply.expect_refused(500, "Failed to apply new configuration.");
            assert!(detail.contains("TLS"), "{detail}");
        }
        assert!(setup.is_served(&only_p384), "what was in force still is");
    }

    /// Options: listeners.{addr}.tls.session.cache_size, listeners.{addr}.tls.session.tickets
    #[test]
    fn sessions_are_resumed_when_they_are_kept_somewhere() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let key = "AAAA".repeat(16);
        for (session, expect) in [
            (json!({}), false),
            (json!({ "cache_size": 0, "tickets": false }), false),
            (json!({ "tickets": [] }), false),
            (json!({ "cache_size": 100 }), true),
            (json!({ "tickets": true }), true),
            (json!({ "tickets": key }), true),
            (json!({ "tickets": ["AAAA".repeat(26) + "AAA=", key] }), true),
        ] {
            setup.put(json!({ "certificate": "a", "session": session })).expect_done();
            for version in [&TLS12, &TLS13] {
                let client = setup.client().versions(&[version]);
                assert_eq!(resumes(&setup, &client), expect, "{session} {version:?}");
            }
        }
    }

    /// Options: listeners.{addr}.tls.session.timeout
    #[test]
    fn old_sessions_are_not_resumed() {
        let session = json!({ "tickets": true, "timeout": 1 });
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a", "session": session }));
        let client = setup.client();
        setup.connect(&client, "localhost").get("/").expect(200);
        // Asking earlier would renew the session: there is nothing to wait for but time.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        assert!(!setup.connect(&client, "localhost").is_resumed());
    }

    #[test]
    fn given_keys_outlive_the_server_and_changes_of_them() {
        let (old, new) = ("AAAA".repeat(16), "BBBB".repeat(16));
        let tls = |keys: Value| json!({ "certificate": "a", "session": { "tickets": keys } });
        let mut setup = Setup::start(&["a=localhost"], tls(json!([old])));
        let client = setup.client();
        setup.connect(&client, "localhost").get("/").expect(200);
        setup.daemon.stop();
        setup.daemon.restart();
        let mut again = setup.connect(&client, "localhost");
        assert!(again.is_resumed());
        again.get("/").expect(200);
        setup.put(tls(json!([old, new]))).expect_done();
        let mut again = setup.connect(&client, "localhost");
        assert!(again.is_resumed());
        again.get("/").expect(200);
        setup.put(tls(json!([new]))).expect_done();
        assert!(setup.connect(&client, "localhost").is_resumed());
    }

    #[test]
    fn other_changes_keep_the_sessions() {
        let session = json!({ "cache_size": 10 });
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a", "session": session }));
        let client = setup.client();
        setup.connect(&client, "localhost").get("/").expect(200);
        setup.daemon.control().put("/config/routes/4/action/return", &json!(204)).expect_done();
        let mut again = setup.connect(&client, "localhost");
        assert!(again.is_resumed());
        again.get("/").expect(204);
    }

    #[test]
    fn open_connections_outlive_their_certificate() {
        let setup = Setup::start(&["a=localhost", "b=localhost"], json!({ "certificate": "a" }));
        let client = setup.client();
        let mut open = setup.connect(&client, "localhost");
        open.get("/").expect(200);
        setup.put(json!({ "certificate": "b" })).expect_done();
        open.get("/").expect(200);
        assert_eq!(setup.shown(&client, "localhost"), 1);
        let used = setup.daemon.control().delete("/certificates/b");
        assert_eq!(used.0.expect(400).json()["error"], "Certificate is used in the configuration.");
        setup.daemon.control().delete("/certificates/a").0.expect(200);
    }

    #[test]
    fn tls_can_be_switched_on_and_off() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let path = format!("/config/listeners/{}/tls", setup.daemon.address());
        let mut open = setup.connect(&setup.client(), "localhost");
        setup.daemon.control().delete(&path).expect_done();
        setup.daemon.get("/").expect(200);
        open.get("/").expect(200);
        setup.daemon.control().put(&path, &json!({ "certificate": "a" })).expect_done();
        setup.connect(&setup.client(), "localhost").get("/").expect(200);
    }

    #[test]
    fn the_proxy_protocol_comes_before_tls() {
        let setup = Setup::start(&["a=localhost"], json!({ "certificate": "a" }));
        let address = Address::fresh();
        let mut document = setup.config(json!({ "certificate": "a" }));
        let mut listener = document["listeners"][setup.daemon.address().to_string()].take();
        listener["proxy_protocol"] = json!({ "source": "127.0.0.0/8" });
        document["listeners"] = json!({ address.to_string(): listener });
        document["routes"][2]["action"]["location"] = json!("/$remote_addr");
        setup.daemon.control().put("/config", &document).expect_done();
        let mut client = Client::connect(address.socket());
        client.write("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n");
        let mut client = client.into_tls(&setup.client(), "localhost").unwrap();
        client.get("/tls").expect(301).expect_field("Location", "/192.0.2.1");
    }
}
