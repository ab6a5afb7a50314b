//! Requests to authorities, and to the server that decides about names: over TLS that is verified, with limits on time
//! and size.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::TokioExecutor;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Certificates of authorities that servers are verified by.
pub(crate) type Roots = Arc<RootCertStore>;

/// Why there is no answer of an authority, or none by its rules.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AwayError {
    /// No connection.
    #[error("{host} cannot be reached: {cause}")]
    Unreachable {
        /// Name of the server, with its port.
        host: String,
        /// In words.
        cause: String,
    },
    /// The connection seems to lead to another server.
    #[error("the certificate of {host} is not trusted: {cause}")]
    NotTrusted {
        /// Name of the server, with its port.
        host: String,
        /// In words.
        cause: String,
    },
    /// Nothing in time.
    #[error("{host} does not answer in {} seconds", LONGEST.as_secs())]
    Slow {
        /// Name of the server, with its port.
        host: String,
    },
    /// An error page, as servers in front of authorities make them.
    #[error("{host} answers with status {status}")]
    Status {
        /// Name of the server, with its port.
        host: String,
        /// Status of the answer.
        status: StatusCode,
    },
    /// More than any answer needs, or a connection that broke.
    #[error("the answer of {host} cannot be read: {cause}")]
    Body {
        /// Name of the server, with its port.
        host: String,
        /// In words.
        cause: String,
    },
    /// Nobody's certificate could be verified.
    #[error(
        "this system has no certificate authorities to verify servers by; install the package \"ca-certificates\""
    )]
    NoRoots,
    /// A bundle without certificates.
    #[error("the bundle \"{0}\" of \"ca\" has no certificate")]
    EmptyBundle(String),
    /// rustls refuses the settings.
    #[error("TLS cannot be used")]
    Tls(#[from] rustls::Error),
}

/// The system's authorities. Reads files.
pub(crate) fn system_roots() -> Result<Roots, AwayError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() { Err(AwayError::NoRoots) } else { Ok(Arc::new(roots)) }
}

/// The authorities of a bundle named `name`.
pub(crate) fn bundle_roots(name: &str, pem: &[u8]) -> Result<Roots, AwayError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
    if roots.is_empty() { Err(AwayError::EmptyBundle(name.to_owned())) } else { Ok(Arc::new(roots)) }
}

/// Sends requests. Clones share connections.
#[derive(Clone)]
pub(crate) struct AcmeRequests {
    client: Client<HttpsConnector<HttpConnector>, BodyWrapper<Bytes>>,
}

impl AcmeRequests {
    /// To servers with TLS alone, which have to prove themselves by `roots`.
    pub(crate) fn secured(roots: Roots) -> Result<Self, AwayError> {
        let builder = HttpsConnectorBuilder::new().with_tls_config(config(roots)?).https_only();
        Ok(Self::new(builder.enable_http1().build()))
    }

    /// To servers with TLS, as above, and without.
    pub(crate) fn any(roots: Roots) -> Result<Self, AwayError> {
        let builder = HttpsConnectorBuilder::new().with_tls_config(config(roots)?).https_or_http();
        Ok(Self::new(builder.enable_http1().build()))
    }

    fn new(connector: HttpsConnector<HttpConnector>) -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Sends one request, and waits for all of the answer.
    pub(crate) async fn send(
        &self,
        mut request: Request<BodyWrapper<Bytes>>,
    ) -> Result<Response<Bytes>, AwayError> {
        let host = request.uri().authority().map_or_else(String::new, ToString::to_string);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(PRODUCT));
        match tokio::time::timeout(LONGEST, self.exchange(&host, request)).await {
            Ok(result) => result,
            Err(_) => Err(AwayError::Slow { host }),
        }
    }

    async fn exchange(
        &self,
        host: &str,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Result<Response<Bytes>, AwayError> {
        let host = host.to_owned();
        let (head, body) = match self.client.request(request).await {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(unreachable(host, &error)),
        };
        match Limited::new(body, MOST_BYTES).collect().await {
            Ok(body) => Ok(Response::from_parts(head, body.to_bytes())),
            Err(cause) => Err(AwayError::Body { host, cause: cause.to_string() }),
        }
    }
}

impl HttpClient for AcmeRequests {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let requests = self.clone();
        Box::pin(async move {
            let host = request.uri().authority().map_or_else(String::new, ToString::to_string);
            let response = requests.send(request).await.map_err(other)?;
            let status = response.status();
            let is_error = status.is_client_error() || status.is_server_error();
            if is_error {
                let _ = PUT_OFF.try_with(|put_off| put_off.set(put_off_until(response.headers())));
            }
            if is_error && !is_json(response.headers()) {
                return Err(other(AwayError::Status { host, status }));
            }
            let (parts, body) = response.into_parts();
            Ok(BytesResponse { parts, body: Box::new(body) })
        })
    }
}

tokio::task_local! {
    /// `Retry-After` of the last answer with an error. instant-acme keeps that to itself.
    static PUT_OFF: Cell<Option<SystemTime>>;
}

/// Runs `work` such that `retry_at` tells what its last answer with an error said.
pub(crate) async fn noting_retry_after<T>(work: impl Future<Output = T>) -> T {
    PUT_OFF.scope(Cell::new(None), work).await
}

/// `Retry-After` of the last answer with an error (RFC 8555 section 6.6).
pub(crate) fn retry_at() -> Option<SystemTime> {
    PUT_OFF.try_with(Cell::get).ok().flatten()
}

fn put_off_until(headers: &HeaderMap) -> Option<SystemTime> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => SystemTime::now().checked_add(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok(),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/problem+json") || kind.eq_ignore_ascii_case("application/json")
}

fn other(error: AwayError) -> Error {
    Error::Other(Box::new(error))
}

/// Says why by the error that all others follow from.
fn unreachable(host: String, error: &legacy::Error) -> AwayError {
    let mut deepest: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = source(deepest) {
        deepest = source;
        if let Some(rustls::Error::InvalidCertificate(_)) = deepest.downcast_ref() {
            return AwayError::NotTrusted { host, cause: deepest.to_string() };
        }
    }
    AwayError::Unreachable { host, cause: deepest.to_string() }
}

/// An error of input and output does not name the one that it carries as its source.
fn source<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a (dyn std::error::Error + 'static)> {
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(carried) => Some(carried),
        None => error.source(),
    }
}

fn config(roots: Roots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A request with its answer.
const LONGEST: Duration = Duration::from_secs(30);

/// Chains of certificates have some kilobytes.
const MOST_BYTES: usize = 1024 * 1024;

const PRODUCT: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"), " instant-acme");

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let until = put_off_until(&headers(RETRY_AFTER, "120")).unwrap();
        let wait = until.duration_since(SystemTime::now()).unwrap();
        assert!((118..=120).contains(&wait.as_secs()));
        let until = put_off_until(&headers(RETRY_AFTER, "Mon, 21 Sep 2026 14:13:20 GMT"));
        assert_eq!(until, Some(crate::time::of_seconds(1_790_000_000)));
        for nonsense in ["", "soon", "-1", "99999999999999999999", "18446744073709551615"] {
            assert_eq!(put_off_until(&headers(RETRY_AFTER, nonsense)), None);
        }
    }

    #[test]
    fn problem_documents_are_told_from_error_pages() {
        for kind in ["application/problem+json", "application/json; charset=utf-8"] {
            assert!(is_json(&headers(CONTENT_TYPE, kind)));
        }
        assert!(!is_json(&headers(CONTENT_TYPE, "text/html")));
        assert!(!is_json(&HeaderMap::new()));
    }

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        assert!(matches!(bundle_roots("ca", b"nothing"), Err(AwayError::EmptyBundle(_))));
    }
}
