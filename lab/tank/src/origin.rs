//! Servers that requests go to: scheme, host and port, with the address that the host had when the run began.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{Context, Result, bail};
use http::Uri;
use http::uri::Authority;

/// One server, to which connections can be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) is_tls: bool,
    /// As the URL has it, with the port where that is not the scheme's.
    pub(crate) authority: Authority,
    pub(crate) address: SocketAddr,
}

impl Origin {
    /// The server of a URL. Looks its host up.
    pub(crate) fn of(url: &Uri) -> Result<Self> {
        let is_tls = match url.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => bail!("{url} does not begin with http:// or https://"),
        };
        let authority = url.authority().with_context(|| format!("{url} has no host"))?.clone();
        if authority.as_str().contains('@') {
            bail!("{url} has a user; send one by --header 'Authorization: …'");
        }
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = authority.host().trim_matches(['[', ']']);
        let found = (host, port).to_socket_addrs().with_context(|| format!("look up {host}"))?;
        // `localhost` is both, and servers under test mostly listen to the older one.
        let address =
            found.min_by_key(SocketAddr::is_ipv6).with_context(|| format!("{host} has no address"))?;
        Ok(Self { is_tls, authority, address })
    }

    pub(crate) fn host(&self) -> &str {
        self.authority.host().trim_matches(['[', ']'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_follow_the_scheme() {
        for (url, is_tls, address) in [
            ("http://127.0.0.1/a", false, "127.0.0.1:80"),
            ("https://127.0.0.1", true, "127.0.0.1:443"),
            ("https://[::1]:8443/", true, "[::1]:8443"),
            ("http://localhost:81/", false, "127.0.0.1:81"),
        ] {
            let origin = Origin::of(&url.parse().expect("it is a URL")).expect(url);
            assert_eq!((origin.is_tls, origin.address.to_string()), (is_tls, address.to_owned()), "{url}");
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for url in ["ftp://127.0.0.1/", "/path", "http://user@127.0.0.1/"] {
            assert!(Origin::of(&url.parse().expect("it is a URL")).is_err(), "{url}");
        }
    }
}
