//! How long a server takes, as one event loop has measured it.

use corral_ipc::message::ServerTimes;

use crate::counters::DurationCounts;

/// The durations of one server; only one event loop writes them.
#[derive(Debug, Default)]
pub(crate) struct ServerDurations {
    /// To make a connection.
    pub(super) connect: DurationCounts,
    /// From the request to the head of the response.
    pub(crate) response: DurationCounts,
}

/// The sum over all event loops that have measured something.
pub(super) fn sum<'d>(loops: impl Iterator<Item = &'d ServerDurations>) -> Option<Box<ServerTimes>> {
    let mut sum: Option<Box<ServerTimes>> = None;
    for durations in loops {
        let sum = sum.get_or_insert_default();
        durations.connect.add_to(&mut sum.connect);
        durations.response.add_to(&mut sum.response);
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_server_that_was_never_asked_has_no_times() {
        assert!(sum(std::iter::empty()).is_none());
        let loops = [ServerDurations::default(), ServerDurations::default()];
        loops[0].connect.note(Duration::from_micros(400));
        loops[0].response.note(Duration::from_secs(1));
        loops[1].response.note(Duration::from_secs(2));
        let times = sum(loops.iter()).expect("something was measured");
        assert_eq!((times.connect.counts[0], times.connect.micros), (1, 400));
        assert_eq!((times.response.counts.iter().sum::<u64>(), times.response.micros), (2, 3_000_000));
    }
}
