//! How clients reach the site of `corral run`: by plain HTTP, by HTTPS with the local authority, or by HTTPS with
//! certificates that are ordered.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use serde_json::{Map, Value, json};

use super::address::{AddressError, check_address};
use super::folder::RunFolder;
use super::local::LocalHttps;
use super::options::RunOptions;
use crate::authority::is_private;
use crate::user_dirs::{self, BaseDir};

/// The name of the authority's bundle of `--acme-ca`.
const ACME_CA: &str = "acme-ca";

/// The addresses that are listened on.
#[derive(Debug)]
pub(super) struct Front {
    /// The address that the site is announced at.
    listen: ListenAddress,
    kind: FrontKind,
}

#[derive(Debug)]
enum FrontKind {
    Plain,
    Local(LocalHttps),
    Public(Public),
}

/// `--domain`.
#[derive(Debug)]
struct Public {
    /// Where plain HTTP is redirected, and the authority's questions are answered.
    plain: ListenAddress,
    names: Vec<String>,
    /// Members of `acme` beside the names.
    acme: Map<String, Value>,
    /// The certificates that the directory's own is verified by.
    ca: Option<PathBuf>,
}

impl Front {
    pub(super) fn of(options: &RunOptions) -> anyhow::Result<Self> {
        let (host, port) = match (options.https, options.domain.is_empty()) {
            (true, _) => ("127.0.0.1", 8443),
            (false, true) => ("127.0.0.1", 8080),
            (false, false) => ("*", 443),
        };
        let host = options.host.as_deref().unwrap_or(host);
        let default = || host_and_port(host, options.port.unwrap_or(port));
        let listen = listen_address(&options.listen.clone().unwrap_or_else(default))?;
        let kind = if options.https {
            FrontKind::Local(LocalHttps::of(&listen, &options.domain)?)
        } else if options.domain.is_empty() {
            FrontKind::Plain
        } else {
            FrontKind::Public(Public::of(options)?)
        };
        Ok(Self { listen, kind })
    }

    /// `listeners` of the configuration.
    pub(super) fn listeners(&self) -> Map<String, Value> {
        let listen = self.listen.to_string();
        let listeners = match &self.kind {
            FrontKind::Plain => json!({ listen: { "pass": "routes" } }),
            FrontKind::Local(_) => {
                json!({ listen: { "pass": "routes", "tls": { "certificate": LocalHttps::CERTIFICATE } } })
            }
            // Authorities look at the usual ports, wherever these lead to: a redirection names the usual one.
            FrontKind::Public(public) => json!({
                public.plain.to_string(): { "pass": "routes", "https_only": true },
                listen: { "pass": "routes", "tls": { "acme": public.acme } },
            }),
        };
        match listeners {
            Value::Object(listeners) => listeners,
            _ => Map::new(),
        }
    }

    /// The names of bundles that the configuration uses.
    pub(super) fn certificates(&self) -> Vec<String> {
        match &self.kind {
            FrontKind::Local(_) => vec![LocalHttps::CERTIFICATE.to_owned()],
            FrontKind::Public(Public { ca: Some(_), .. }) => vec![ACME_CA.to_owned()],
            FrontKind::Plain | FrontKind::Public(_) => Vec::new(),
        }
    }

    /// Puts certificates into a state directory, where one is needed. That of ordered certificates stays.
    pub(super) fn prepare(&mut self, folder: &RunFolder) -> anyhow::Result<Option<PathBuf>> {
        match &mut self.kind {
            FrontKind::Plain => Ok(None),
            FrontKind::Local(local) => local.prepare(folder).map(Some),
            FrontKind::Public(public) => public.prepare().map(Some),
        }
    }

    /// Lines about certificates that are not the usual.
    pub(super) fn notice(&self) -> String {
        match &self.kind {
            FrontKind::Local(local) => local.notice(),
            FrontKind::Plain | FrontKind::Public(_) => String::new(),
        }
    }

    /// A call for a control API that has begun to serve.
    pub(super) fn once_served(self, control: &Path) -> Option<Box<dyn FnOnce() + Send>> {
        match self.kind {
            FrontKind::Local(local) => Some(local.keep_renewed(control.to_owned())),
            FrontKind::Plain | FrontKind::Public(_) => None,
        }
    }

    /// The URL to type into a browser.
    pub(super) fn url(&self) -> String {
        match &self.kind {
            FrontKind::Plain => url(&self.listen),
            FrontKind::Local(local) => local.url(&self.listen),
            FrontKind::Public(public) => {
                let urls = public.names.iter().map(|name| format!("https://{name}"));
                urls.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Fails where privileges are missing to listen, or where another program does; other reasons are told when it is
    /// tried in earnest. A person at a terminal gets the next port that is free, and the notice that is returned.
    pub(super) fn check(&mut self, at_terminal: bool) -> anyhow::Result<Option<String>> {
        if let FrontKind::Public(public) = &self.kind {
            check_address(&public.plain)?;
            check_address(&self.listen)?;
            return Ok(None);
        }
        let taken = match check_address(&self.listen) {
            Err(AddressError::Taken(taken)) if at_terminal => taken,
            checked => return checked.map(|()| None).map_err(Into::into),
        };
        let Some(free) = taken.next_free() else { return Err(AddressError::Taken(taken).into()) };
        self.listen = ListenAddress::Inet(free);
        Ok(Some(format!(
            "note: {}; the site is served at port {} in its place\n",
            taken.reason(),
            free.port()
        )))
    }
}

impl Public {
    fn of(options: &RunOptions) -> anyhow::Result<Self> {
        // An authority of one's own may sign for any name.
        let is_of_this_machine = |name: &&String| options.acme_directory.is_none() && is_private(name);
        if let Some(name) = options.domain.iter().find(is_of_this_machine) {
            bail!(
                "no public authority signs for \"{name}\", which is a name of this machine or network: use --https, \
                 which has a local certificate, or --https --domain {name}"
            );
        }
        let plain = listen_address(options.listen_http.as_deref().unwrap_or("*:80"))?;
        let mut acme = Map::new();
        acme.insert("names".to_owned(), json!(options.domain));
        let texts = [("email", &options.email), ("directory", &options.acme_directory)];
        for (name, text) in texts {
            acme.extend(text.as_ref().map(|text| (name.to_owned(), json!(text))));
        }
        let ca = options.acme_ca.clone();
        acme.extend(ca.as_ref().map(|_| ("ca".to_owned(), json!(ACME_CA))));
        Ok(Self { plain, names: options.domain.clone(), acme, ca })
    }

    fn prepare(&self) -> anyhow::Result<PathBuf> {
        let state = user_dirs::folder_or_state(BaseDir::State, "run");
        let state = state.map_err(|reason| {
            anyhow::anyhow!(
                "certificates of --domain have to be kept, and there is no place for them: {reason}"
            )
        })?;
        if let Some(ca) = &self.ca {
            let text = std::fs::read_to_string(ca).with_context(|| format!("read \"{}\"", ca.display()))?;
            let path = state.join("certs").join(ACME_CA);
            user_dirs::write(&path, &text, 0o600).with_context(|| format!("write \"{}\"", path.display()))?;
        }
        user_dirs::make_folder(&state).with_context(|| format!("create \"{}\"", state.display()))?;
        Ok(state)
    }
}

/// An address of IPv6 has brackets before a port.
fn host_and_port(host: &str, port: u16) -> String {
    match host.parse() {
        Ok(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

/// A port alone means this machine only.
fn listen_address(text: &str) -> anyhow::Result<ListenAddress> {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text);
    let full = if is_port(port) { format!("127.0.0.1:{port}") } else { text.to_owned() };
    ListenAddress::parse(full.as_bytes()).with_context(|| {
        format!(
            "\"{text}\" is not an address to listen on; examples: 8080, 127.0.0.1:8080, *:80, unix:/run/site.sock"
        )
    })
}

/// The URL of a listener without TLS, to be typed into a browser.
pub(super) fn url(listen: &ListenAddress) -> String {
    match listen {
        ListenAddress::Inet(address) if address.ip().is_unspecified() => {
            format!("http://localhost:{}", address.port())
        }
        ListenAddress::Inet(address) => format!("http://{address}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_listen(text: &str, expected: Option<(&str, &str)>) {
        let address = listen_address(text).ok();
        let found = address.as_ref().map(|address| (address.to_string(), url(address)));
        assert_eq!(found, expected.map(|(address, url)| (address.to_owned(), url.to_owned())), "{text}");
    }

    #[test]
    fn short_addresses_mean_this_machine() {
        check_listen("127.0.0.1:8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen("8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen(":8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen("localhost:80", Some(("127.0.0.1:80", "http://127.0.0.1:80")));
        check_listen("*:80", Some(("*:80", "http://localhost:80")));
        check_listen("[::1]:80", Some(("[::1]:80", "http://[::1]:80")));
        check_listen("unix:/a", Some(("unix:/a", "unix:/a")));
        check_listen(&host_and_port("::", 80), Some(("[::]:80", "http://localhost:80")));
        check_listen(&host_and_port("0.0.0.0", 80), Some(("*:80", "http://localhost:80")));
        check_listen(&host_and_port("localhost", 80), Some(("127.0.0.1:80", "http://127.0.0.1:80")));
        check_listen("", None);
        check_listen("0", None);
        check_listen("70000", None);
        check_listen("example.com:80", None);
    }
}
