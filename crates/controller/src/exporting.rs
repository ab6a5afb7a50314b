//! Figures for a collector of OpenTelemetry. They are asked of main at an interval while the configuration wants that,
//! and go through main to the router, which has the connection to the collector.

pub(crate) mod wanted;

use std::time::SystemTime;

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
    let mut is_said = false;
    loop {
        let export = wanted.borrow_and_update().clone();
        let changed = match &export {
            None => wanted.changed().await,
            Some(export) => tokio::select! {
                changed = wanted.changed() => changed,
                () = sleep(export.interval) => {
                    send(controller, &export.service, &mut is_said).await;
                    continue;
                }
            },
        };
        if changed.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Sends the figures of this moment. What cannot be had or sent is left out, as the next ones say the same and more.
async fn send(controller: &Controller, service: &str, is_said: &mut bool) {
    let Ok(Some(figures)) = controller.main().status().await else { return };
    let now = SystemTime::now();
    let host = corral_sys::machine::hostname();
    let origin = FigureOrigin {
        service,
        host: &String::from_utf8_lossy(&host),
        version: env!("CARGO_PKG_VERSION"),
        start: now.checked_sub(figures.daemon.uptime).unwrap_or(now),
        now,
    };
    let all = metrics::exposition(&figures, &controller.engine().status(), now);
    let request = all.into_otlp(&origin);
    if request.len() > LONGEST {
        if !std::mem::replace(is_said, true) {
            tracing::warn!("telemetry: {} bytes of figures are too many, and are not sent", request.len());
        }
        return;
    }
    if let Err(error) = controller.main().send(&FromController::ExportMetrics { request }).await {
        // Only when main is gone, or another controller serves already.
        tracing::debug!("hand figures to main: {error}");
    }
}
