//! Programs that listen elsewhere than they were told: found by their own sockets.

use std::time::{Duration, Instant};

use corral_sys::signal::Pid;

use crate::port::{self, LocalPort};

/// Looks where one program listens.
#[derive(Debug)]
pub(crate) struct Stray {
    told: LocalPort,
    next_look: Instant,
    /// Where it listens, and since when that is known.
    found: Option<(LocalPort, Instant)>,
}

/// Reading what all processes of a group have open is some work.
const PAUSE: Duration = Duration::from_millis(250);

/// Some listen for other purposes before they serve, and not every first port is the one.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Where the debuggers of Node.js and Java listen.
const DEBUGGERS: [u16; 2] = [9229, 5005];

impl Stray {
    /// `told` is where the program was told to listen.
    pub(crate) fn new(told: LocalPort, now: Instant) -> Self {
        Self { told, next_look: now + PAUSE, found: None }
    }

    pub(crate) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Where the program is served: it has listened there for some time, and not where it was told to.
    pub(crate) fn look(&mut self, program: Pid, now: Instant) -> Option<LocalPort> {
        if now < self.next_look {
            return None;
        }
        self.next_look = now + PAUSE;
        self.note(&port::listened_on(program), now)
    }

    fn note(&mut self, places: &[LocalPort], now: Instant) -> Option<LocalPort> {
        let place = places.iter().find(|place| !DEBUGGERS.contains(&place.port)).copied();
        let is_told = places.iter().any(|place| place.port == self.told.port);
        self.found = match (place.filter(|_| !is_told), self.found) {
            (Some(place), Some((known, since))) if place == known => Some((place, since)),
            (place, _) => place.map(|place| (place, now)),
        };
        self.found
            .filter(|(_, since)| now.saturating_duration_since(*since) >= PATIENCE)
            .map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_served_where_it_has_listened_for_some_time() {
        let now = Instant::now();
        let later = |ms| now + Duration::from_millis(ms);
        let [told, other, third] = [10_000, 3000, 4000].map(LocalPort::v4);
        let mut stray = Stray::new(told, now);
        assert_eq!(stray.note(&[], later(0)), None);
        assert_eq!(stray.note(&[LocalPort::v4(9229)], later(0)), None);
        assert_eq!(stray.note(&[other], later(100)), None);
        assert_eq!(stray.note(&[other], later(1500)), None);
        assert_eq!(stray.note(&[other, third], later(1600)), Some(other));
        let mut stray = Stray::new(told, now);
        assert_eq!(stray.note(&[third], later(0)), None);
        assert_eq!(stray.note(&[other, third], later(1600)), None, "that one is new");
        assert_eq!(stray.note(&[other, told], later(4000)), None, "it obeys");
    }
}
