//! Observation of a server: logs, status and telemetry.

mod access_log;
mod agreement;
mod metrics;
mod metrics_served;
mod request_id;
mod slow;
mod status;
mod telemetry;
