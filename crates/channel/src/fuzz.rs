//! Entries of the fuzz targets: anything goes in, nothing but errors may come out.

use std::mem::offset_of;

use crate::frame::{Flags, FrameHead, FrameKind, Lane, RequestId};
use crate::mapped::layout::{ChannelShape, WorkerHeader};
use crate::mapped::port::{Checked, WorkerPort};
use crate::mapped::receiver::LaneReceiver;
use crate::mapped::region::{Region, SharedBytes};
use crate::message::{
    check_trailers, decode_informational, decode_request, decode_response, decode_trailers, split_file,
};
use crate::ring::Cursors;
use crate::slot::RequestSlot;

/// Where a worker says how much of its request ring it has read.
const CONSUMED: usize = offset_of!(WorkerHeader, requests) + offset_of!(Cursors, consumed);

/// Reads `data` as the payload of a Request frame.
pub fn fuzz_decode_request(data: &[u8]) {
    if let Ok(request) = decode_request(data) {
        assert_eq!(request.fields.count(), request.fields.len());
        assert!(data.ends_with(request.body));
    }
}

/// Reads `data` as the payload of a Response frame, and of an Informational one.
pub fn fuzz_decode_response(data: &[u8]) {
    let informational = decode_informational(data).is_ok();
    let Ok((response, body_offset)) = decode_response(data) else { return assert!(!informational) };
    assert_eq!(informational, (102..200).contains(&response.status));
    assert!((100..=999).contains(&response.status) && body_offset <= data.len());
    assert_eq!(response.fields.count(), response.fields.len());
    for (name, value) in response.fields {
        assert!(!name.is_empty() && !name.iter().any(|byte| b"\r\n\0: ".contains(byte)));
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
    }
}

/// Reads `data` as the payload of a Trailers frame.
pub fn fuzz_decode_trailers(data: &[u8]) {
    let Ok(trailers) = decode_trailers(data) else { return };
    assert_eq!(trailers.count(), trailers.len());
    assert_eq!(check_trailers(trailers), Ok(()));
    for (_, value) in trailers {
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
    }
}

/// Reads `data` as a payload that ends with a part of a file.
pub fn fuzz_split_file(data: &[u8]) {
    let Ok((rest, part)) = split_file(data) else { return };
    assert_eq!(rest + crate::message::FilePart::SIZE, data.len());
    assert!(part.len > 0 && i64::try_from(part.offset.checked_add(part.len).expect("checked")).is_ok());
    let end = part.to_bytes();
    assert_eq!(split_file(&end), Ok((0, part)));
    // Bytes that are not read may be anything.
    assert!(data[rest..][..4] == end[..4] && data[rest + 8..] == end[8..]);
}

/// A worker with two lanes that does what `data` says to its memory while the router uses it.
pub fn fuzz_lane(data: &[u8]) {
    let shape = ChannelShape { n_lanes: 2 };
    let region = Region::heap(shape.worker_size());
    let (port, lanes) = WorkerPort::new(&region, Checked::default(), shape).expect("zeroed memory is fresh");
    let memory = SharedBytes::new(&region, 0, shape.worker_size());
    let mut router = FuzzRouter { port, lanes, shape, payload: Vec::new() };
    let mut script = FuzzScript(data);
    while let Some(step) = script.byte() {
        hostile_step(&memory, shape, step, &mut script);
        router.step(step);
    }
    for _ in 0..2 {
        router.drain(0);
        router.drain(1);
    }
}

/// Bytes that decide what happens; zeros once they have run out.
struct FuzzScript<'a>(&'a [u8]);

impl FuzzScript<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte().unwrap_or(0))
    }
}

/// Writes somewhere: mostly where it hurts, so that a fuzzer need not find those places first.
fn hostile_step(memory: &SharedBytes, shape: ChannelShape, step: u8, script: &mut FuzzScript<'_>) {
    let lane = usize::from(step & 1);
    match step >> 1 & 7 {
        0 => memory.write(shape.lane_cursors(lane), &script.array::<8>()),
        1 => {
            // A plausible position: nothing but these pass the first check.
            let position = u64::from(u16::from_le_bytes(script.array())) * 16;
            memory.write(shape.lane_cursors(lane), &position.to_ne_bytes());
        }
        2 => {
            let at = usize::from(u16::from_le_bytes(script.array())) * 16 % shape.lane_capacity();
            memory.write(shape.lane_data(lane) + at, &script.array::<16>());
        }
        3 => {
            let at = usize::from(script.byte().unwrap_or(0)) * 16;
            let head = FrameHead::new(FrameKind::Data, Lane(u16::MAX), RequestId(1));
            let len = u32::from_le_bytes(script.array()) >> (step >> 4);
            memory.write(shape.lane_data(lane) + at, &FrameHead { len, ..head }.to_bytes());
        }
        4 => memory.write(CONSUMED, &script.array::<8>()),
        5 => {
            let position = u64::from(u16::from_le_bytes(script.array())) * 16;
            memory.write(CONSUMED, &position.to_ne_bytes());
        }
        6 => {
            let at = usize::from(u16::from_le_bytes(script.array())) % 2048;
            memory.write(at, &script.array::<4>());
        }
        _ => {}
    }
}

/// The router's side, doing a bit of everything.
struct FuzzRouter {
    port: WorkerPort,
    lanes: Vec<LaneReceiver>,
    shape: ChannelShape,
    payload: Vec<u8>,
}

impl FuzzRouter {
    fn step(&mut self, step: u8) {
        let (slot, request, lane) =
            (RequestSlot::new(usize::from(step) % 64).expect("below 64"), RequestId(7), Lane(0));
        match step >> 5 {
            0 => drop(self.port.submit(slot, request, lane, &[&[1; 300], &[2; 1000]])),
            1 => drop(self.port.body(request, lane, &[3; 60_000], true)),
            2 => drop(self.port.cancel(request, lane)),
            3 => {
                let started = self.port.is_started(slot, request, lane);
                assert!(!(started && self.port.take_back(slot, request, lane)), "started and taken back");
            }
            4 => assert!(self.port.note().len() <= crate::MAX_NOTE),
            5 => assert!(self.port.free_space().unwrap_or(0) <= crate::MAX_REQUEST_PAYLOAD),
            6 => self.drain(0),
            _ => self.drain(1),
        }
    }

    /// As an event loop does; it has to end.
    fn drain(&mut self, lane: usize) {
        let receiver = &mut self.lanes[lane];
        for _ in 0..=self.shape.lane_capacity() / crate::FRAME_UNIT {
            let Ok(Some(head)) = receiver.recv(&mut self.payload) else { return };
            assert_eq!(head.lane, Lane(lane as u16));
            assert_eq!(head.len as usize, self.payload.len());
            assert!(self.payload.len() <= self.shape.max_response_payload());
            if head.flags.contains(Flags::FILE)
                && let Ok((_, part)) = split_file(&self.payload)
            {
                // This worker has sent none.
                assert!(receiver.take_file(part.number).is_err());
            }
        }
        panic!("a lane gave more frames than it can hold");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::few_cases())]

        #[test]
        fn no_bytes_harm_the_router(data in prop::collection::vec(any::<u8>(), 0..600)) {
            fuzz_lane(&data);
        }

        #[test]
        fn no_bytes_harm_the_decoders(data in prop::collection::vec(any::<u8>(), 0..200)) {
            fuzz_decode_request(&data);
            fuzz_decode_response(&data);
            fuzz_decode_trailers(&data);
            fuzz_split_file(&data);
        }

        #[test]
        fn parts_of_files_survive_the_way(number: u32, offset: u64, len: u64, before in 0..100usize) {
            let part = crate::message::FilePart { number, offset, len };
            let payload = [&vec![7; before][..], &part.to_bytes()].concat();
            fuzz_split_file(&payload);
            let is_possible = len > 0 && offset.checked_add(len).is_some_and(|end| end <= i64::MAX as u64);
            prop_assert_eq!(split_file(&payload).ok(), is_possible.then_some((before, part)));
        }

        #[test]
        fn no_damage_harms_the_decoders(at in 0..90usize, byte in any::<u8>()) {
            let mut request = Vec::new();
            crate::message::encode_request(&mut request, &Default::default(), [(&b"a"[..], &b"b"[..])]);
            let mut response = Vec::new();
            crate::message::encode_response(&mut response, 200, [(&b"name"[..], &b"value"[..]); 3]);
            let mut trailers = Vec::new();
            crate::message::encode_trailers(&mut trailers, [(&b"name"[..], &b"value"[..]); 3]);
            for payload in [&mut request, &mut response, &mut trailers] {
                let at = at % payload.len();
                payload[at] = byte;
            }
            fuzz_decode_request(&request);
            fuzz_decode_response(&response);
            fuzz_decode_trailers(&trailers);
        }
    }
}
