//! How collectors are spoken to: OTLP over HTTP or gRPC, with or without TLS. Spans and figures share connections.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::Context as _;
use corral_config::settings::{TelemetryProtocol, TelemetrySettings};
use hyper_rustls::builderstates::WantsProtocols1;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_otlp::{
    Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tonic::transport::{Channel, Endpoint};

use super::figures::FigureExporter;
use super::losses::TIMEOUT;

/// A client gives up later than what sends, which knows what to say then.
const CLIENT_TIMEOUT: Duration = TIMEOUT.saturating_mul(2);

/// The ways to the collectors of one configuration.
pub(super) struct Exporters {
    pub(super) spans: SpanExporter,
    pub(super) figures: Option<FigureExporter>,
}

impl Exporters {
    /// `trust` has the authorities for collectors that speak TLS.
    pub(super) fn new(settings: &TelemetrySettings, trust: Option<ClientConfig>) -> anyhow::Result<Self> {
        let connector = trust.map(|trust| connector(settings, trust)).transpose()?;
        let mut exporters = match (settings.protocol, connector) {
            (TelemetryProtocol::Http, None) => over_http(settings, HttpConnector::new()),
            (TelemetryProtocol::Http, Some(connector)) => {
                over_http(settings, connector.enable_http1().build())
            }
            (TelemetryProtocol::Grpc, connector) => over_grpc(settings, connector),
        }?;
        let resource = Resource::builder_empty().with_service_name(settings.service_name.clone());
        exporters.spans.set_resource(&resource.build());
        Ok(exporters)
    }
}

/// Connections with TLS; what is spoken on top is still to be said.
type Connector = HttpsConnectorBuilder<WantsProtocols1>;

fn connector(settings: &TelemetrySettings, mut trust: ClientConfig) -> anyhow::Result<Connector> {
    // It depends on what is spoken on top.
    trust.alpn_protocols.clear();
    let connector = HttpsConnectorBuilder::new().with_tls_config(trust).https_only();
    let Some(name) = &settings.tls.server_name else { return Ok(connector) };
    let name = ServerName::try_from(name.clone()).with_context(|| format!("the server name \"{name}\""))?;
    Ok(connector.with_server_name_resolver(FixedServerNameResolver::new(name)))
}

fn over_http<C>(settings: &TelemetrySettings, connector: C) -> anyhow::Result<Exporters>
where
    C: Connect + Clone + Debug + Send + Sync + 'static,
{
    let client = HyperClient::new(connector, CLIENT_TIMEOUT, None);
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
    let builder = builder.with_endpoint(&settings.endpoint).with_timeout(TIMEOUT);
    let spans = builder.with_http_client(client.clone()).build()?;
    let figures = settings.metrics.as_ref();
    let figures = figures.map(|metrics| FigureExporter::http(client, &metrics.endpoint)).transpose()?;
    Ok(Exporters { spans, figures })
}

fn over_grpc(settings: &TelemetrySettings, connector: Option<Connector>) -> anyhow::Result<Exporters> {
    let connector = connector.map(|connector| connector.enable_http2().build());
    let channel = |url: &str| -> anyhow::Result<Channel> {
        let endpoint = Endpoint::from_shared(url.to_owned())?.timeout(CLIENT_TIMEOUT);
        Ok(match &connector {
            Some(connector) => endpoint.connect_with_connector_lazy(connector.clone()),
            None => endpoint.connect_lazy(),
        })
    };
    let for_spans = channel(&settings.endpoint)?;
    let figures = match &settings.metrics {
        None => None,
        Some(metrics) if metrics.endpoint == settings.endpoint => Some(for_spans.clone()),
        Some(metrics) => Some(channel(&metrics.endpoint)?),
    };
    let builder = SpanExporter::builder().with_tonic().with_endpoint(&settings.endpoint);
    let spans = builder.with_timeout(TIMEOUT).with_channel(for_spans).build()?;
    Ok(Exporters { spans, figures: figures.map(FigureExporter::grpc) })
}
