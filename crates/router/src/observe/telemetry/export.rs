//! The thread that sends spans in batches, and figures beside them. What it cannot send is lost, counted, and said from
//! time to time.

use std::time::Duration;

use anyhow::Context as _;
use corral_config::settings::TelemetrySettings;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use rustls::ClientConfig;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::collector::Exporters;
use super::figures::FigureRequest;
use super::losses::{Losses, TIMEOUT};
use super::lost_spans;
use super::span::SpanRecord;

/// How long a span may wait for others.
const INTERVAL: Duration = Duration::from_secs(1);

/// Things that wait to be sent, and those of them that are lost.
pub(super) struct Outgoing<T> {
    pub(super) queue: Receiver<T>,
    pub(super) losses: Losses,
}

/// Starts the thread; it ends when the queues have no senders and are empty. `trust` has the authorities for
/// collectors that speak TLS.
pub(super) fn spawn(
    settings: &TelemetrySettings,
    trust: Option<ClientConfig>,
    spans: Outgoing<SpanRecord>,
    figures: Outgoing<FigureRequest>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the telemetry's runtime")?;
    // Some parts of the exporters want a runtime from the beginning.
    let guard = runtime.enter();
    let exporters = Exporters::new(settings, trust);
    drop(guard);
    let exporters = match exporters {
        Ok(exporters) => exporters,
        Err(error) => {
            // It waits for its threads otherwise, which is not permitted here.
            runtime.shutdown_background();
            return Err(error)
                .with_context(|| format!("prepare the telemetry for \"{}\"", settings.endpoint));
        }
    };
    let batch_size = settings.batch_size as usize;
    let sender = SpanSender { exporter: exporters.spans, losses: spans.losses };
    let sending_figures = async move {
        if let Some(exporter) = exporters.figures {
            exporter.run(figures.queue, figures.losses).await;
        }
    };
    let sending = async move { tokio::join!(sender.run(spans.queue, batch_size), sending_figures) };
    std::thread::Builder::new()
        .name("telemetry".to_owned())
        .spawn(move || runtime.block_on(sending))
        .context("start the telemetry's thread")?;
    Ok(())
}

struct SpanSender {
    exporter: SpanExporter,
    losses: Losses,
}

impl SpanSender {
    async fn run(mut self, mut records: Receiver<SpanRecord>, batch_size: usize) {
        let mut batch = Vec::new();
        while let Some(record) = records.recv().await {
            batch.extend(record.into_spans());
            fill(&mut batch, &mut records, batch_size).await;
            self.send(std::mem::take(&mut batch)).await;
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let n_spans = batch.len() as u64;
        let failed = match timeout(TIMEOUT, self.exporter.export(batch)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        let n_lost = failed.as_ref().map_or(0, |_| n_spans);
        lost_spans::count(n_lost);
        self.losses.note(n_lost, failed.as_deref());
    }
}

/// Waits for more spans until the batch is complete, or the first one has waited long enough. Those of one request stay
/// together.
async fn fill(batch: &mut Vec<SpanData>, records: &mut Receiver<SpanRecord>, batch_size: usize) {
    let complete = async {
        while batch.len() < batch_size {
            let Some(record) = records.recv().await else { return };
            batch.extend(record.into_spans());
        }
    };
    // Cut off between two spans at worst.
    let _ = timeout(INTERVAL, complete).await;
}
