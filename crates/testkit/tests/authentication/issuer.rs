//! An issuer of tokens: keys by OpenSSL, tokens and sets of keys by PyJWT, which Python's own server tells anybody.

use std::process::{Child, Command, Stdio};

use corral_testkit::{Address, Site, eventually};
use serde_json::Value;

use crate::output;

/// A key, and where its public half is.
pub(crate) struct Key {
    site: Site,
    algorithm: String,
}

impl Key {
    pub(crate) fn new(algorithm: &str) -> Self {
        let site = corral_testkit::site();
        let path = site.path("private.pem");
        let private = path.to_str().expect("test paths are text");
        let arguments: &[&str] = match algorithm.get(..2) {
            Some("RS" | "PS") => &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            Some("ES") if algorithm == "ES256" => {
                &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
            }
            Some("ES") => &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
            _ => &["-algorithm", "ed25519"],
        };
        output("openssl", &[&["genpkey", "-out", private], arguments].concat(), "");
        let public = output("openssl", &["pkey", "-in", private, "-pubout"], "");
        site.write("public.pem", public + "\n");
        Self { site, algorithm: algorithm.to_owned() }
    }

    pub(crate) fn public(&self) -> std::path::PathBuf {
        self.site.path("public.pem")
    }

    /// A token with these claims; `exp` and the like are seconds from now.
    pub(crate) fn token(&self, claims: &Value, id: Option<&str>) -> String {
        let path = self.site.path("private.pem");
        sign(&self.algorithm, path.to_str().expect("test paths are text"), claims, id)
    }

    /// The public half of the key as an element of a set.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        let path = self.site.path("private.pem");
        let text =
            output("/usr/bin/python3", &["-c", JWK, path.to_str().expect("test paths are text"), id], "");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

/// A token by PyJWT, signed by the key in a file.
pub(crate) fn sign(algorithm: &str, key: &str, claims: &Value, id: Option<&str>) -> String {
    let claims = claims.to_string();
    output("/usr/bin/python3", &["-c", SIGN, algorithm, key, &claims, id.unwrap_or_default()], "")
}

const SIGN: &str = "
import json, sys, time, jwt
algorithm, key, claims, kid = sys.argv[1:]
claims = json.loads(claims)
for name in ('exp', 'nbf', 'iat'):
    if isinstance(claims.get(name), int):
        claims[name] += int(time.time())
print(jwt.encode(claims, open(key).read().rstrip('\\n'), algorithm=algorithm, headers={'kid': kid} if kid else None))
";

const JWK: &str = "
import json, sys, jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key
key = load_pem_private_key(open(sys.argv[1], 'rb').read(), None).public_key()
print(json.dumps({**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key)), 'kid': sys.argv[2], 'use': 'sig'}))
";

/// A server of a set of keys, which can be ended and started again at the same port.
pub(crate) struct Issuer {
    site: Site,
    address: Address,
    server: Option<Child>,
}

impl Issuer {
    /// Not started yet.
    pub(crate) fn new(keys: &[Value]) -> Self {
        let issuer = Self { site: corral_testkit::site(), address: Address::fresh(), server: None };
        issuer.rotate(keys);
        issuer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/jwks.json", self.address)
    }

    pub(crate) fn rotate(&self, keys: &[Value]) {
        self.site.write("jwks.json", serde_json::json!({ "keys": keys }).to_string());
    }

    pub(crate) fn start(&mut self) {
        let mut command = Command::new("python3");
        let address = self.address.socket();
        command.args(["-m", "http.server", "--bind", &address.ip().to_string(), &address.port().to_string()]);
        command.current_dir(self.site.root()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(command.spawn().expect("Python starts"));
        eventually("the issuer listens", || {
            std::net::TcpStream::connect::<std::net::SocketAddr>(address).ok()
        });
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().and_then(|()| server.wait()).expect("it ends");
        }
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.stop();
    }
}
