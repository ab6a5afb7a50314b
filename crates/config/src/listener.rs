//! Listeners as the router runs them.

use crate::address::ListenAddress;
use crate::authentication::Authentication;
use crate::control_service::ControlDestination;
use crate::layer4::Layer4;
use crate::pattern::address::AddressPatternSet;
use crate::route::{Action, Destination};
use crate::table::Key;
use crate::throttle::Throttle;
use crate::tls::TlsSettings;

/// One listening socket, and what happens to connections and requests before they are routed.
#[derive(Debug, Clone)]
pub struct Listener {
    /// Where to listen.
    pub address: ListenAddress,
    /// Length of the accept queue; `None` leaves it to the operating system's maximum.
    pub backlog: Option<u32>,
    /// Limits for clients.
    pub limits: Vec<Key<Throttle>>,
    /// The methods of authentication; asked after the limits.
    pub authentication: Option<Key<Authentication>>,
    /// Where requests go.
    pub pass: Destination,
    /// The outermost action of all its requests, which says what holds inside and passes to the same.
    pub defaults: Option<Box<Action>>,
    /// TLS, if it is spoken.
    pub tls: Option<TlsSettings>,
    /// Whether clients have to use TLS, here or at another listener.
    pub https_only: Option<HttpsOnly>,
    /// Where HTTP/2 is spoken beside HTTP/1.
    pub http2: Http2,
    /// Peers that begin each connection with a PROXY protocol header.
    pub proxy_protocol: Option<AddressPatternSet>,
    /// The headers in which trusted peers describe the client: `forwarded`, and after it the old `client_ip`.
    pub forwarded: Vec<Forwarded>,
    /// How connections are passed on that carry no HTTP.
    pub layer4: Option<Box<Layer4>>,
}

impl Listener {
    /// One that is reached within the router alone, and that believes what the router says about the protocol. `name`
    /// is what messages call it.
    pub(crate) fn inner(name: &[u8], pass: Destination) -> Self {
        let forwarded = Forwarded {
            source: AddressPatternSet::all(),
            client_ip: None,
            protocol: Some("X-Forwarded-Proto".to_owned()),
            recursive: false,
        };
        let address = ListenAddress::Abstract(name.into());
        Self { http2: Http2::Off, forwarded: vec![forwarded], ..Self::plain(address, pass) }
    }

    /// One that leads to the control process.
    pub(crate) fn to_control(
        address: ListenAddress,
        destination: ControlDestination,
        tls: Option<TlsSettings>,
    ) -> Self {
        Self { tls, ..Self::plain(address, Destination::Control(destination)) }
    }

    /// One without any option.
    fn plain(address: ListenAddress, pass: Destination) -> Self {
        Self {
            address,
            backlog: None,
            limits: Vec::new(),
            authentication: None,
            pass,
            defaults: None,
            tls: None,
            https_only: None,
            http2: Http2::default(),
            proxy_protocol: None,
            forwarded: Vec::new(),
            layer4: None,
        }
    }
}

/// The connections of a listener that may speak HTTP/2 (beyond Unit).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Http2 {
    /// No connection.
    Off,
    /// Connections with TLS whose clients ask for it (ALPN, RFC 7301).
    #[default]
    WithTls,
    /// Connections without TLS as well, if they begin with HTTP/2 (RFC 9113 section 3.3).
    PriorKnowledge,
}

/// `https_only`: requests without TLS are sent to where they have it, and browsers remember that (RFC 6797; beyond
/// Unit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpsOnly {
    /// Seconds for which browsers use nothing else; 0 makes them forget it.
    pub max_age: u32,
    /// All names below the host are meant as well.
    pub include_subdomains: bool,
    /// Makers of browsers may put the host on their list.
    pub preload: bool,
    /// The port that redirections name.
    pub port: u16,
}

/// Request fields in which trusted peers name the client that they speak for (contract 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarded {
    /// The trusted peers.
    pub source: AddressPatternSet,
    /// The field with the client's address, in the manner of X-Forwarded-For.
    pub client_ip: Option<String>,
    /// The field with the client's scheme, in the manner of X-Forwarded-Proto.
    pub protocol: Option<String>,
    /// Addresses in the field that are trusted peers themselves are skipped.
    pub recursive: bool,
}
