//! Samples of series, and their text.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder, NoLabelSet,
    prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as RegistryUnit};

use crate::family::{Family, Kind, Unit};
use crate::media_type::Format;
use crate::table;

/// All samples of one moment.
#[derive(Debug, Default)]
pub struct Exposition {
    /// By the place of their family in the table, which is the order of the text.
    samples: BTreeMap<usize, Vec<Sample>>,
}

#[derive(Debug)]
struct Sample {
    /// In the order of the family's labels.
    labels: Vec<String>,
    value: SampleValue,
}

#[derive(Debug)]
enum SampleValue {
    Count(u64),
    Seconds(f64),
    Level(f64),
    Histogram(HistogramSample),
}

/// A distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSample {
    /// The sum of all that was measured.
    pub sum: f64,
    /// The upper bounds of the buckets, ascending, the last of which is infinite. Each has how many were
    /// in it and in no lower one.
    pub buckets: Vec<(f64, u64)>,
}

impl Exposition {
    /// Adds a number of a counter.
    ///
    /// # Panics
    ///
    /// If the family is not one of the table, or has other labels.
    pub fn count(&mut self, family: &'static Family, labels: &[&str], n: u64) {
        self.add(family, labels, SampleValue::Count(n));
    }

    /// Adds a time of a counter.
    ///
    /// # Panics
    ///
    /// As `count`.
    pub fn count_seconds(&mut self, family: &'static Family, labels: &[&str], time: Duration) {
        self.add(family, labels, SampleValue::Seconds(time.as_secs_f64()));
    }

    /// Adds the level of a gauge.
    ///
    /// # Panics
    ///
    /// As `count`.
    pub fn level(&mut self, family: &'static Family, labels: &[&str], level: f64) {
        self.add(family, labels, SampleValue::Level(level));
    }

    /// Adds a distribution.
    ///
    /// # Panics
    ///
    /// As `count`.
    pub fn histogram(&mut self, family: &'static Family, labels: &[&str], histogram: HistogramSample) {
        self.add(family, labels, SampleValue::Histogram(histogram));
    }

    fn add(&mut self, family: &'static Family, labels: &[&str], value: SampleValue) {
        let place = table::ALL.iter().position(|known| std::ptr::eq(*known, family));
        let place = place.expect("the table has all families");
        assert_eq!(labels.len(), family.labels.len(), "the labels of {}", family.name);
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.samples.entry(place).or_default().push(Sample { labels, value });
    }

    /// Leaves out the series that have one of these labels.
    #[must_use]
    pub fn without(mut self, labels: &[String]) -> Self {
        let is_left_out = |label: &&str| labels.iter().any(|other| other == label);
        self.samples.retain(|place, _| !table::ALL[*place].labels.iter().any(is_left_out));
        self
    }

    /// The text for collectors.
    #[must_use]
    pub fn into_text(self, format: Format) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut written = String::new();
        let result = match format {
            Format::OpenMetrics => text::encode(&mut written, &registry),
            Format::Prometheus => prometheus_text::encode(&mut written, &registry),
        };
        result.expect("writing to memory cannot fail");
        written
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (place, samples) in &self.samples {
            let family = table::ALL[*place];
            let unit = match family.unit {
                Unit::None => None,
                Unit::Seconds => Some(RegistryUnit::Seconds),
                Unit::Bytes => Some(RegistryUnit::Bytes),
            };
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let help = format!("{}.", family.help);
            let metric = encoder.encode_descriptor(family.bare_name(), &help, unit.as_ref(), kind)?;
            encode_samples(family, samples, metric)?;
        }
        Ok(())
    }
}

fn encode_samples(
    family: &'static Family,
    samples: &[Sample],
    mut encoder: MetricEncoder<'_>,
) -> Result<(), fmt::Error> {
    for Sample { labels, value } in samples {
        if labels.is_empty() {
            value.encode(&mut encoder)?;
        } else {
            let labels = Labels { names: family.labels, values: labels };
            value.encode(&mut encoder.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

impl SampleValue {
    fn encode(&self, encoder: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Self::Count(n) => encoder.encode_counter::<NoLabelSet, _, f64>(n, None),
            Self::Seconds(time) => encoder.encode_counter::<NoLabelSet, _, f64>(time, None),
            Self::Level(level) => encoder.encode_gauge(level),
            Self::Histogram(HistogramSample { sum, buckets }) => {
                let count = buckets.iter().map(|(_, n)| n).sum();
                encoder.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
            }
        }
    }
}

#[derive(Debug)]
struct Labels<'s> {
    names: &'static [&'static str],
    values: &'s [String],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, value) in self.names.iter().zip(self.values) {
            (*name, value.as_str()).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposition() -> Exposition {
        let mut all = Exposition::default();
        all.level(&table::APPLICATION_MEMORY, &["shop"], 5.0);
        all.count(&table::APPLICATION_CRASHES, &["a \"b\"\\\n"], 2);
        all.count_seconds(&table::PROCESS_CPU, &["main"], Duration::from_millis(1500));
        all.count_seconds(&table::APPLICATION_CPU, &["shop"], Duration::from_millis(1250));
        let histogram = HistogramSample { sum: 0.75, buckets: vec![(0.5, 1), (f64::INFINITY, 2)] };
        all.histogram(&table::HTTP_DURATION, &["*:80"], histogram);
        all
    }

    #[test]
    fn series_are_left_out_by_their_labels() {
        let left = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
            let text = exposition().without(&labels).into_text(Format::Prometheus);
            text.lines().filter(|line| line.starts_with("# TYPE")).count()
        };
        assert_eq!((left(&[]), left(&["listener"]), left(&["application"])), (3, 2, 1));
        assert_eq!(left(&["application", "listener"]), 0);
    }

    #[test]
    fn samples_are_written_as_both_formats_want_them() {
        let open = exposition().into_text(Format::OpenMetrics);
        for line in [
            "# TYPE corral_application_memory_bytes gauge",
            "# UNIT corral_application_memory_bytes bytes",
            "corral_application_memory_bytes{application=\"shop\"} 5.0",
            "# TYPE corral_application_crashes counter",
            "corral_application_crashes_total{application=\"a \\\"b\\\"\\\\\\n\"} 2",
            "corral_process_cpu_seconds_total{process=\"main\"} 1.5",
            "# TYPE corral_application_cpu_seconds counter",
            "corral_application_cpu_seconds_total{application=\"shop\"} 1.25",
            "# TYPE corral_http_request_duration_seconds histogram",
            "corral_http_request_duration_seconds_bucket{le=\"0.5\",listener=\"*:80\"} 1",
            "corral_http_request_duration_seconds_bucket{le=\"+Inf\",listener=\"*:80\"} 3",
            "corral_http_request_duration_seconds_count{listener=\"*:80\"} 3",
            "corral_http_request_duration_seconds_sum{listener=\"*:80\"} 0.75",
        ] {
            assert!(open.lines().any(|written| written == line), "{line} is not in\n{open}");
        }
        assert!(open.ends_with("# EOF\n"), "{open}");
        let plain = exposition().into_text(Format::Prometheus);
        assert!(plain.contains("# TYPE corral_application_crashes_total counter\n"), "{plain}");
        assert!(!plain.contains("# EOF"), "{plain}");
    }
}
