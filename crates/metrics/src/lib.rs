//! The figures of a daemon as collectors of metrics read them: one table of all series, the formats of Prometheus, and
//! OpenTelemetry's.
//!
//! `table` is the one place that names a series. An `Exposition` takes samples of these, the manual's page is made of
//! it, and a test compares the two.

#![forbid(unsafe_code)]

pub mod alerts;
mod details;
mod exposition;
mod family;
pub mod manual;
mod media_type;
mod otlp;
pub mod table;

pub use self::details::{Exemplar, FineBuckets, HistogramDetails};
pub use self::exposition::{Exposition, HistogramSample};
pub use self::family::{Family, Kind, Section, Unit};
pub use self::media_type::Format;
pub use self::otlp::FigureOrigin;
