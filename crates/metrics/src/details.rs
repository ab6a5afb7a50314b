//! Details of a distribution that not every format has: traced requests, and finer ranges.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model as model;
use prometheus_client::encoding::{NativeHistogram, NativeHistogramBuckets};

/// The label of an exemplar, as tracing systems of Prometheus look for it.
const TRACE_ID: &str = "trace_id";

/// Further knowledge about a distribution, beside its buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistogramDetails {
    /// At most one for each bucket.
    pub exemplars: Vec<Exemplar>,
    /// The same measurements in finer ranges.
    pub fine: Option<FineBuckets>,
}

/// One traced measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar {
    /// The place of its bucket.
    pub bucket: usize,
    /// The trace that it is of.
    pub trace_id: u128,
    /// The number that was measured.
    pub value: f64,
    /// When that was, since 1970.
    pub time: Duration,
}

/// Buckets whose bounds grow by the same factor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FineBuckets {
    /// The buckets of each doubling are 2 to the power of this number.
    pub schema: i32,
    /// The number of the first bucket, whose upper bound is 2 to the power of the number divided by the buckets of a
    /// doubling.
    pub first: i32,
    /// How many are in each bucket.
    pub counts: Vec<u64>,
    /// How many are below all buckets.
    pub below: u64,
}

impl FineBuckets {
    /// The lower bound of the first bucket.
    pub(crate) fn threshold(&self) -> f64 {
        let per_doubling = 2_f64.powi(self.schema);
        2_f64.powf(f64::from(self.first - 1) / per_doubling)
    }

    /// The buckets with something in them, as runs of neighbours: how far each is behind the one before, and its
    /// length; then how much each count is above the one before.
    fn spans(&self) -> (Vec<(i32, u32)>, Vec<i64>) {
        let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
        let (mut gap, mut before) = (self.first, 0);
        for count in self.counts.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX)) {
            if count == 0 {
                gap = gap.saturating_add(1);
                continue;
            }
            match spans.last_mut() {
                Some((_, length)) if gap == 0 => *length += 1,
                _ => spans.push((gap, 1)),
            }
            deltas.push(count - before);
            (gap, before) = (0, count);
        }
        (spans, deltas)
    }

    /// Gives them to an encoder.
    pub(crate) fn encode<T>(&self, encode: impl FnOnce(NativeHistogram<'_>) -> T) -> T {
        let (spans, deltas) = self.spans();
        encode(NativeHistogram {
            schema: self.schema,
            zero_threshold: self.threshold(),
            zero_count: self.below,
            negative: NativeHistogramBuckets { spans: &[], deltas: &[] },
            positive: NativeHistogramBuckets { spans: &spans, deltas: &deltas },
            created: None,
        })
    }
}

/// An exemplar, and the sample of its family that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedExemplar {
    pub(crate) sample: usize,
    /// How many buckets each sample of the family has.
    pub(crate) n_buckets: usize,
    pub(crate) exemplar: Exemplar,
}

/// Exemplars by the names of their families.
pub(crate) type Exemplars = HashMap<&'static str, Vec<PlacedExemplar>>;

/// Appends exemplars to the lines of their buckets in a text of OpenMetrics. The encoder makes such lines of its own
/// histograms alone; those of a family come one after the other.
pub(crate) fn add_to_text(text: &str, exemplars: &Exemplars) -> String {
    let mut written = String::with_capacity(text.len() + 128 * exemplars.len());
    let mut n_lines = HashMap::new();
    for line in text.lines() {
        written.push_str(line);
        if let Some((name, _)) = line.split_once("_bucket{")
            && let Some(wanted) = exemplars.get(name)
        {
            let place = n_lines.entry(name).or_insert(0_usize);
            let found = wanted.iter().find(|one| one.sample * one.n_buckets + one.exemplar.bucket == *place);
            *place += 1;
            if let Some(PlacedExemplar { exemplar: Exemplar { trace_id, value, time, .. }, .. }) = found {
                let _ = write!(
                    written,
                    " # {{{TRACE_ID}=\"{trace_id:032x}\"}} {value} {}.{:03}",
                    time.as_secs(),
                    time.subsec_millis()
                );
            }
        }
        written.push('\n');
    }
    written
}

/// The same for messages of protobuf.
pub(crate) fn add_to_messages(families: &mut [model::MetricFamily], exemplars: &Exemplars) {
    for family in families {
        for placed in exemplars.get(family.name.as_str()).into_iter().flatten() {
            let histogram = family.metric.get_mut(placed.sample).and_then(|metric| metric.histogram.as_mut());
            let bucket = histogram.and_then(|histogram| histogram.bucket.get_mut(placed.exemplar.bucket));
            if let Some(bucket) = bucket {
                bucket.exemplar = Some(message(&placed.exemplar));
            }
        }
    }
}

fn message(exemplar: &Exemplar) -> model::Exemplar {
    let Exemplar { trace_id, value, time, .. } = *exemplar;
    let label = model::LabelPair { name: TRACE_ID.to_owned(), value: format!("{trace_id:032x}") };
    let timestamp = UNIX_EPOCH.checked_add(time).map(|time: SystemTime| time.into());
    model::Exemplar { label: vec![label], value, timestamp }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: i32, counts: &[u64], spans: &[(i32, u32)], deltas: &[i64]) {
        let buckets = FineBuckets { schema: 2, first, counts: counts.to_vec(), below: 0 };
        assert_eq!(buckets.spans(), (spans.to_vec(), deltas.to_vec()));
    }

    #[test]
    fn buckets_are_spans() {
        check(-55, &[], &[], &[]);
        check(-55, &[0, 0], &[], &[]);
        check(-55, &[3], &[(-55, 1)], &[3]);
        check(-55, &[0, 0, 2, 5, 0, 0, 0, 1, 1], &[(-53, 2), (3, 2)], &[2, 3, -4, 0]);
        check(0, &[u64::MAX, 1], &[(0, 2)], &[i64::MAX, 1 - i64::MAX]);
    }

    #[test]
    fn the_threshold_is_below_the_first_bucket() {
        let buckets = FineBuckets { schema: 2, first: -55, ..FineBuckets::default() };
        assert!((buckets.threshold() - 2_f64.powi(-14)).abs() < f64::EPSILON);
    }
}
