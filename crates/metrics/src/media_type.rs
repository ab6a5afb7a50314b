//! The format that a collector asks for.

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The older text format of Prometheus, 0.0.4.
    Prometheus,
    /// Messages of protobuf, each behind its length.
    Protobuf,
}

const OPEN_METRICS: &str = "application/openmetrics-text";
const PROTOBUF: &str = "application/vnd.google.protobuf";

/// The parameters of the messages of Prometheus among those that protobuf may have.
const MESSAGES: [(&str, &str); 2] =
    [("proto", "io.prometheus.client.MetricFamily"), ("encoding", "delimited")];

impl Format {
    /// The format for the value of an `Accept` field. Without another one in it, that is text which browsers show.
    #[must_use]
    pub fn accepted_by(accept: &str) -> Self {
        let weight = |wanted: &str, parameters: &[(&str, &str)]| {
            let ranges = accept.split(',').filter(|range| is_range(range, wanted, parameters));
            ranges.map(quality).fold(0.0, f32::max)
        };
        let (open, plain) = (weight(OPEN_METRICS, &[]), weight("text/plain", &[]));
        let messages = weight(PROTOBUF, &MESSAGES);
        match messages > 0.0 && messages >= open && messages >= plain {
            true => Self::Protobuf,
            false if open > 0.0 && open >= plain => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// The value of `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

/// Whether a range of `Accept` is this media type with these parameters.
fn is_range(range: &str, media_type: &str, parameters: &[(&str, &str)]) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type));
    let has = |(name, value): &(&str, &str)| parts.clone().any(|part| parameter(part, name) == Some(value));
    is_named && parameters.iter().all(has)
}

/// The weight of a range, 1 if it says none.
fn quality(range: &str) -> f32 {
    let said = range.split(';').map(str::trim).find_map(|part| parameter(part, "q"));
    said.map_or(1.0, |q| q.parse().unwrap_or(0.0))
}

/// The value of a parameter with this name.
fn parameter<'p>(part: &'p str, name: &str) -> Option<&'p str> {
    let (known, value) = part.split_once('=')?;
    known.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_liked_format_is_chosen() {
        // As Prometheus 2 sends it.
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        // As Prometheus sends it for native histograms.
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
                      application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text; q=0.2, text/plain; q=0.5", Format::Prometheus),
            ("Application/OpenMetrics-Text", Format::OpenMetrics),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;q=x", Format::Prometheus),
            ("text/html,*/*;q=0.8", Format::Prometheus),
            (native, Format::Protobuf),
            ("application/vnd.google.protobuf", Format::Prometheus),
            ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily", Format::Prometheus),
            (
                "application/vnd.google.protobuf; Proto=\"io.prometheus.client.MetricFamily\"; encoding=delimited;\
                 q=0.1",
                Format::Protobuf,
            ),
            (
                "text/plain, application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited;q=0.9",
                Format::Prometheus,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
                Format::Prometheus,
            ),
            ("", Format::Prometheus),
        ] {
            assert_eq!(Format::accepted_by(accept), format, "{accept}");
        }
    }
}
