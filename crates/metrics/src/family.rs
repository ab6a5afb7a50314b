//! One series: its name, what it counts, and by which labels.

/// A series of the table.
#[derive(Debug)]
pub struct Family {
    /// With the unit, and without `_total`.
    pub name: &'static str,
    /// The way in which its numbers move.
    pub kind: Kind,
    /// The unit of its numbers; the name ends with it.
    pub unit: Unit,
    /// The names of its labels. Their values are names of the configuration or words of a fixed list, never bytes of a
    /// request.
    pub labels: &'static [&'static str],
    /// One sentence for collectors, without the full stop that formats add.
    pub help: &'static str,
    /// The rest that a reader of the manual wants to know, in Markdown; may be empty.
    pub meaning: &'static str,
    /// The part of the manual's page.
    pub section: Section,
}

/// The way in which numbers move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Upwards alone; its name gets `_total`.
    Counter,
    /// Up and down.
    Gauge,
    /// How many were at most so large, for some sizes.
    Histogram,
}

/// The unit of numbers: a base unit, as the conventions of Prometheus want it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things are counted.
    None,
    /// Times, also times of day since 1970.
    Seconds,
    /// Memory and traffic.
    Bytes,
}

/// A part of the manual's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The daemon as a whole.
    Daemon,
    /// Connections of clients.
    Connections,
    /// Requests by the listener that they came to.
    Requests,
    /// Applications and their processes.
    Applications,
    /// Servers that requests are passed on to.
    Upstreams,
    /// Limits for clients.
    Limits,
    /// Copies of requests for other servers.
    Mirrors,
    /// Automatic certificates.
    Certificates,
    /// Event loops, channels, caches and bounds of the router.
    Inside,
}

impl Section {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 9] = [
        Self::Daemon,
        Self::Connections,
        Self::Requests,
        Self::Applications,
        Self::Upstreams,
        Self::Limits,
        Self::Mirrors,
        Self::Certificates,
        Self::Inside,
    ];

    /// The heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Daemon => "The daemon",
            Self::Connections => "Connections",
            Self::Requests => "Requests",
            Self::Applications => "Applications",
            Self::Upstreams => "Servers of upstreams",
            Self::Limits => "Limits",
            Self::Mirrors => "Mirrors",
            Self::Certificates => "Certificates",
            Self::Inside => "Inside the router",
        }
    }
}

impl Unit {
    /// The end of names that have it, without the underscore.
    #[must_use]
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Seconds => Some("seconds"),
            Self::Bytes => Some("bytes"),
        }
    }
}

impl Kind {
    /// The word of the formats.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Family {
    /// The name that queries have: that of its samples, of a histogram without their suffixes.
    #[must_use]
    pub fn sample_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_owned(),
        }
    }

    /// The name without the unit at its end.
    #[must_use]
    pub(crate) fn bare_name(&self) -> &'static str {
        let unit = self.unit.suffix().and_then(|unit| self.name.strip_suffix(unit));
        unit.and_then(|name| name.strip_suffix('_')).unwrap_or(self.name)
    }
}
