//! The levels of the log.

/// How important a line is, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogRank {
    Alert,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
}

/// The names of all, as they stand in the log.
pub(super) const NAMES: [(&str, LogRank); 6] = [
    ("alert", LogRank::Alert),
    ("error", LogRank::Error),
    ("warn", LogRank::Warn),
    ("notice", LogRank::Notice),
    ("info", LogRank::Info),
    ("debug", LogRank::Debug),
];

impl LogRank {
    pub(crate) fn of(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, rank)| *rank)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, rank)| *rank == self).map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels_lead_to_each_other() {
        assert!(NAMES.iter().all(|(name, rank)| rank.name() == *name && LogRank::of(name) == Some(*rank)));
        assert_eq!(LogRank::of("loud"), None);
        assert_eq!(LogRank::of(""), None);
    }
}
