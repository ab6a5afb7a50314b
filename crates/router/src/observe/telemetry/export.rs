//! The thread that sends spans in batches. What it cannot send is lost, counted, and said from time to time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use corral_config::settings::TelemetrySettings;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use rustls::ClientConfig;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::span::SpanRecord;
use super::{collector, lost_spans};

/// For one batch.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a span may wait for others.
const INTERVAL: Duration = Duration::from_secs(1);

/// Between two words about what was lost.
const QUIET: Duration = Duration::from_secs(60);

/// Starts the thread; it ends when the queue has no senders and is empty. `trust` has the authorities for a collector
/// that speaks TLS.
pub(super) fn spawn(
    settings: TelemetrySettings,
    trust: Option<ClientConfig>,
    records: Receiver<SpanRecord>,
    n_lost: Arc<AtomicU64>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the telemetry's runtime")?;
    // Some parts of the exporters want a runtime from the beginning.
    let guard = runtime.enter();
    let exporter = collector::exporter(&settings, trust);
    drop(guard);
    let exporter = match exporter {
        Ok(exporter) => exporter,
        Err(error) => {
            // It waits for its threads otherwise, which is not permitted here.
            runtime.shutdown_background();
            return Err(error)
                .with_context(|| format!("prepare the telemetry for \"{}\"", settings.endpoint));
        }
    };
    let batch_size = settings.batch_size as usize;
    let mut sender = SpanSender { exporter, settings, n_lost, last_word: None };
    std::thread::Builder::new()
        .name("telemetry".to_owned())
        .spawn(move || runtime.block_on(sender.run(records, batch_size)))
        .context("start the telemetry's thread")?;
    Ok(())
}

struct SpanSender {
    exporter: SpanExporter,
    settings: TelemetrySettings,
    /// Spans that found no place in the queue, or that could not be sent.
    n_lost: Arc<AtomicU64>,
    last_word: Option<Instant>,
}

impl SpanSender {
    async fn run(&mut self, mut records: Receiver<SpanRecord>, batch_size: usize) {
        let mut batch = Vec::new();
        while let Some(record) = records.recv().await {
            batch.push(record.into_span());
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
        if failed.is_some() {
            self.n_lost.fetch_add(n_spans, Ordering::Relaxed);
            lost_spans::count(n_spans);
        }
        self.say_what_was_lost(failed.as_deref());
    }

    fn say_what_was_lost(&mut self, reason: Option<&str>) {
        if self.last_word.is_some_and(|last| last.elapsed() < QUIET) {
            return;
        }
        let n_lost = self.n_lost.swap(0, Ordering::Relaxed);
        if n_lost > 0 {
            self.last_word = Some(Instant::now());
            let (endpoint, reason) = (&self.settings.endpoint, reason.unwrap_or("the queue was full"));
            tracing::warn!("telemetry to \"{endpoint}\": {n_lost} spans lost: {reason}");
        }
    }
}

/// Waits for more spans until the batch is complete, or the first one has waited long enough.
async fn fill(batch: &mut Vec<SpanData>, records: &mut Receiver<SpanRecord>, batch_size: usize) {
    let complete = async {
        while batch.len() < batch_size {
            let Some(record) = records.recv().await else { return };
            batch.push(record.into_span());
        }
    };
    // Cut off between two spans at worst.
    let _ = timeout(INTERVAL, complete).await;
}
