//! Requests that a component sends (`wasi:http/outgoing-handler`).

use std::error::Error as _;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// How long a server may take with what no bound was set for.
const PATIENCE: Duration = Duration::from_secs(600);

/// Sends requests. Each has a connection of its own, since idle ones would be unattended between requests.
#[derive(Default)]
pub(crate) struct Outgoing {
    client: OnceLock<HttpClient>,
}

type HttpClient = Client<HttpsConnector<HttpConnector>, WasiBody>;

type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let client = self.client.get_or_init(connect).clone();
        Box::new(send(client, request, options.unwrap_or_default()))
    }
}

async fn send(client: HttpClient, request: Request<WasiBody>, options: RequestOptions) -> Sent {
    let connect = options.connect_timeout.unwrap_or(PATIENCE);
    let patience = connect.saturating_add(options.first_byte_timeout.unwrap_or(PATIENCE));
    let response = tokio::time::timeout(patience, client.request(request)).await;
    let response = response.map_err(|_| Error::ConnectionReadTimeout)?.map_err(|error| failed(&error))?;
    let response = response.map(|body| body.map_err(Error::from).boxed_unsync());
    Ok((response, Box::new(async { Ok(()) })))
}

fn connect() -> HttpClient {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the usual versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)
}

/// As near as the component's terms come.
fn failed(error: &hyper_util::client::legacy::Error) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            return Error::Connect(io::Error::new(inner.kind(), inner.to_string()));
        }
        cause = inner.source();
    }
    if error.is_connect() { Error::DestinationUnavailable } else { Error::HttpProtocolError }
}
