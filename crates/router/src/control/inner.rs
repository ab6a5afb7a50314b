//! Figures of the inside of the router, gathered when main asks.

use std::time::Instant;

use corral_ipc::bounded::MOST;
use corral_ipc::message::{InnerFigures, RoomFigures};
use corral_sys::{descriptors, process};

use super::ControlThread;
use crate::authentication;
use crate::observe::{access_log, telemetry};
use crate::reply::compression;

impl ControlThread {
    /// The figures of the router's inside.
    pub(super) fn inner(&self) -> InnerFigures {
        let now = Instant::now();
        let mut all = InnerFigures::default();
        self.loops.iter().for_each(|event_loop| event_loop.counters.inner.add_to(&mut all, now));
        all.compression.codings = compression::tally::figures();
        all.compression.bytes = compression::cache::n_bytes();
        all.lost.log_entries = access_log::n_lost();
        all.lost.spans = telemetry::n_lost();
        all.authentication.password_checks = authentication::n_password_checks();
        if let Some((_, generation)) = &self.current {
            let places = &generation.config.tables.authentications;
            let keys = generation.authenticators.remote_keys(places, now);
            all.authentication.remote_keys = keys.take(MOST).collect();
        }
        (all.bodies.held, all.bodies.most) = self.commons.budget.figures();
        all.room = self.room();
        all
    }

    fn room(&self) -> RoomFigures {
        let (most_files, most) = (process::descriptor_limit(), self.commons.shared.admission.most());
        RoomFigures {
            open_files: descriptors::n_open(),
            most_files: Some(most_files).filter(|most| *most < u64::MAX),
            most_connections: Some(most).filter(|most| *most < usize::MAX).map(|most| most as u64),
        }
    }
}
