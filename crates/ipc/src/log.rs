//! How a configuration reaches the log of each process: as an event that only the subscriber understands.
//!
//! Main, controller and router come to know their configuration in different ways, and none of them knows
//! who formats its lines.

use corral_config::settings::LogSettings;

/// Target of the event; its fields are `level` and `format`, by number.
pub const SETTINGS: &str = "corral::log::settings";

/// From now on this process logs as the configuration wants it.
pub fn obey(settings: LogSettings) {
    let (level, format) = (settings.level as u64, settings.format as u64);
    tracing::error!(target: SETTINGS, level, format);
}
