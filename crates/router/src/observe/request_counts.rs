//! Counts of the requests of listeners, and of steps of routes. Each event loop has a set of its own, so that no two
//! write to the same cache line.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use corral_config::route::RouteStep;
use corral_config::table::{Key, Table};
use corral_ipc::message::{ListenerFigures, PROTOCOLS, STATUS_CLASSES, StepFigures};

use crate::counters::exemplars::Exemplars;
use crate::counters::fine_durations::FineDurationCounts;
use crate::counters::{Counter, DurationCounts, add_to, status_class};

/// The requests of one listener.
pub(crate) struct ListenerCounts {
    /// As `/status` has it.
    pub(crate) address: String,
    loops: Box<[ListenerLoopCounts]>,
}

/// The figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct ListenerLoopCounts {
    requests: [[Counter; STATUS_CLASSES.len()]; PROTOCOLS.len()],
    durations: DurationCounts,
    fine: FineDurationCounts,
    sent: Counter,
    received: Counter,
    in_progress: Counter,
    /// Traced requests; for this loop as well.
    pub(crate) exemplars: Exemplars,
}

/// A request that is being answered; it counts until this is dropped.
pub(crate) struct RequestInProgress<'c>(Option<&'c ListenerLoopCounts>);

/// The requests of all steps of routes.
#[derive(Default)]
pub(crate) struct StepCounts {
    /// For each step one of each event loop.
    steps: Table<RouteStep, Arc<[StepLoopCounts]>>,
}

/// The requests of one step, as one event loop has counted them.
#[derive(Debug, Default)]
#[repr(align(64))]
struct StepLoopCounts([Counter; STATUS_CLASSES.len()]);

impl StepCounts {
    /// Counts for the steps at these places; those of a place that `before` has, go on.
    pub(crate) fn new(
        places: &Table<RouteStep, String>,
        n_loops: usize,
        before: Option<(&Table<RouteStep, String>, &Self)>,
    ) -> Self {
        let known: HashMap<_, _> =
            before.into_iter().flat_map(|(places, counts)| places.iter().zip(counts.steps.iter())).collect();
        let counts = places.iter().map(|place| {
            let known = known.get(place).map(|counts| Arc::clone(counts));
            known.unwrap_or_else(|| (0..n_loops).map(|_| StepLoopCounts::default()).collect())
        });
        Self { steps: counts.collect() }
    }

    /// Counts a request whose last step this was.
    pub(crate) fn note(&self, step: Key<RouteStep>, lane: usize, status: Option<u16>) {
        if let Some(counts) = self.steps.get(step) {
            counts[lane].0[status_class(status)].add(1);
        }
    }

    /// The sums over all event loops.
    pub(crate) fn figures(&self, places: &Table<RouteStep, String>) -> impl Iterator<Item = StepFigures> {
        places.iter().zip(self.steps.iter()).map(|(place, loops)| {
            let mut sum = StepFigures { place: place.clone(), ..StepFigures::default() };
            loops.iter().for_each(|counts| add_to(&mut sum.requests, &counts.0));
            sum
        })
    }
}

/// A request that is over.
pub(crate) struct CountedRequest {
    /// Among `PROTOCOLS`.
    pub(crate) protocol: usize,
    /// `None` if the client got none.
    pub(crate) status: Option<u16>,
    pub(crate) took: Duration,
    /// Bytes of the response body.
    pub(crate) sent: u64,
    /// Bytes of the request body.
    pub(crate) received: u64,
}

impl ListenerCounts {
    pub(crate) fn new(address: String, n_loops: usize) -> Self {
        Self { address, loops: (0..n_loops).map(|_| ListenerLoopCounts::default()).collect() }
    }

    /// The set of an event loop.
    pub(crate) fn of_loop(&self, lane: usize) -> &ListenerLoopCounts {
        &self.loops[lane]
    }

    /// The sums over all event loops.
    pub(crate) fn figures(&self) -> ListenerFigures {
        let mut sum = ListenerFigures::new(self.address.clone());
        for counts in &self.loops {
            add_to(sum.requests.as_flattened_mut(), counts.requests.as_flattened());
            counts.durations.add_to(&mut sum.durations);
            counts.fine.add_to(&mut sum.fine);
            sum.sent += counts.sent.get();
            sum.received += counts.received.get();
            sum.in_progress += counts.in_progress.get();
            counts.exemplars.add_to(&mut sum.exemplars);
        }
        sum
    }
}

impl ListenerLoopCounts {
    /// Counts a request. One that became another protocol lasted for as long as its client liked.
    pub(crate) fn note(&self, request: &CountedRequest) {
        self.requests[request.protocol][status_class(request.status)].add(1);
        self.sent.add(request.sent);
        if request.status != Some(101) {
            self.received.add(request.received);
            self.durations.note(request.took);
            self.fine.note(request.took);
        }
    }
}

impl<'c> RequestInProgress<'c> {
    /// A request of a listener begins; of none if the router makes it itself.
    pub(crate) fn begin(counts: Option<&'c ListenerLoopCounts>) -> Self {
        if let Some(counts) = counts {
            counts.in_progress.add(1);
        }
        Self(counts)
    }
}

impl Drop for RequestInProgress<'_> {
    fn drop(&mut self) {
        if let Some(counts) = self.0 {
            counts.in_progress.subtract(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_protocol_class_and_duration() {
        let listener = ListenerCounts::new("*:80".to_owned(), 2);
        let request = |status, micros| CountedRequest {
            protocol: 1,
            status,
            took: Duration::from_micros(micros),
            sent: 10,
            received: 3,
        };
        for (lane, status, micros) in [
            (0, Some(200), 500),
            (1, Some(204), 501),
            (0, Some(404), 60_000_001),
            (0, None, 0),
            (1, Some(999), 0),
            (1, Some(101), 1),
        ] {
            listener.of_loop(lane).note(&request(status, micros));
        }
        let figures = listener.figures();
        assert_eq!(figures.requests, [[0; 6], [1, 1, 2, 0, 1, 1], [0; 6]]);
        let counts = figures.durations.counts;
        assert_eq!((counts[0], counts[1], counts[16], counts.iter().sum()), (3, 1, 1, 5));
        assert_eq!((figures.durations.micros, figures.sent), (60_001_002, 60));
        // Behind a switch to another protocol come no bodies.
        assert_eq!(figures.received, 15);
    }

    #[test]
    fn requests_are_in_progress_until_they_are_over() {
        let listener = ListenerCounts::new("*:80".to_owned(), 2);
        let begin = |lane| RequestInProgress::begin(Some(listener.of_loop(lane)));
        let (one, two, own) = (begin(0), begin(1), RequestInProgress::begin(None));
        assert_eq!(listener.figures().in_progress, 2);
        drop((one, own));
        assert_eq!(listener.figures().in_progress, 1);
        drop(two);
        assert_eq!(listener.figures().in_progress, 0);
    }
}
