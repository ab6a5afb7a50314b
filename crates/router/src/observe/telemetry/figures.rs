//! Figures of the whole server on their way to a collector: requests of OTLP that the controller has made. One is sent
//! at a time, and one waits at most; what cannot be sent is lost, as the next ones say all that it says.

use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use opentelemetry_http::HttpClient;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use prost::Message as _;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use tonic::transport::Channel;

use super::losses::{Losses, TIMEOUT};

/// A request of OTLP in protobuf.
pub(crate) type FigureRequest = Vec<u8>;

/// The way to a collector of figures.
pub(super) enum FigureExporter {
    Http { client: Arc<dyn HttpClient>, url: Uri },
    Grpc(MetricsServiceClient<Channel>),
}

impl FigureExporter {
    pub(super) fn http(client: impl HttpClient + 'static, url: &str) -> anyhow::Result<Self> {
        let url = url.parse().with_context(|| format!("the URL for metrics \"{url}\""))?;
        Ok(Self::Http { client: Arc::new(client), url })
    }

    pub(super) fn grpc(channel: Channel) -> Self {
        Self::Grpc(MetricsServiceClient::new(channel))
    }

    /// Sends what comes until nothing more can.
    pub(super) async fn run(mut self, mut requests: Receiver<FigureRequest>, mut losses: Losses) {
        while let Some(request) = requests.recv().await {
            let sent = match timeout(TIMEOUT, self.send(request)).await {
                Ok(sent) => sent,
                Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
            };
            losses.note(sent.as_ref().err().map_or(0, |_| 1), sent.err().as_deref());
        }
    }

    /// Sends one; why it was lost, if it was.
    async fn send(&mut self, request: FigureRequest) -> Result<(), String> {
        match self {
            Self::Http { client, url } => {
                let post = Request::post(&*url).header(CONTENT_TYPE, "application/x-protobuf");
                let post = post.body(Bytes::from(request)).map_err(|error| error.to_string())?;
                let reply = client.send_bytes(post).await.map_err(|error| error.to_string())?;
                if reply.status().is_success() { Ok(()) } else { Err(format!("status {}", reply.status())) }
            }
            Self::Grpc(client) => {
                let request =
                    ExportMetricsServiceRequest::decode(&*request).map_err(|error| error.to_string())?;
                client.export(request).await.map(drop).map_err(|status| status.to_string())
            }
        }
    }
}
