//! The head of each message in a ring.

use crate::ring::Corrupt;
use crate::slot::{self, RequestSlot};

/// Bytes of a frame head; also the unit of all positions in a ring, so that a head never wraps.
pub const FRAME_UNIT: usize = 16;

/// Chosen by the router; unique among those in flight of one application and lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

/// The number of a router's event loop, and of all that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane(pub u16);

impl Lane {
    /// The lane's number, for indexing.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Kind of a frame. The numbers are the wire's; those of a worker are above [`FrameKind::Response`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// To the worker: a request head and what there is of its body (`message::encode_request`).
    Request = 1,
    /// To the worker: more of a request body. [`Flags::END`] on the last.
    Body = 2,
    /// To the worker: `aux` more bytes of response body may be sent.
    Credit = 3,
    /// To the worker: the client is gone; the response is not read.
    Cancel = 4,
    /// To the worker: finish what is started, then leave.
    Quit = 5,
    /// To the worker: a part of a WebSocket message; `aux` is its [`Opcode`](crate::Opcode). [`Flags::END`] on the
    /// last. Counts as request body.
    Message = 6,
    /// To the worker: nothing up to the end of the data, so that what follows is at its beginning. Only the ring sees
    /// it.
    Skip = 7,
    /// To the worker: the client sends nothing more. It may wait for the response, or be gone.
    Left = 8,
    /// From the worker: a response head and what there is of its body (`message::encode_response`).
    Response = 17,
    /// From the worker: more of a response body.
    Data = 18,
    /// From the worker: flags without data.
    End = 19,
    /// From the worker: no (more of the) response will come; `aux` says why.
    Failed = 20,
    /// From the worker: `aux` more bytes of request body may be sent.
    BodyCredit = 21,
    /// From the worker: the script has ended, after a response that ended before.
    Finished = 22,
    /// From the worker: all requests that were there have been started, and their slots are free. Only said when these
    /// were many: of a worker that runs many at once, another sign may be far.
    Started = 23,
    /// From the worker: a response before the response (`message::encode_informational`), as many as it likes until
    /// that begins; later ones are dropped. Counts as response body.
    Informational = 24,
    /// From the worker: the fields behind the response's body (`message::encode_trailers`), once all of that is sent;
    /// the last such frame counts. Counts as response body.
    Trailers = 25,
    /// From the worker: the request leaves state behind there, of the kinds that `aux` has a bit for. Once, before the
    /// worker is done with the request.
    State = 26,
    /// From the worker: where the request is at this moment, as text of at most [`MAX_TRACE`](crate::MAX_TRACE) bytes;
    /// the last such frame counts. As often as it likes until the worker is done with the request, and without credit.
    Trace = 27,
    /// From the worker: in place of a response, the application takes the client's connection over; `aux` is the number
    /// of its socket, which has been sent like a file.
    Hijacked = 30,
}

impl FrameKind {
    const TO_WORKER: [Self; 8] = [
        Self::Request,
        Self::Body,
        Self::Credit,
        Self::Cancel,
        Self::Quit,
        Self::Message,
        Self::Skip,
        Self::Left,
    ];
    const FROM_WORKER: [Self; 12] = [
        Self::Response,
        Self::Data,
        Self::End,
        Self::Failed,
        Self::BodyCredit,
        Self::Finished,
        Self::Started,
        Self::Informational,
        Self::Trailers,
        Self::State,
        Self::Trace,
        Self::Hijacked,
    ];
}

/// Bits that a frame carries beside its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The body ends with this frame, and for the client the response is complete.
    pub const END: Self = Self(1);
    /// The worker is done with the request and free for another.
    pub const DONE: Self = Self(2);
    /// The worker leaves after this request: take back what is queued.
    pub const LAST: Self = Self(4);
    /// The body goes on with a part of a file, which the end of the payload describes (`message::FilePart`). Only on
    /// Response and Data, once in a response; nothing of the body comes behind it.
    pub const FILE: Self = Self(8);
    const ALL: u8 = 15;

    /// Whether all flags of `other` are set here.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// Which way a ring goes; each way has its own kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RingDirection {
    ToWorker,
    FromWorker,
}

/// A frame without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Request, response, body and so on.
    pub kind: FrameKind,
    /// Bits beside the kind.
    pub flags: Flags,
    /// The event loop that has the request.
    pub lane: Lane,
    /// The request; zero in `Quit`.
    pub request: RequestId,
    /// As the kind says. With [`Flags::DONE`] on any other kind: how long the request ran, in microseconds.
    pub aux: u32,
    /// Bytes of payload. Set by sending, whatever was here before.
    pub len: u32,
}

impl FrameHead {
    /// A head without flags, `aux` and length.
    #[must_use]
    pub fn new(kind: FrameKind, lane: Lane, request: RequestId) -> Self {
        Self { kind, flags: Flags::NONE, lane, request, aux: 0, len: 0 }
    }

    /// The same with these flags.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// The same with this `aux`.
    #[must_use]
    pub fn with_aux(self, aux: u32) -> Self {
        Self { aux, ..self }
    }

    /// The slot that a Request frame occupies.
    #[must_use]
    pub fn slot(&self) -> RequestSlot {
        slot::unpack(self.aux).0
    }

    /// The sixteen bytes: `len` u32, `kind` u8, `flags` u8, `lane` u16, `request` u32, `aux` u32, in the
    /// order of the machine (both sides are on one).
    pub(crate) fn to_bytes(self) -> [u8; FRAME_UNIT] {
        let mut bytes = [0; FRAME_UNIT];
        bytes[0..4].copy_from_slice(&self.len.to_ne_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = self.flags.0;
        bytes[6..8].copy_from_slice(&self.lane.0.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.request.0.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.aux.to_ne_bytes());
        bytes
    }

    /// The reverse of [`FrameHead::to_bytes`], for bytes from a peer that is not trusted. The length is
    /// the ring's to judge.
    pub(crate) fn from_bytes(bytes: [u8; FRAME_UNIT], direction: RingDirection) -> Result<Self, Corrupt> {
        let [l0, l1, l2, l3, kind, flags, n0, n1, r0, r1, r2, r3, a0, a1, a2, a3] = bytes;
        if flags & !Flags::ALL != 0 {
            return Err(Corrupt::Flags { flags });
        }
        Ok(Self {
            kind: direction.kind(kind)?,
            flags: Flags(flags),
            lane: Lane(u16::from_ne_bytes([n0, n1])),
            request: RequestId(u32::from_ne_bytes([r0, r1, r2, r3])),
            aux: u32::from_ne_bytes([a0, a1, a2, a3]),
            len: u32::from_ne_bytes([l0, l1, l2, l3]),
        })
    }
}

impl RingDirection {
    fn kind(self, number: u8) -> Result<FrameKind, Corrupt> {
        let kinds: &[FrameKind] = match self {
            Self::ToWorker => &FrameKind::TO_WORKER,
            Self::FromWorker => &FrameKind::FROM_WORKER,
        };
        kinds.iter().copied().find(|kind| *kind as u8 == number).ok_or(Corrupt::Kind { kind: number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_wire() {
        let head =
            FrameHead { len: 70_000, ..FrameHead::new(FrameKind::Response, Lane(513), RequestId(u32::MAX)) }
                .with_flags(Flags::END | Flags::DONE)
                .with_aux(0x0102_0304);
        assert_eq!(FrameHead::from_bytes(head.to_bytes(), RingDirection::FromWorker), Ok(head));
    }

    #[test]
    fn each_way_has_its_own_kinds() {
        let mut accepted = Vec::new();
        for number in 0..=u8::MAX {
            let kinds = [RingDirection::ToWorker, RingDirection::FromWorker].map(|way| way.kind(number));
            assert!(kinds.iter().filter(|kind| kind.is_ok()).count() <= 1, "{number}");
            accepted.extend(kinds.into_iter().flatten().map(|kind| kind as u8));
        }
        assert_eq!(accepted, [1, 2, 3, 4, 5, 6, 7, 8, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 30]);
    }

    #[test]
    fn unknown_flags_are_refused() {
        let mut bytes = FrameHead::new(FrameKind::Data, Lane(0), RequestId(1)).to_bytes();
        bytes[5] = 32;
        assert_eq!(
            FrameHead::from_bytes(bytes, RingDirection::FromWorker),
            Err(Corrupt::Flags { flags: 32 })
        );
    }
}
