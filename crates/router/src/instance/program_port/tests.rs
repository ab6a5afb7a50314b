//! Turns at a program, step by step.

use std::time::Instant;

use corral_channel::{Lane, RequestId};
use corral_config::address::ListenAddress;
use corral_config::upstream::ProxyOptions;
use corral_ipc::message::WorkerId;

use super::*;
use crate::instance::failure::AppFailure;
use crate::instance::turns::TurnCell;
use crate::storage::buffers::Rest;
use crate::upstream::UpstreamServer;

fn program(n_requests: Option<u32>) -> Arc<ReadyProgram> {
    let address = ListenAddress::Inet(([127, 0, 0, 1], 1).into());
    let server = UpstreamServer::of_program(address, String::new(), ProxyOptions::default(), 1);
    ReadyProgram::new(WorkerId(1), 7, server, None, n_requests)
}

fn request() -> PoolRequest {
    PoolRequest {
        lane: Lane(0),
        id: RequestId(5),
        payload: Vec::new(),
        inline: Rest::default(),
        arrived: Instant::now(),
    }
}

/// A port to a program, and the turn of `request`.
fn port(n_requests: Option<u32>) -> (ProgramPort, Arc<TurnCell>) {
    let turns = Arc::<ProgramTurns>::default();
    let cell = turns.insert(Lane(0), RequestId(5));
    (ProgramPort { program: program(n_requests), turns }, cell)
}

#[test]
fn a_turn_can_be_taken_back_until_it_begins() {
    let (mut port, cell) = port(None);
    let slot = RequestSlot::new(0).unwrap();
    port.submit(slot, &request()).unwrap();
    assert!(!port.is_started(slot, &request()) && port.take_back(slot, &request()));
    assert!(!port.take_back(slot, &request()), "it is back");
    port.submit(slot, &request()).unwrap();
    assert!(matches!(cell.begin(), Some(Ok(_))));
    assert!(port.is_started(slot, &request()) && !port.take_back(slot, &request()));
    assert!(cell.begin().is_none(), "once");
}

#[test]
fn a_request_that_nobody_serves_fails_unless_it_has_begun() {
    let (mut port, cell) = port(None);
    let failure = AppFailure::NoWorker("none".to_owned());
    assert!(!port.turns.fail(Lane(1), RequestId(5), &failure), "that is another one");
    port.submit(RequestSlot::new(0).unwrap(), &request()).unwrap();
    cell.begin();
    assert!(port.turns.fail(Lane(0), RequestId(5), &failure));
    assert!(cell.is_started());
    let waiting = port.turns.insert(Lane(0), RequestId(6));
    port.turns.fail(Lane(0), RequestId(6), &failure);
    assert!(matches!(waiting.begin(), Some(Err(AppFailure::NoWorker(_)))));
}

#[test]
fn a_program_is_told_to_end_behind_its_last_turn() {
    let (mut port, _) = port(Some(2));
    let slot = RequestSlot::new(0).unwrap();
    for _ in 0..3 {
        port.submit(slot, &request()).unwrap();
    }
    assert!(!port.program.end_turn());
    assert!(port.program.end_turn(), "the second of two");
    assert!(!port.program.retires_now(), "it is not dismissed");
    port.quit();
    assert!(!port.program.retires_now(), "one goes on");
    assert!(!port.program.end_turn(), "that was told before");
    assert!(port.program.retires_now() && !port.program.retires_now(), "once");
}
