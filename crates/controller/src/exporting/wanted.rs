//! Whether figures for a collector are wanted, and how often.

use std::time::Duration;

use corral_config::settings::TelemetrySettings;
use tokio::sync::watch;

/// The figures that a configuration wants for a collector: how often, and of which service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FigureExport {
    pub(super) interval: Duration,
    pub(super) service: String,
}

impl FigureExport {
    /// The same of these settings; none if no figures are wanted.
    fn of(settings: Option<&TelemetrySettings>) -> Option<Self> {
        let settings = settings?;
        let interval = settings.metrics.as_ref()?.interval;
        Some(Self { interval, service: settings.service_name.clone() })
    }
}

/// The export that the configuration in force wants.
#[derive(Debug)]
pub(crate) struct WantedExport(watch::Sender<Option<FigureExport>>);

impl Default for WantedExport {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl WantedExport {
    /// Obeys these settings from now on. What has not changed goes on as it was.
    pub(crate) fn obey(&self, settings: Option<&TelemetrySettings>) {
        let wanted = FigureExport::of(settings);
        self.0.send_if_modified(|current| {
            let is_new = *current != wanted;
            *current = wanted;
            is_new
        });
    }

    /// The export that is wanted now, and word of every other one.
    pub(super) fn follow(&self) -> watch::Receiver<Option<FigureExport>> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use corral_config::{Known, json, validate};

    use super::*;

    fn settings(telemetry: &str) -> Option<TelemetrySettings> {
        let usual = r#""endpoint": "http://h/v1/traces", "protocol": "http""#;
        let document = format!("{{\"settings\": {{\"telemetry\": {{{usual}{telemetry}}}}}}}");
        let document = json::parse(document.as_bytes()).unwrap();
        validate(&document, &Known::validated_elsewhere()).unwrap().settings.telemetry
    }

    #[test]
    fn only_a_change_of_what_is_wanted_is_one() {
        let wanted = WantedExport::default();
        let mut changes = wanted.0.subscribe();
        let mut obey = |telemetry: Option<&str>| {
            wanted.obey(telemetry.and_then(settings).as_ref());
            let has_changed = changes.has_changed().unwrap();
            changes.mark_unchanged();
            has_changed
        };
        assert!(!obey(None));
        assert!(!obey(Some("")));
        assert!(obey(Some(", \"metrics\": {}")));
        assert!(!obey(Some(", \"metrics\": {\"interval\": 60}, \"batch_size\": 7")));
        assert!(obey(Some(", \"metrics\": {\"interval\": 61}")));
        assert!(obey(Some(", \"metrics\": {\"interval\": 61}, \"service_name\": \"shop\"")));
        assert!(obey(None));
    }
}
