//! Counts of connections by protocol, of handshakes and of refused requests, as one event loop sees them.

use corral_ipc::message::{
    CONNECTION_PROTOCOLS, ConnectionProtocol, HTTP2_FAULTS, Http2Fault, REFUSALS, Refusal, TLS_FAILURES,
    TLS_SESSIONS, TLS_VERSIONS, TlsFailure, TrafficFigures,
};

use super::{Counter, add_to};

/// Figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounters {
    refused: [Counter; REFUSALS.len()],
    begun: [Counter; CONNECTION_PROTOCOLS.len()],
    /// HTTP/1 is left out, as its connections are the rest of those that are open.
    ended: [Counter; CONNECTION_PROTOCOLS.len()],
    pub(crate) tls: TlsCounters,
    pub(crate) http2: Http2Counters,
}

/// A connection that speaks a protocol; it counts as open until this is dropped.
pub(crate) struct SpokenProtocol<'c> {
    counters: &'c TrafficCounters,
    protocol: ConnectionProtocol,
}

impl Drop for SpokenProtocol<'_> {
    fn drop(&mut self) {
        self.counters.end(self.protocol);
    }
}

/// Handshakes of TLS.
#[derive(Debug, Default)]
pub(crate) struct TlsCounters {
    handshakes: [[Counter; TLS_SESSIONS.len()]; TLS_VERSIONS.len()],
    failed: [Counter; TLS_FAILURES.len()],
}

/// Connections of HTTP/2.
#[derive(Debug, Default)]
pub(crate) struct Http2Counters {
    pub(crate) streams: Counter,
    pub(crate) resets: Counter,
    broken: [Counter; HTTP2_FAULTS.len()],
}

impl TrafficCounters {
    /// A request is refused.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.refused[refusal as usize].add(1);
    }

    /// A connection begins to speak this protocol.
    pub(crate) fn begin(&self, protocol: ConnectionProtocol) {
        self.begun[protocol as usize].add(1);
    }

    /// A connection, which is not one of HTTP/1, speaks this protocol until the result is dropped.
    pub(crate) fn speak(&self, protocol: ConnectionProtocol) -> SpokenProtocol<'_> {
        self.begin(protocol);
        SpokenProtocol { counters: self, protocol }
    }

    /// A connection of this protocol has ended.
    fn end(&self, protocol: ConnectionProtocol) {
        self.ended[protocol as usize].add(1);
    }

    /// Adds all to those of other event loops.
    pub(crate) fn add_to(&self, sum: &mut TrafficFigures) {
        add_to(&mut sum.refused, &self.refused);
        add_to(&mut sum.begun, &self.begun);
        let open = self.begun.iter().zip(&self.ended);
        let open = open.map(|(begun, ended)| begun.get().saturating_sub(ended.get()));
        sum.open.iter_mut().zip(open).for_each(|(sum, n)| *sum += n);
        add_to(sum.tls.handshakes.as_flattened_mut(), self.tls.handshakes.as_flattened());
        add_to(&mut sum.tls.failed, &self.tls.failed);
        sum.http2.streams += self.http2.streams.get();
        sum.http2.resets += self.http2.resets.get();
        add_to(&mut sum.http2.broken, &self.http2.broken);
    }
}

impl TlsCounters {
    /// A handshake has led to a session of this version, among `TLS_VERSIONS`.
    pub(crate) fn succeed(&self, version: usize, is_resumed: bool) {
        if let Some(sessions) = self.handshakes.get(version) {
            sessions[usize::from(is_resumed)].add(1);
        }
    }

    /// A handshake has failed.
    pub(crate) fn fail(&self, failure: TlsFailure) {
        self.failed[failure as usize].add(1);
    }
}

impl Http2Counters {
    /// A connection is ended for what its client has sent.
    pub(crate) fn note_fault(&self, fault: Http2Fault) {
        self.broken[fault as usize].add(1);
    }
}

/// The figures of all event loops. `n_connections` are open, which are of HTTP/1 if of no other protocol.
pub(crate) fn sum<'c>(
    loops: impl Iterator<Item = &'c TrafficCounters>,
    n_connections: u64,
) -> TrafficFigures {
    let mut sum = TrafficFigures::default();
    loops.for_each(|counters| counters.add_to(&mut sum));
    let [http1, others @ ..] = &mut sum.open;
    *http1 = n_connections.saturating_sub(others.iter().sum());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_loops_are_added_up_and_the_rest_is_http_1() {
        let loops = [TrafficCounters::default(), TrafficCounters::default()];
        for counters in &loops {
            counters.begin(ConnectionProtocol::Http1);
            counters.begin(ConnectionProtocol::Http2);
            counters.begin(ConnectionProtocol::Http2);
            counters.end(ConnectionProtocol::Http2);
            counters.refuse(Refusal::Authentication);
            counters.tls.succeed(1, true);
            counters.tls.succeed(9, false);
            counters.tls.fail(TlsFailure::Alert);
            counters.http2.streams.add(3);
            counters.http2.resets.add(1);
            counters.http2.note_fault(Http2Fault::Protocol);
        }
        loops[0].begin(ConnectionProtocol::Udp);
        let figures = sum(loops.iter(), 7);
        assert_eq!((figures.begun, figures.open), ([2, 4, 0, 1], [4, 2, 0, 1]));
        assert_eq!(figures.refused[Refusal::Authentication as usize], 2);
        assert_eq!(figures.refused.iter().sum::<u64>(), 2);
        assert_eq!((figures.tls.handshakes, figures.tls.failed[2]), ([[0, 0], [0, 2]], 2));
        assert_eq!((figures.http2.streams, figures.http2.resets, figures.http2.broken), (6, 2, [0, 2]));
    }

    #[test]
    fn a_connection_is_open_while_it_speaks() {
        let counters = TrafficCounters::default();
        let speaking = counters.speak(ConnectionProtocol::Tcp);
        let figures = || sum([&counters].into_iter(), 0);
        assert_eq!((figures().begun, figures().open), ([0, 0, 1, 0], [0, 0, 1, 0]));
        drop(speaking);
        assert_eq!((figures().begun, figures().open), ([0, 0, 1, 0], [0; 4]));
    }

    /// The counters are read one after the other while event loops go on.
    #[test]
    fn a_connection_that_is_seen_in_part_is_not_less_than_none() {
        let counters = TrafficCounters::default();
        counters.end(ConnectionProtocol::Tcp);
        counters.begin(ConnectionProtocol::Udp);
        assert_eq!(sum([&counters].into_iter(), 0).open, [0, 0, 0, 1]);
    }
}
