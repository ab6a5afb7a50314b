//! Figures for a collector of OpenTelemetry. They are asked of main at an interval while the configuration wants that,
//! and go through main to the router, which has the connection to the collector.

pub(crate) mod wanted;

use std::time::{SystemTime, UNIX_EPOCH};

use corral_ipc::message::FromController;
use corral_metrics::FigureOrigin;
use tokio::time::sleep;

use crate::metrics;
use crate::state::Controller;

/// Longest request that is made of figures: that of thousands of applications.
const LONGEST: usize = 16 * 1024 * 1024;

/// Exports for as long as the process runs. Nothing wakes up while no figures are wanted.
pub(crate) async fn run(controller: &Controller) {
    let mut wanted = controller.exports().follow();
    let mut exporter = Exporter { controller, is_said: false };
    loop {
        let export = wanted.borrow_and_update().clone();
        let changed = match &export {
            None => wanted.changed().await,
            Some(export) => tokio::select! {
                changed = wanted.changed() => changed,
                () = sleep(export.interval) => {
                    exporter.send(&export.service).await;
                    continue;
                }
            },
        };
        if changed.is_err() {
            return std::future::pending().await;
        }
    }
}

struct Exporter<'c> {
    controller: &'c Controller,
    /// The log has said that there are too many figures.
    is_said: bool,
}

impl Exporter<'_> {
    /// Sends the figures of this moment. What cannot be had or sent is left out, as the next ones say the same and
    /// more.
    async fn send(&mut self, service: &str) {
        let Some(request) = self.request(service).await else { return };
        if request.len() > LONGEST {
            if !std::mem::replace(&mut self.is_said, true) {
                let n_bytes = request.len();
                tracing::warn!("telemetry: {n_bytes} bytes of figures are too many, and are not sent");
            }
            return;
        }
        if let Err(error) = self.controller.main().send(&FromController::ExportMetrics { request }).await {
            // Only when main is gone, or another controller serves already.
            tracing::debug!("hand figures to main: {error}");
        }
    }

    /// The figures as a request of OTLP; none when the router does not answer.
    async fn request(&self, service: &str) -> Option<Vec<u8>> {
        let figures = self.controller.figures().await?;
        let host = corral_sys::machine::hostname();
        let origin = FigureOrigin {
            service,
            host: &String::from_utf8_lossy(&host),
            version: env!("CARGO_PKG_VERSION"),
            // Collectors take any other time than before for a new beginning.
            start: UNIX_EPOCH.checked_add(figures.daemon.counting_since).unwrap_or(UNIX_EPOCH),
            now: SystemTime::now(),
        };
        let all = metrics::exposition(&figures, &self.controller.engine().status());
        let all = all.without(&metrics::left_out_labels(&self.controller.in_force().document));
        Some(all.into_otlp(&origin))
    }
}
