//! What a router accepts as a worker's memory or a bell, and what it does not.

use std::os::fd::OwnedFd;

use corral_channel::{Bell, MAX_LANES, MapError, Shape, WorkerBell, WorkerEnd, WorkerPort};
use corral_sys::memory::SharedMemory;

const SHAPE: Shape = Shape { n_lanes: 2 };

fn worker_memory(n_lanes: u16) -> OwnedFd {
    let (bell, _fds) = WorkerBell::create(n_lanes).expect("a bell");
    WorkerEnd::create(&bell).expect("a worker").1
}

#[track_caller]
fn check_refused(memory: OwnedFd, shape: Shape, expect: &str) {
    let error = WorkerPort::map(memory, shape).expect_err("to be refused");
    assert_eq!(error.to_string(), expect);
}

#[test]
fn the_memory_of_a_worker_is_accepted_once() {
    let memory = worker_memory(2);
    let again = memory.try_clone().expect("a descriptor");
    let (mut port, lanes) = WorkerPort::map(memory, SHAPE).expect("a fresh worker");
    assert_eq!(lanes.len(), 2);
    port.quit().expect("room");
    check_refused(again, SHAPE, "shared memory of a worker was used before");
}

#[test]
fn other_descriptors_are_refused() {
    let size = SHAPE.lane_capacity() * 2 + 1024 * 1024 + 4096;
    let of_size = |size| SharedMemory::create("test", size).expect("memory").1;
    check_refused(of_size(size), SHAPE, "shared memory for 2 lanes has a different layout");
    check_refused(of_size(4096), SHAPE, "map shared memory for 2 lanes");
    check_refused(worker_memory(1), SHAPE, "map shared memory for 2 lanes");
    let file = std::fs::File::open("/proc/self/exe").expect("ourselves");
    check_refused(file.into(), SHAPE, "map shared memory for 2 lanes");
}

#[test]
fn shapes_have_limits() {
    for n_lanes in [0, MAX_LANES + 1, u16::MAX] {
        check_refused(worker_memory(1), Shape { n_lanes }, &format!("a channel with {n_lanes} lanes"));
        assert!(WorkerBell::create(n_lanes).is_err());
    }
    let (_port, lanes) =
        WorkerPort::map(worker_memory(MAX_LANES), Shape { n_lanes: MAX_LANES }).expect("the largest");
    assert_eq!(lanes.len(), usize::from(MAX_LANES));
}

#[test]
fn a_bell_has_a_lane_for_each_eventfd() {
    let (_bell, mut fds) = WorkerBell::create(3).expect("a bell");
    assert_eq!(fds.len(), 4);
    let memory = fds.remove(0);
    let fewer = vec![fds.pop().expect("three")];
    let again = memory.try_clone().expect("a descriptor");
    assert!(matches!(Bell::map(again, fewer), Err(MapError::Identity { n_lanes: 1 })));
    assert!(matches!(Bell::map(worker_memory(1), fds), Err(MapError::Memory { n_lanes: 2, .. })));
    assert!(matches!(Bell::map(memory, Vec::new()), Err(MapError::Shape { n_lanes: 0 })));
}
