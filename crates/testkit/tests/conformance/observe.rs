//! What a server tells about itself: logs, figures and telemetry.

mod access_log;
mod status;
mod telemetry;
