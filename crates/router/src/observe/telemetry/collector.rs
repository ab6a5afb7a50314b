//! How the collector is spoken to: OTLP over HTTP or gRPC, with or without TLS.

use anyhow::Context as _;
use corral_config::settings::{TelemetryProtocol, TelemetrySettings};
use hyper_rustls::builderstates::WantsProtocols1;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_otlp::{
    Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tonic::transport::Endpoint;

use super::export::TIMEOUT;

/// The exporter of spans. `trust` has the authorities for a collector that speaks TLS.
pub(super) fn exporter(
    settings: &TelemetrySettings,
    trust: Option<ClientConfig>,
) -> anyhow::Result<SpanExporter> {
    let connector = trust.map(|trust| connector(settings, trust)).transpose()?;
    let mut exporter = match settings.protocol {
        TelemetryProtocol::Http => over_http(&settings.endpoint, connector)?,
        TelemetryProtocol::Grpc => over_grpc(&settings.endpoint, connector)?,
    };
    let resource = Resource::builder_empty().with_service_name(settings.service_name.clone());
    exporter.set_resource(&resource.build());
    Ok(exporter)
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

fn over_http(endpoint: &str, connector: Option<Connector>) -> anyhow::Result<SpanExporter> {
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
    let builder = builder.with_endpoint(endpoint).with_timeout(TIMEOUT);
    let builder = match connector {
        Some(connector) => {
            builder.with_http_client(HyperClient::new(connector.enable_http1().build(), TIMEOUT, None))
        }
        None => builder,
    };
    Ok(builder.build()?)
}

fn over_grpc(endpoint: &str, connector: Option<Connector>) -> anyhow::Result<SpanExporter> {
    let builder = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(TIMEOUT);
    let builder = match connector {
        Some(connector) => {
            let endpoint = Endpoint::from_shared(endpoint.to_owned())?.timeout(TIMEOUT);
            builder.with_channel(endpoint.connect_with_connector_lazy(connector.enable_http2().build()))
        }
        None => builder,
    };
    Ok(builder.build()?)
}
