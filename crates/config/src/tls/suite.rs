//! The cipher suites and groups that there are, and what OpenSSL calls them.

/// A cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the standards")]
pub enum CipherSuite {
    Tls13Aes256Gcm,
    Tls13Chacha20,
    Tls13Aes128Gcm,
    EcdsaAes256Gcm,
    RsaAes256Gcm,
    EcdsaChacha20,
    RsaChacha20,
    EcdsaAes128Gcm,
    RsaAes128Gcm,
}

impl CipherSuite {
    /// All supported suites, the strongest first, as OpenSSL orders them.
    pub const ALL: [Self; 9] = [
        Self::Tls13Aes256Gcm,
        Self::Tls13Chacha20,
        Self::Tls13Aes128Gcm,
        Self::EcdsaAes256Gcm,
        Self::RsaAes256Gcm,
        Self::EcdsaChacha20,
        Self::RsaChacha20,
        Self::EcdsaAes128Gcm,
        Self::RsaAes128Gcm,
    ];

    /// As OpenSSL writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls13Aes256Gcm => "TLS_AES_256_GCM_SHA384",
            Self::Tls13Chacha20 => "TLS_CHACHA20_POLY1305_SHA256",
            Self::Tls13Aes128Gcm => "TLS_AES_128_GCM_SHA256",
            Self::EcdsaAes256Gcm => "ECDHE-ECDSA-AES256-GCM-SHA384",
            Self::RsaAes256Gcm => "ECDHE-RSA-AES256-GCM-SHA384",
            Self::EcdsaChacha20 => "ECDHE-ECDSA-CHACHA20-POLY1305",
            Self::RsaChacha20 => "ECDHE-RSA-CHACHA20-POLY1305",
            Self::EcdsaAes128Gcm => "ECDHE-ECDSA-AES128-GCM-SHA256",
            Self::RsaAes128Gcm => "ECDHE-RSA-AES128-GCM-SHA256",
        }
    }

    /// As IANA writes it.
    #[must_use]
    pub fn standard_name(self) -> &'static str {
        match self {
            Self::EcdsaAes256Gcm => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            Self::RsaAes256Gcm => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            Self::EcdsaChacha20 => "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            Self::RsaChacha20 => "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            Self::EcdsaAes128Gcm => "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            Self::RsaAes128Gcm => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            of_tls13 => of_tls13.name(),
        }
    }

    /// Whether it belongs to TLS 1.3, else to TLS 1.2.
    #[must_use]
    pub fn is_tls13(self) -> bool {
        matches!(self, Self::Tls13Aes256Gcm | Self::Tls13Chacha20 | Self::Tls13Aes128Gcm)
    }

    /// The number that stands for it on the wire.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Tls13Aes128Gcm => 0x1301,
            Self::Tls13Aes256Gcm => 0x1302,
            Self::Tls13Chacha20 => 0x1303,
            Self::EcdsaAes128Gcm => 0xc02b,
            Self::EcdsaAes256Gcm => 0xc02c,
            Self::RsaAes128Gcm => 0xc02f,
            Self::RsaAes256Gcm => 0xc030,
            Self::RsaChacha20 => 0xcca8,
            Self::EcdsaChacha20 => 0xcca9,
        }
    }

    /// The name that OpenSSL gives to the suite with this number.
    #[must_use]
    pub fn name_of(code: u16) -> Option<&'static str> {
        Self::ALL.into_iter().find(|suite| suite.code() == code).map(Self::name)
    }
}

/// A group for the key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the standards")]
pub enum Group {
    X25519MlKem768,
    X25519,
    Secp256r1,
    Secp384r1,
}

impl Group {
    /// All supported groups, in the order of preference: the one that a quantum computer does not break first.
    pub const ALL: [Self; 4] = [Self::X25519MlKem768, Self::X25519, Self::Secp256r1, Self::Secp384r1];

    /// The names that OpenSSL knows it by; the first is the one that is shown.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::X25519MlKem768 => &["X25519MLKEM768"],
            Self::X25519 => &["X25519"],
            Self::Secp256r1 => &["P-256", "prime256v1", "secp256r1"],
            Self::Secp384r1 => &["P-384", "secp384r1"],
        }
    }

    /// The group with this name in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.names().iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// The number that stands for it on the wire.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Secp256r1 => 23,
            Self::Secp384r1 => 24,
            Self::X25519 => 29,
            Self::X25519MlKem768 => 0x11ec,
        }
    }
}
