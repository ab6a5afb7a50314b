//! Observation of a server: logs, status and telemetry.

mod access_log;
mod metrics;
mod request_id;
mod slow;
mod status;
mod telemetry;
