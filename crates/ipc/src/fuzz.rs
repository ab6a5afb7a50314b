//! Entries of the fuzz targets: anything goes in, nothing but errors may come out.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};

use corral_sys::descriptor_kind::DescriptorKind;
use corral_sys::eventfd::EventFd;
use corral_sys::socket::{self, Wait};
use corral_sys::{process, sealed, signal::Pid};

use crate::link::{Incoming, Link};
use crate::message::{
    FromController, FromExec, FromImage, FromPrototype, FromReader, FromRouter, FromSuccessor,
};

/// Reads `data` as a datagram with descriptors, as main does those of every other process. The first byte says how many
/// descriptors there are, the next ones what they are; the rest is the message.
pub fn fuzz_take(data: &[u8]) {
    let Some((n_fds, rest)) = data.split_first() else { return };
    let (kinds, datagram) = rest.split_at(rest.len().min(usize::from(n_fds % 8)));
    let fds: Vec<_> = kinds.iter().map(|kind| descriptor(*kind, datagram)).collect();
    check::<FromPrototype>(datagram, &fds);
    check::<FromRouter>(datagram, &fds);
    check::<FromController>(datagram, &fds);
    check::<FromReader>(datagram, &fds);
    check::<FromSuccessor>(datagram, &fds);
    check::<FromExec>(datagram, &fds);
    check::<FromImage>(datagram, &fds);
}

/// Checks that a message which is accepted has the descriptors that it came with, in the order in which they were sent.
fn check<T: Incoming>(datagram: &[u8], fds: &[OwnedFd]) {
    let (main, other) = Link::pair().expect("there are descriptors left");
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    socket::send(other.as_fd(), datagram, &borrowed, Wait::Never).expect("it fits");
    if let Ok(Some((message, taken))) = main.take::<T>() {
        let kinds: Vec<_> = taken.iter().map(DescriptorKind::of).collect();
        assert!(message.comes_with(&kinds));
        let sent: Vec<_> = fds.iter().take(kinds.len()).map(DescriptorKind::of).collect();
        assert_eq!(kinds, sent);
    }
}

fn descriptor(kind: u8, content: &[u8]) -> OwnedFd {
    let made = match kind % 8 {
        0 => sealed::seal("fuzz", content.get(1..).unwrap_or_default()),
        1 => EventFd::new().map(OwnedFd::from),
        2 => process::pidfd(Pid::from_raw(std::process::id().cast_signed()).expect("a process has a number")),
        3 => socket::stream_pair().map(|(one, _)| one),
        4 => socket::seqpacket_pair().map(|(one, _)| one),
        5 => UdpSocket::bind("127.0.0.1:0").map(OwnedFd::from),
        6 => File::open("/dev/null").map(OwnedFd::from),
        _ => std::io::pipe().map(|(reader, _)| reader.into()),
    };
    made.expect("there are descriptors left")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::Config;

    use super::*;
    use crate::link::Packet;
    use crate::message::{Endpoint, Exit, WorkerId};

    /// The datagram that is sent for a message.
    fn datagram(message: &FromPrototype) -> Vec<u8> {
        Packet::new(message, &[]).unwrap().into_datagram()
    }

    fn messages() -> Vec<FromPrototype> {
        let worker = WorkerId(1);
        let forked = |concurrency: u32, files| FromPrototype::Forked {
            worker,
            pid: 2,
            concurrency: concurrency.try_into().ok(),
            files,
        };
        vec![
            FromPrototype::Ready,
            FromPrototype::Failed { reason: "broken".to_owned() },
            forked(0, false),
            forked(4, false),
            forked(0, true),
            forked(4, true),
            FromPrototype::Started { worker, pid: 2, endpoint: Endpoint::Socket },
            FromPrototype::Started { worker, pid: 2, endpoint: Endpoint::Port(80) },
            FromPrototype::ForkFailed { worker, reason: String::new() },
            FromPrototype::Exited { worker, exit: Exit::Code(0) },
            FromPrototype::Begun { worker, pid: 2 },
        ]
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

        #[test]
        fn any_datagram_is_taken_or_refused(data in proptest::collection::vec(any::<u8>(), 0..300)) {
            fuzz_take(&data);
        }

        #[test]
        fn any_message_comes_with_any_descriptors(
            which in 0..11usize,
            kinds in proptest::collection::vec(any::<u8>(), 0..8),
            change in proptest::option::of((any::<usize>(), any::<u8>())),
        ) {
            let mut datagram = datagram(&messages()[which]);
            if let Some((place, byte)) = change {
                let place = place % datagram.len();
                datagram[place] = byte;
            }
            let n_fds = kinds.len() as u8;
            fuzz_take(&[&[n_fds], &kinds[..], &datagram].concat());
        }
    }

    #[track_caller]
    fn check_kinds(message: &FromPrototype, kinds: &[u8], is_taken: bool) {
        let (main, prototype) = Link::pair().unwrap();
        let fds: Vec<_> = kinds.iter().map(|kind| descriptor(*kind, b"")).collect();
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        prototype.send(message, &fds).unwrap();
        assert_eq!(main.take::<FromPrototype>().is_ok(), is_taken, "{message:?} with {kinds:?}");
    }

    #[test]
    fn each_message_has_its_descriptors() {
        const MEMORY: u8 = 0;
        const EVENT: u8 = 1;
        const PROCESS: u8 = 2;
        const STREAM: u8 = 3;
        const PACKETS: u8 = 4;
        const UDP: u8 = 5;
        let good: [&[&[u8]]; 11] = [
            &[&[], &[MEMORY], &[MEMORY, EVENT, EVENT]],
            &[&[]],
            &[&[MEMORY], &[MEMORY, PROCESS]],
            &[&[MEMORY, STREAM], &[MEMORY, STREAM, PROCESS]],
            &[&[MEMORY, PACKETS], &[MEMORY, PACKETS, PROCESS]],
            &[&[MEMORY, STREAM, PACKETS], &[MEMORY, STREAM, PACKETS, PROCESS]],
            &[],
            &[&[], &[PROCESS]],
            &[&[]],
            &[&[]],
            &[&[], &[PROCESS]],
        ];
        let bad: [&[u8]; 7] = [
            &[UDP],
            &[EVENT, MEMORY],
            &[MEMORY, PROCESS, PROCESS],
            &[MEMORY, PACKETS, STREAM],
            &[MEMORY, UDP],
            &[STREAM],
            &[MEMORY, EVENT, UDP],
        ];
        for (message, good) in messages().iter().zip(good) {
            for kinds in good {
                check_kinds(message, kinds, true);
            }
            for kinds in bad {
                check_kinds(message, kinds, false);
            }
        }
    }
}
