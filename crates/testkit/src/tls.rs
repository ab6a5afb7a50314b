//! TLS for tests: an authority that signs whatever is asked for, and what a client needs to know.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::parse_x509_certificate;

/// A certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The certificate in PEM.
    pub certificate: String,
    /// The private key in PEM.
    pub key: String,
}

impl Bundle {
    /// One of `tests/fixtures/version1`, which `openssl x509` has made and rcgen cannot make: an `authority.pem`,
    /// `signed.pem` by it for `origin.example`, and `forged.pem` by another of the same name.
    ///
    /// # Panics
    /// When there is no such file.
    #[must_use]
    pub fn of_version_1(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version1");
        let pem = std::fs::read_to_string(folder.join(name)).expect("a fixture");
        let (certificate, key) = pem.split_at(pem.find("-----BEGIN PRIVATE KEY").expect("a key"));
        Self { certificate: certificate.to_owned(), key: key.to_owned() }
    }

    /// As it is uploaded.
    #[must_use]
    pub fn pem(&self) -> String {
        format!("{}{}", self.certificate, self.key)
    }

    /// The settings of a test's server; it is for the client to say what is wrong with it.
    pub(crate) fn server_config(&self) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(self.certified())))
    }

    fn certified(&self) -> CertifiedKey {
        let pem = self.pem();
        let certificates =
            CertificateDer::pem_slice_iter(pem.as_bytes()).map(|found| found.expect("a certificate"));
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).expect("a private key");
        let key = aws_lc_rs::default_provider().key_provider.load_private_key(key).expect("a valid key");
        CertifiedKey::new(certificates.collect(), key)
    }

    /// As `server_config`, for a server that wants a certificate of this authority from its clients.
    pub(crate) fn mutual_config(&self, authority: &Authority) -> ServerConfig {
        let mut trusted = RootCertStore::empty();
        let certificate = authority.bundle().certificate;
        trusted
            .add(CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM"))
            .expect("an authority");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(trusted), Arc::clone(&provider));
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_client_cert_verifier(verifier.build().expect("an authority"))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(self.certified())))
    }

    /// The certificate in DER, as servers show it.
    #[must_use]
    pub fn der(&self) -> Vec<u8> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("rcgen writes PEM").to_vec()
    }

    /// With the certificate of the authority behind it, as a client or a server shows a chain.
    #[must_use]
    pub fn with_issuer(mut self, issuer: &Authority) -> Self {
        self.certificate += &issuer.bundle().certificate;
        self
    }

    fn serial_number(&self) -> SerialNumber {
        let der = self.der();
        let (_, certificate) = parse_x509_certificate(&der).expect("rcgen writes certificates");
        SerialNumber::from_slice(certificate.raw_serial())
    }
}

impl Authority {
    /// An authority with a key of its own.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(CertifiedIssuer::self_signed(authority_params(name), new_key()).expect("a valid authority"))
    }

    /// An authority that this one vouches for.
    #[must_use]
    pub fn intermediate(&self, name: &str) -> Self {
        let issuer = CertifiedIssuer::signed_by(authority_params(name), new_key(), &self.0);
        Self(issuer.expect("a valid authority"))
    }

    /// The authority's own certificate, with its key as uploads need one.
    #[must_use]
    pub fn bundle(&self) -> Bundle {
        Bundle { certificate: self.0.pem(), key: self.0.key().serialize_pem() }
    }

    /// A server's certificate for these DNS names; without any it has no alternative names at all.
    #[must_use]
    pub fn server(&self, common_name: &str, dns_names: &[&str]) -> Bundle {
        self.sign(server_params(dns_names), common_name, ExtendedKeyUsagePurpose::ServerAuth, &new_key())
    }

    /// As `server`, with a key of RSA in place of one of ECDSA.
    #[must_use]
    pub fn server_of_rsa(&self, common_name: &str, dns_names: &[&str]) -> Bundle {
        let key = KeyPair::generate_for(&PKCS_RSA_SHA256).expect("a new key");
        self.sign(server_params(dns_names), common_name, ExtendedKeyUsagePurpose::ServerAuth, &key)
    }

    /// A client's certificate.
    #[must_use]
    pub fn client(&self, common_name: &str) -> Bundle {
        self.sign(CertificateParams::default(), common_name, ExtendedKeyUsagePurpose::ClientAuth, &new_key())
    }

    /// The list of the certificates that the authority has revoked, in PEM; good until a year ends.
    #[must_use]
    pub fn revocation_list(&self, revoked: &[&Bundle], last_year: i32) -> String {
        let begin = date_time_ymd(2020, 1, 1);
        let revoked = revoked.iter().map(|bundle| RevokedCertParams {
            serial_number: bundle.serial_number(),
            revocation_time: begin,
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: begin,
            next_update: date_time_ymd(last_year, 12, 31),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).expect("a valid list").pem().expect("PEM")
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
        key: &KeyPair,
    ) -> Bundle {
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(key, &self.0).expect("a valid certificate");
        Bundle { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn server_params(dns_names: &[&str]) -> CertificateParams {
    let names: Vec<_> = dns_names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("valid names")
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("a new key")
}

/// The settings of a TLS client: the authorities that it trusts, and its offers. Sessions are kept from one connection
/// to the next.
#[derive(Debug, Clone)]
pub struct TlsClient {
    authorities: RootCertStore,
    identity: Option<Bundle>,
    versions: Vec<&'static SupportedProtocolVersion>,
    provider: CryptoProvider,
    sends_name: bool,
    protocols: Vec<Vec<u8>>,
    /// Made for the first connection; the others resume its sessions.
    config: OnceLock<Arc<ClientConfig>>,
}

impl TlsClient {
    /// A client that believes this authority.
    #[must_use]
    pub fn new(authority: &Authority) -> Self {
        Self::trusting(&authority.bundle().certificate)
    }

    /// A client that believes the authorities of these certificates, in PEM.
    ///
    /// # Panics
    /// When they are none.
    #[must_use]
    pub fn trusting(pem: &str) -> Self {
        let mut authorities = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            authorities.add(certificate.expect("PEM")).expect("a valid authority");
        }
        Self {
            authorities,
            identity: None,
            versions: rustls::ALL_VERSIONS.to_vec(),
            provider: aws_lc_rs::default_provider(),
            sends_name: true,
            protocols: Vec::new(),
            config: OnceLock::new(),
        }
    }

    /// Shows a certificate when it is asked for one.
    #[must_use]
    pub fn identity(mut self, bundle: &Bundle) -> Self {
        self.identity = Some(bundle.clone());
        self.changed()
    }

    /// Speaks no other versions.
    #[must_use]
    pub fn versions(mut self, versions: &[&'static SupportedProtocolVersion]) -> Self {
        self.versions = versions.to_vec();
        self.changed()
    }

    /// Offers only what the filter leaves of the usual cryptography.
    #[must_use]
    pub fn provider(mut self, change: impl FnOnce(&mut CryptoProvider)) -> Self {
        change(&mut self.provider);
        self.changed()
    }

    /// Does not say which host it wants.
    #[must_use]
    pub fn without_name(mut self) -> Self {
        self.sends_name = false;
        self.changed()
    }

    /// Says that it speaks these protocols (ALPN, RFC 7301).
    #[must_use]
    pub fn protocols(mut self, names: &[&str]) -> Self {
        self.protocols = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        self.changed()
    }

    fn changed(mut self) -> Self {
        self.config = OnceLock::new();
        self
    }

    /// The settings, for connections of a test's own.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(self.config.get_or_init(|| self.build()))
    }

    fn build(&self) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(Arc::new(self.provider.clone()));
        let builder = builder.with_protocol_versions(&self.versions).expect("the versions fit the suites");
        let builder = builder.with_root_certificates(self.authorities.clone());
        let mut config = match &self.identity {
            Some(bundle) => {
                let chain = CertificateDer::pem_slice_iter(bundle.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(bundle.key.as_bytes());
                let chain = chain.map(|certificate| certificate.expect("rcgen writes PEM")).collect();
                let key = self.provider.key_provider.load_private_key(key.expect("rcgen writes PEM"));
                // It is for the server to say what is wrong with it.
                let identity = CertifiedKey::new(chain, key.expect("a valid key"));
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity)))
            }
            None => builder.with_no_client_auth(),
        };
        config.enable_sni = self.sends_name;
        config.alpn_protocols.clone_from(&self.protocols);
        Arc::new(config)
    }
}
