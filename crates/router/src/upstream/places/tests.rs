//! Requests that wait for a place at servers a, b, … that have some.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::task::{Context, Poll, Waker};

use corral_config::address::ListenAddress;
use corral_config::upstream::{Origin, ProxyOptions, Server, Upstream, UpstreamHost};

use super::*;
use crate::upstream::server::UpstreamServer;

/// A group of servers with so many places each, and a queue.
fn group(places: &[u32], size: u32) -> Arc<ServerGroup> {
    let address = ListenAddress::Unix(PathBuf::from("/s"));
    let origin = Origin { tls: false, host: UpstreamHost::Address(address.clone()) };
    let mut upstream = Upstream::single("one".to_owned(), origin.clone(), ProxyOptions::default());
    upstream.queue = Queue { size, ..Queue::default() };
    let server = |places: &u32| Server { max_conns: NonZeroU32::new(*places), ..Server::new(origin.clone()) };
    upstream.servers = places.iter().map(server).collect();
    let one = || UpstreamServer::of_program(address.clone(), "s".to_owned(), ProxyOptions::default(), 1);
    let servers = places.iter().map(|_| one()).collect();
    Arc::new(ServerGroup::new(upstream, servers))
}

fn wait(group: &Arc<ServerGroup>, tried: &[usize]) -> Option<PlaceFuture> {
    let places = group.places.as_ref().expect("it has places");
    places.lock().push(group, &TriedServers::from_slice(tried))
}

/// The server whose place was granted.
fn granted(waiting: &mut PlaceFuture) -> Option<(usize, Place)> {
    let mut place = std::pin::pin!(waiting.place());
    match place.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(granted) => Some(granted),
        Poll::Pending => None,
    }
}

fn take(group: &Arc<ServerGroup>, server: usize) -> Place {
    group.take_place(server).expect("there is room").expect("they are counted")
}

#[test]
fn no_more_places_are_taken_than_there_are() {
    let group = group(&[2, 0], 0);
    let (first, second) = (take(&group, 0), take(&group, 0));
    assert!(!group.has_room(0) && group.take_place(0).is_err());
    drop(first);
    assert!(group.has_room(0));
    drop(second);
    assert!(group.has_room(1) && group.take_place(1).expect("there is room").is_none(), "no limit");
}

#[test]
fn a_place_goes_to_the_request_that_has_waited_longest() {
    let group = group(&[1], 9);
    let place = take(&group, 0);
    let (mut first, mut second) = (wait(&group, &[]).expect("room"), wait(&group, &[]).expect("room"));
    assert!(granted(&mut first).is_none());
    drop(place);
    assert!(group.take_place(0).is_err(), "it is handed over, and free at no time");
    assert!(granted(&mut second).is_none());
    let (server, place) = granted(&mut first).expect("its turn");
    assert_eq!(server, 0);
    drop(place);
    drop(granted(&mut second).expect("its turn"));
    assert!(group.has_room(0));
}

#[test]
fn a_request_is_not_given_to_a_server_that_it_has_tried() {
    let group = group(&[1, 1], 9);
    let (a, b) = (take(&group, 0), take(&group, 1));
    let (mut picky, mut any) = (wait(&group, &[0]).expect("room"), wait(&group, &[]).expect("room"));
    drop(a);
    assert_eq!(granted(&mut any).map(|(server, _)| server), Some(0), "the one behind it takes that");
    assert!(granted(&mut picky).is_none());
    drop(b);
    assert_eq!(granted(&mut picky).map(|(server, _)| server), Some(1));
}

#[test]
fn requests_that_leave_make_room() {
    let group = group(&[1], 2);
    let place = take(&group, 0);
    let (first, mut second) = (wait(&group, &[]).expect("room"), wait(&group, &[]).expect("room"));
    assert!(wait(&group, &[]).is_none(), "two may wait");
    drop(first);
    let third = wait(&group, &[]).expect("the place of the one that has left");
    drop(place);
    drop(third);
    drop(granted(&mut second).expect("its turn"));
    assert!(group.has_room(0));
}

#[test]
fn a_place_that_was_granted_in_vain_goes_on() {
    let group = group(&[1], 9);
    let place = take(&group, 0);
    let (first, mut second) = (wait(&group, &[]).expect("room"), wait(&group, &[]).expect("room"));
    drop(place);
    drop(first);
    drop(granted(&mut second).expect("its turn"));
    assert!(group.has_room(0));
    let place = take(&group, 0);
    let third = wait(&group, &[]).expect("room");
    drop(place);
    drop(third);
    assert!(group.has_room(0), "nothing has leaked");
}

#[test]
fn the_place_of_a_server_that_is_down_is_not_handed_over() {
    let group = group(&[1], 9);
    let place = take(&group, 0);
    let mut waiting = wait(&group, &[]).expect("room");
    group.servers[0].health.set_up(false);
    drop(place);
    assert!(granted(&mut waiting).is_none() && group.has_room(0));
}
