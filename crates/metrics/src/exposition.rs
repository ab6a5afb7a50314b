//! Samples of series, and their text, or messages of protobuf.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder, NoLabelSet,
    prometheus_protobuf, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as RegistryUnit};
use prost::Message as _;

use crate::details::{self, Exemplars, HistogramDetails, PlacedExemplar};
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
pub(crate) struct Sample {
    /// In the order of the family's labels.
    pub(crate) labels: Vec<String>,
    pub(crate) value: SampleValue,
}

#[derive(Debug)]
pub(crate) enum SampleValue {
    Count(u64),
    Seconds(f64),
    Level(f64),
    Histogram(HistogramSample, HistogramDetails),
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
        self.detailed_histogram(family, labels, histogram, HistogramDetails::default());
    }

    /// Adds a distribution of which more is known.
    ///
    /// # Panics
    ///
    /// As `count`.
    pub fn detailed_histogram(
        &mut self,
        family: &'static Family,
        labels: &[&str],
        histogram: HistogramSample,
        details: HistogramDetails,
    ) {
        self.add(family, labels, SampleValue::Histogram(histogram, details));
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

    /// The families that have samples, in the order of the table.
    pub(crate) fn families(&self) -> impl Iterator<Item = (&'static Family, &[Sample])> {
        self.samples.iter().map(|(place, samples)| (table::ALL[*place], &**samples))
    }

    /// The body of an answer to a collector.
    #[must_use]
    pub fn into_body(self, format: Format) -> Vec<u8> {
        match format {
            Format::Protobuf => self.into_messages(),
            Format::OpenMetrics | Format::Prometheus => self.into_text(format).into_bytes(),
        }
    }

    /// The text for collectors, which is that of OpenMetrics for those that want no text.
    #[must_use]
    pub fn into_text(self, format: Format) -> String {
        let exemplars = self.exemplars();
        let registry = self.into_registry();
        let mut written = String::new();
        if format == Format::Prometheus {
            prometheus_text::encode(&mut written, &registry).expect("writing to memory cannot fail");
            return written;
        }
        text::encode(&mut written, &registry).expect("writing to memory cannot fail");
        if exemplars.is_empty() { written } else { details::add_to_text(&written, &exemplars) }
    }

    /// Messages of protobuf, each behind its length.
    fn into_messages(self) -> Vec<u8> {
        let exemplars = self.exemplars();
        let mut families =
            prometheus_protobuf::encode(&self.into_registry()).expect("writing to memory cannot fail");
        details::add_to_messages(&mut families, &exemplars);
        families.iter().flat_map(|family| family.encode_length_delimited_to_vec()).collect()
    }

    fn into_registry(self) -> Registry {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        registry
    }

    fn exemplars(&self) -> Exemplars {
        let mut found = Exemplars::new();
        for (family, samples) in self.families() {
            let placed: Vec<_> =
                samples.iter().enumerate().flat_map(|(idx, sample)| sample.exemplars(idx)).collect();
            if !placed.is_empty() {
                found.insert(family.name, placed);
            }
        }
        found
    }
}

impl Sample {
    /// The exemplars of the sample with this place in its family.
    fn exemplars(&self, sample: usize) -> Vec<PlacedExemplar> {
        let SampleValue::Histogram(histogram, details) = &self.value else { return Vec::new() };
        let n_buckets = histogram.buckets.len();
        let all = details.exemplars.iter().filter(|exemplar| exemplar.bucket < n_buckets);
        all.map(|exemplar| PlacedExemplar { sample, n_buckets, exemplar: *exemplar }).collect()
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
            Self::Histogram(HistogramSample { sum, buckets }, details) => {
                let count = buckets.iter().map(|(_, n)| n).sum();
                let Some(fine) = &details.fine else {
                    return encoder.encode_histogram::<NoLabelSet>(*sum, count, buckets, None);
                };
                fine.encode(|native| {
                    encoder.encode_histogram_with_native::<NoLabelSet>(*sum, count, buckets, None, native)
                })
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
    use std::time::Duration;

    use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::MetricFamily;

    use super::*;
    use crate::details::{Exemplar, FineBuckets};

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
        assert_eq!((left(&[]), left(&["listener"]), left(&["application"])), (5, 4, 2));
        assert_eq!(left(&["application", "listener", "process"]), 0);
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

    /// Two listeners, the second of which has been asked by a traced request.
    fn detailed() -> Exposition {
        let mut all = Exposition::default();
        let buckets = || HistogramSample { sum: 0.75, buckets: vec![(0.5, 1), (f64::INFINITY, 2)] };
        let time = Duration::from_millis(1_764_205_000_250);
        let exemplar = Exemplar { bucket: 1, trace_id: 0xabc, value: 0.625, time };
        let fine = FineBuckets { schema: 2, first: -55, counts: vec![0, 2, 1], below: 4 };
        let details = HistogramDetails { exemplars: vec![exemplar], fine: Some(fine) };
        all.histogram(&table::HTTP_DURATION, &["*:80"], buckets());
        all.detailed_histogram(&table::HTTP_DURATION, &["*:81"], buckets(), details);
        all.histogram(&table::APPLICATION_DURATION, &["shop"], buckets());
        all
    }

    #[test]
    fn exemplars_are_in_open_metrics_alone() {
        let open = detailed().into_text(Format::OpenMetrics);
        let traced: Vec<_> = open.lines().filter(|line| line.contains(" # {")).collect();
        let line = "corral_http_request_duration_seconds_bucket{le=\"+Inf\",listener=\"*:81\"} 3 # \
                    {trace_id=\"00000000000000000000000000000abc\"} 0.625 1764205000.250";
        assert_eq!(traced, [line]);
        assert!(open.ends_with("# EOF\n"), "{open}");
        let plain = detailed().into_text(Format::Prometheus);
        assert!(!plain.contains("trace_id"), "{plain}");
    }

    #[test]
    fn messages_have_fine_buckets_and_exemplars() {
        let mut bytes = &*detailed().into_body(Format::Protobuf);
        let mut families = Vec::new();
        while !bytes.is_empty() {
            families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
        }
        let names: Vec<_> = families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, [table::HTTP_DURATION.name, table::APPLICATION_DURATION.name]);
        let histograms: Vec<_> =
            families[0].metric.iter().map(|metric| metric.histogram.as_ref().unwrap()).collect();
        assert!(histograms[0].positive_span.is_empty() && histograms[0].bucket[1].exemplar.is_none());
        let native = histograms[1];
        assert_eq!((native.schema, native.zero_count, native.sample_count), (2, 4, 3));
        assert!((native.zero_threshold - 2_f64.powi(-14)).abs() < f64::EPSILON);
        assert_eq!((native.positive_span[0].offset, native.positive_span[0].length), (-54, 2));
        assert_eq!(native.positive_delta, [2, -1]);
        let exemplar = native.bucket[1].exemplar.as_ref().unwrap();
        assert_eq!(exemplar.label[0].value, "00000000000000000000000000000abc");
        assert_eq!(exemplar.timestamp.as_ref().map(|time| time.seconds), Some(1_764_205_000));
    }
}
