//! A server in front of an authority, which holds requests until a test has done something.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use corral_testkit::{Address, Authority, Client, Request, TlsClient};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Passes everything on, and breaks connections whose request was held.
pub(crate) struct Front {
    place: Address,
    authority: Authority,
    shared: Arc<Shared>,
}

/// At which end of a request it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// The authority has not seen it.
    Asked,
    /// The authority has answered it; who asked has not seen that.
    Answered,
}

struct Shared {
    behind: SocketAddr,
    trusted: TlsClient,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hold: Option<(&'static str, When)>,
    is_held: bool,
    seen: Vec<String>,
}

impl Front {
    /// In front of the server at `behind`, which `trusted` vouches for.
    pub(crate) fn start(behind: SocketAddr, trusted: &str) -> Self {
        let (place, authority) = (Address::fresh(), Authority::new("The front"));
        let bundle = authority.server("front", &[&place.socket().ip().to_string()]);
        let chain = vec![CertificateDer::from_pem_slice(bundle.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(bundle.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap());
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { behind, trusted: TlsClient::trusting(trusted), state, changed });
        let listener = TcpListener::bind(place.socket()).unwrap();
        let accepted = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (shared, config) = (Arc::clone(&accepted), Arc::clone(&config));
                thread::spawn(move || drop(serve(&shared, config, client)));
            }
        });
        Self { place, authority, shared }
    }

    pub(crate) fn directory_url(&self) -> String {
        format!("https://{}/dir", self.place)
    }

    pub(crate) fn authority_pem(&self) -> String {
        self.authority.bundle().certificate
    }

    /// Holds the next request whose path begins so.
    pub(crate) fn hold(&self, path: &'static str, when: When) {
        let mut state = self.shared.state.lock().unwrap();
        *state = State { hold: Some((path, when)), is_held: false, seen: std::mem::take(&mut state.seen) };
    }

    /// Whether one is held before the time is over.
    pub(crate) fn await_held(&self, limit: Duration) -> bool {
        let state = self.shared.state.lock().unwrap();
        let (state, _) =
            self.shared.changed.wait_timeout_while(state, limit, |state| !state.is_held).unwrap();
        state.is_held
    }

    /// Breaks the connection of what is held; everything passes from then on.
    pub(crate) fn release(&self) {
        self.shared.state.lock().unwrap().hold = None;
        self.shared.changed.notify_all();
    }

    /// How many requests there were whose paths begin so.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.shared.state.lock().unwrap().seen.iter().filter(|seen| seen.starts_with(path)).count()
    }
}

impl Shared {
    /// Whether a request was held; returns when it no longer is.
    fn held(&self, path: &str, now: When) -> bool {
        let mut state = self.state.lock().unwrap();
        if now == When::Asked {
            state.seen.push(path.to_owned());
        }
        if !state.hold.is_some_and(|(held, when)| path.starts_with(held) && when == now) || state.is_held {
            return false;
        }
        state.is_held = true;
        self.changed.notify_all();
        let released = self.changed.wait_while(state, |state| state.hold.is_some());
        drop(released.unwrap());
        true
    }
}

fn serve(shared: &Shared, config: Arc<ServerConfig>, client: TcpStream) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, client));
    let host = shared.behind.ip().to_string();
    let mut behind = Client::connect(shared.behind).into_tls(&shared.trusted, &host)?;
    while let Some((path, request, has_body)) = read_request(&mut stream)? {
        if shared.held(&path, When::Asked) {
            break;
        }
        let response = behind.try_send(&request).map_err(io::Error::other)?;
        if shared.held(&path, When::Answered) {
            break;
        }
        let mut head =
            format!("HTTP/1.1 {} Passed\r\nContent-Length: {}\r\n", response.status, response.body.len());
        for name in ["Content-Type", "Location", "Replay-Nonce", "Retry-After"] {
            if let Some(value) = response.field(name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        let stream = stream.get_mut();
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        if has_body {
            stream.write_all(&response.body)?;
        }
        stream.flush()?;
    }
    Ok(())
}

/// The path of a request, the request as it is sent on, and whether its response has a body; none at the end of the
/// connection.
fn read_request(stream: &mut impl BufRead) -> io::Result<Option<(String, Request, bool)>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut request = Request::new(method, path);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().map_err(io::Error::other)?;
        } else {
            request = request.field(name, value);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    if length > 0 {
        request = request.body(body);
    }
    Ok(Some((path.to_owned(), request, method != "HEAD")))
}
