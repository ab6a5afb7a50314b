//! The format that a collector asks for.

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The older text format of Prometheus, 0.0.4.
    Prometheus,
}

const OPEN_METRICS: &str = "application/openmetrics-text";

impl Format {
    /// The format for the value of an `Accept` field. Without OpenMetrics in it, that is text which browsers show.
    #[must_use]
    pub fn accepted_by(accept: &str) -> Self {
        let weight = |wanted: &str| {
            let mut all = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                parts.next().filter(|media_type| media_type.eq_ignore_ascii_case(wanted))?;
                let q = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
                Some(q.map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0)))
            });
            let first = all.next()?;
            Some(all.fold(first, f32::max))
        };
        let (open, plain) = (weight(OPEN_METRICS).unwrap_or(0.0), weight("text/plain").unwrap_or(0.0));
        if open > 0.0 && open >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The value of `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_liked_format_is_chosen() {
        // As Prometheus 2 sends it.
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text; q=0.2, text/plain; q=0.5", Format::Prometheus),
            ("Application/OpenMetrics-Text", Format::OpenMetrics),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;q=x", Format::Prometheus),
            ("text/html,*/*;q=0.8", Format::Prometheus),
            ("", Format::Prometheus),
        ] {
            assert_eq!(Format::accepted_by(accept), format, "{accept}");
        }
    }
}
