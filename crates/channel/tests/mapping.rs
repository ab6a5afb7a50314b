//! The memory and the bells that a router accepts from a worker, and those that it refuses.

use std::fs::File;
use std::os::fd::OwnedFd;

use corral_channel::{
    Bell, ChannelShape, Lane, MAX_LANES, MemoryError, WorkerBell, WorkerDescriptors, WorkerEnd, WorkerPort,
};
use corral_sys::memory::SharedMemory;
use corral_sys::socket;

const SHAPE: ChannelShape = ChannelShape { n_lanes: 2 };

fn worker_memory(n_lanes: u16) -> OwnedFd {
    let (bell, _fds) = WorkerBell::create(n_lanes).expect("a bell");
    WorkerEnd::create(&bell).expect("a worker").1
}

#[track_caller]
fn check_refused(memory: OwnedFd, shape: ChannelShape, expect: &str) {
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
    let file = File::open("/proc/self/exe").expect("ourselves");
    check_refused(file.into(), SHAPE, "map shared memory for 2 lanes");
}

#[test]
fn shapes_have_limits() {
    for n_lanes in [0, MAX_LANES + 1, u16::MAX] {
        check_refused(worker_memory(1), ChannelShape { n_lanes }, &format!("a channel with {n_lanes} lanes"));
        assert!(WorkerBell::create(n_lanes).is_err());
    }
    let (_port, lanes) =
        WorkerPort::map(worker_memory(MAX_LANES), ChannelShape { n_lanes: MAX_LANES }).expect("the largest");
    assert_eq!(lanes.len(), usize::from(MAX_LANES));
}

#[test]
fn a_bell_has_an_eventfd_for_each_lane_of_the_router() {
    let (_bell, fds) = WorkerBell::create(3).expect("a bell");
    let map = |pick: &dyn Fn(&mut Vec<OwnedFd>), n_lanes| {
        let mut fds: Vec<_> = fds.iter().map(|fd| fd.try_clone().expect("a descriptor")).collect();
        pick(&mut fds);
        Bell::map(fds.remove(0), fds, n_lanes)
    };
    map(&|_| {}, 3).expect("as it was made");
    for n_lanes in [2, 4] {
        assert!(matches!(
            map(&|_| {}, n_lanes),
            Err(MemoryError::Identity { .. } | MemoryError::Memory { .. })
        ));
    }
    assert!(matches!(map(&|_| {}, 0), Err(MemoryError::Shape { n_lanes: 0 })));
    let fewer = |fds: &mut Vec<OwnedFd>| drop(fds.pop());
    assert!(matches!(map(&fewer, 3), Err(MemoryError::Eventfds { n_lanes: 3 })));
    let none = |fds: &mut Vec<OwnedFd>| fds.truncate(1);
    assert!(matches!(map(&none, 3), Err(MemoryError::Eventfds { n_lanes: 3 })));
    let more = |fds: &mut Vec<OwnedFd>| fds.push(fds[1].try_clone().expect("a descriptor"));
    assert!(matches!(map(&more, 3), Err(MemoryError::Eventfds { n_lanes: 3 })));
    let memory = |fds: &mut Vec<OwnedFd>| fds[0] = worker_memory(3);
    assert!(matches!(map(&memory, 3), Err(MemoryError::Memory { n_lanes: 3, .. })));
}

#[test]
fn what_rings_a_router_is_an_eventfd() {
    let (socket, _other) = socket::stream_pair().expect("sockets");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").into();
    let file = File::open("/dev/null").expect("it is there").into();
    for other in [socket, listener, file, worker_memory(1)] {
        let (_bell, mut fds) = WorkerBell::create(1).expect("a bell");
        assert!(matches!(
            Bell::map(fds.remove(0), vec![other], 1),
            Err(MemoryError::Eventfds { n_lanes: 1 })
        ));
    }
}

#[test]
fn what_comes_beside_the_memory_is_a_socket_of_its_kind() {
    let (stream, _stream) = socket::stream_pair().expect("sockets");
    let (packets, _packets) = socket::seqpacket_pair().expect("sockets");
    let file = OwnedFd::from(File::open("/dev/null").expect("it is there"));
    let listener = OwnedFd::from(std::net::TcpListener::bind("127.0.0.1:0").expect("a port"));
    let map = |bell: &OwnedFd, files: &OwnedFd| {
        let [bell, files] = [bell, files].map(|fd| Some(fd.try_clone().expect("a descriptor")));
        WorkerPort::map_with(worker_memory(2), WorkerDescriptors { bell, files }, SHAPE).map(drop)
    };
    map(&stream, &packets).expect("as they should be");
    for other in [&file, &listener, &packets] {
        assert!(matches!(map(other, &packets), Err(MemoryError::Beside(_))));
    }
    for other in [&file, &listener, &stream] {
        assert!(matches!(map(&stream, other), Err(MemoryError::Beside(_))));
    }
}

#[test]
fn a_silent_bell_takes_no_descriptor() {
    assert!(Bell::silent(0).is_err());
    let silent = Bell::silent(3).expect("a bell");
    for lane in [Lane(0), Lane(2)] {
        assert!(silent.eventfd(lane).is_none());
        silent.announce_sleep(lane);
        silent.cancel_sleep(lane);
    }
}
