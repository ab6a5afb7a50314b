//! Observation of a server: logs, status and telemetry.

mod access_log;
mod status;
mod telemetry;
