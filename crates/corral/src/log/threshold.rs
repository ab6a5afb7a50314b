//! Which lines are logged: those that a configuration wants, and what libraries have to say from `info` on.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use corral_config::settings::{LogFormat, LogLevel};
use corral_ipc::log::SETTINGS;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

// There is one log in a process, and any thread may write to it.
static LEAST: AtomicU64 = AtomicU64::new(LogLevel::Info as u64);
static FORMAT: AtomicU64 = AtomicU64::new(LogFormat::Text as u64);

/// Whether the configuration wants lines in JSON.
pub(super) fn is_json() -> bool {
    FORMAT.load(Ordering::Relaxed) == LogFormat::Json as u64
}

/// Unit's levels, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Alert,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
}

impl Rank {
    /// The levels that `tracing` does not have are targets.
    pub(super) fn of(metadata: &Metadata<'_>) -> Self {
        match (metadata.target(), *metadata.level()) {
            ("alert", _) => Self::Alert,
            (super::APPLICATION, Level::ERROR) => Self::Error,
            ("notice" | super::APPLICATION, _) => Self::Notice,
            (_, Level::ERROR) => Self::Error,
            (_, Level::WARN) => Self::Warn,
            (_, Level::INFO) => Self::Info,
            _ => Self::Debug,
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alert => "alert",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        })
    }
}

/// Lets through what is important enough, and takes the configuration's word for what that is.
pub(super) struct Threshold;

impl<S: Subscriber> Layer<S> for Threshold {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if passes(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        passes(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let wants_all = LEAST.load(Ordering::Relaxed) >= Rank::Debug as u64;
        Some(if wants_all { LevelFilter::DEBUG } else { LevelFilter::INFO })
    }

    /// Settings are for this layer alone; no line is made of them.
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if event.metadata().target() != SETTINGS {
            return true;
        }
        event.record(&mut LogSettings);
        tracing::callsite::rebuild_interest_cache();
        false
    }
}

fn passes(metadata: &Metadata<'_>) -> bool {
    let rank = Rank::of(metadata);
    let is_ours = metadata.target().starts_with("corral") || rank < Rank::Debug;
    metadata.target() == SETTINGS || (is_ours && rank as u64 <= LEAST.load(Ordering::Relaxed))
}

/// Takes over the fields of the event that carries settings.
struct LogSettings;

impl Visit for LogSettings {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "level" => LEAST.store(value, Ordering::Relaxed),
            "format" => FORMAT.store(value, Ordering::Relaxed),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
