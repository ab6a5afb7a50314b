//! Samples as OpenTelemetry's protocol has them: sums since the daemon's start, gauges, histograms. Names are those of
//! the table, without the suffixes that Prometheus adds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Exemplar as TracedPoint, Gauge, Histogram, HistogramDataPoint, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, exemplar, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use crate::details::HistogramDetails;
use crate::exposition::{Exposition, HistogramSample, Sample, SampleValue};
use crate::family::{Family, Kind, Unit};

/// The daemon that the figures are of, and their time.
#[derive(Debug, Clone, Copy)]
pub struct FigureOrigin<'o> {
    /// The name of the service.
    pub service: &'o str,
    /// The name of the machine.
    pub host: &'o str,
    /// The daemon's version.
    pub version: &'o str,
    /// When counting began.
    pub start: SystemTime,
    /// When the figures were taken.
    pub now: SystemTime,
}

impl Exposition {
    /// The request for a collector, in protobuf.
    #[must_use]
    pub fn into_otlp(self, origin: &FigureOrigin<'_>) -> Vec<u8> {
        let times = PointTimes { start: nanos(origin.start), now: nanos(origin.now) };
        let metrics = self.families().map(|(family, samples)| metric(family, samples, times)).collect();
        let scope = InstrumentationScope {
            name: "corral".to_owned(),
            version: origin.version.to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() }];
        let resource = Some(resource(origin));
        let all = ResourceMetrics { resource, scope_metrics, schema_url: String::new() };
        ExportMetricsServiceRequest { resource_metrics: vec![all] }.encode_to_vec()
    }
}

/// The daemons of several machines count apart by their hosts.
fn resource(origin: &FigureOrigin<'_>) -> Resource {
    let attributes = [
        ("service.name", origin.service),
        ("service.version", origin.version),
        ("service.instance.id", origin.host),
        ("host.name", origin.host),
    ];
    Resource {
        attributes: attributes.into_iter().map(|(key, value)| attribute(key, value)).collect(),
        ..Resource::default()
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

/// The times of all points, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct PointTimes {
    start: u64,
    now: u64,
}

fn nanos(time: SystemTime) -> u64 {
    whole_nanos(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn whole_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn metric(family: &'static Family, samples: &[Sample], times: PointTimes) -> Metric {
    const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;
    let numbers = || samples.iter().filter_map(|sample| number(family, sample, times)).collect();
    let data = match family.kind {
        Kind::Counter => {
            Data::Sum(Sum { data_points: numbers(), aggregation_temporality: CUMULATIVE, is_monotonic: true })
        }
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Histogram => Data::Histogram(Histogram {
            data_points: samples.iter().filter_map(|sample| distribution(family, sample, times)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    let unit = match family.unit {
        Unit::None => "",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
    };
    Metric {
        name: family.name.to_owned(),
        description: format!("{}.", family.help),
        unit: unit.to_owned(),
        metadata: Vec::new(),
        data: Some(data),
    }
}

fn attributes(family: &Family, sample: &Sample) -> Vec<KeyValue> {
    family.labels.iter().zip(&sample.labels).map(|(name, value)| attribute(name, value)).collect()
}

fn number(family: &Family, sample: &Sample, times: PointTimes) -> Option<NumberDataPoint> {
    let value = match &sample.value {
        SampleValue::Count(n) => number_data_point::Value::AsInt(i64::try_from(*n).unwrap_or(i64::MAX)),
        SampleValue::Level(level) | SampleValue::Seconds(level) => number_data_point::Value::AsDouble(*level),
        SampleValue::Histogram(..) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(family, sample),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        exemplars: Vec::new(),
        flags: 0,
        value: Some(value),
    })
}

fn distribution(family: &Family, sample: &Sample, times: PointTimes) -> Option<HistogramDataPoint> {
    let SampleValue::Histogram(HistogramSample { sum, buckets }, details) = &sample.value else {
        return None;
    };
    Some(HistogramDataPoint {
        attributes: attributes(family, sample),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: buckets.iter().map(|(_, n)| n).sum(),
        sum: Some(*sum),
        bucket_counts: buckets.iter().map(|(_, n)| *n).collect(),
        explicit_bounds: buckets.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite()).collect(),
        exemplars: traced(details),
        ..HistogramDataPoint::default()
    })
}

fn traced(details: &HistogramDetails) -> Vec<TracedPoint> {
    let point = |one: &crate::details::Exemplar| TracedPoint {
        time_unix_nano: whole_nanos(one.time),
        trace_id: one.trace_id.to_be_bytes().to_vec(),
        value: Some(exemplar::Value::AsDouble(one.value)),
        ..TracedPoint::default()
    };
    details.exemplars.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Exemplar;
    use crate::table;

    fn decoded(all: Exposition) -> ResourceMetrics {
        let start = UNIX_EPOCH + Duration::from_secs(1);
        let origin = FigureOrigin {
            service: "shop",
            host: "web1",
            version: "1.2.3",
            start,
            now: start + Duration::from_secs(60),
        };
        let request = ExportMetricsServiceRequest::decode(&*all.into_otlp(&origin)).unwrap();
        request.resource_metrics.into_iter().next().unwrap()
    }

    fn metrics(all: Exposition) -> Vec<Metric> {
        decoded(all).scope_metrics.into_iter().next().unwrap().metrics
    }

    #[test]
    fn the_resource_is_the_daemon() {
        let resource = decoded(Exposition::default()).resource.unwrap();
        assert!(resource.attributes.contains(&attribute("service.name", "shop")));
        assert!(resource.attributes.contains(&attribute("service.instance.id", "web1")));
    }

    #[test]
    fn counters_are_sums_since_the_start() {
        let mut all = Exposition::default();
        all.count(&table::APPLICATION_CRASHES, &["shop"], 2);
        all.count(&table::HTTP_SENT, &["*:80"], u64::MAX);
        let metrics = metrics(all);
        let names: Vec<_> =
            metrics.iter().map(|metric| (metric.name.as_str(), metric.unit.as_str())).collect();
        assert_eq!(names, [("corral_http_response_body_bytes", "By"), ("corral_application_crashes", "")]);
        let Some(Data::Sum(sum)) = &metrics[1].data else { panic!("{metrics:?}") };
        assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
        let point = &sum.data_points[0];
        assert_eq!(point.attributes, [attribute("application", "shop")]);
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1_000_000_000, 61_000_000_000));
        assert_eq!(point.value, Some(number_data_point::Value::AsInt(2)));
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!(sum.data_points[0].value, Some(number_data_point::Value::AsInt(i64::MAX)));
    }

    #[test]
    fn levels_are_gauges() {
        let mut all = Exposition::default();
        all.level(&table::APPLICATION_MEMORY, &["shop"], 5.0);
        let metrics = metrics(all);
        let Some(Data::Gauge(gauge)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(5.0)));
    }

    #[test]
    fn distributions_have_their_bounds_and_exemplars() {
        let mut all = Exposition::default();
        let histogram = HistogramSample { sum: 0.75, buckets: vec![(0.5, 1), (f64::INFINITY, 2)] };
        let exemplar = Exemplar { bucket: 1, trace_id: 7, value: 0.6, time: Duration::from_secs(9) };
        let details = HistogramDetails { exemplars: vec![exemplar], fine: None };
        all.detailed_histogram(&table::HTTP_DURATION, &["*:80"], histogram, details);
        let metrics = metrics(all);
        let Some(Data::Histogram(histogram)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!((metrics[0].unit.as_str(), histogram.aggregation_temporality), ("s", 2));
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (3, Some(0.75)));
        assert_eq!((&*point.bucket_counts, &*point.explicit_bounds), (&[1, 2][..], &[0.5][..]));
        let traced = &point.exemplars[0];
        assert_eq!(
            (traced.trace_id.len(), traced.trace_id[15], traced.time_unix_nano),
            (16, 7, 9_000_000_000)
        );
    }
}
