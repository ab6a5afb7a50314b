//! How workers wake the router's event loops: a flag and an eventfd for each loop, shared by all
//! workers of an application instance.
//!
//! A hostile worker can silence the bell or ring it without end. Both hurt its own application alone,
//! and the loops look at the lanes whenever they wake for another reason.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use corral_sys::deferred_close::ForeignFd;
use corral_sys::descriptor_kind::DescriptorKind;
use corral_sys::eventfd::EventFd;

use crate::frame::Lane;
use crate::mapped::layout::{ChannelShape, MemoryKind};
use crate::mapped::map::{self, MemoryError};
use crate::mapped::region::{Region, SharedView};
use crate::ring::Padded;
use crate::sleep::SleepFlag;

/// The flags of all lanes; the same view on both sides.
#[derive(Debug, Clone)]
struct BellFlags(Vec<SharedView<Padded<SleepFlag>>>);

impl BellFlags {
    fn new(region: &Arc<Region>, shape: ChannelShape) -> Self {
        let lanes = 0..usize::from(shape.n_lanes);
        Self(lanes.map(|lane| SharedView::new(region, shape.bell_flag(lane))).collect())
    }

    fn lane(&self, lane: Lane) -> &SleepFlag {
        &self.0[lane.index()].0
    }
}

/// The router's side of a bell. All methods panic on a lane that the bell does not have.
#[derive(Debug)]
pub struct Bell {
    flags: BellFlags,
    /// The descriptors of the lanes; empty for a silent bell, which is never rung.
    eventfds: Vec<Arc<OwnedFd>>,
}

impl Bell {
    /// A bell that no worker has, so that it is never rung: it needs no descriptor.
    ///
    /// # Errors
    /// `InvalidInput` when `n_lanes` is zero or above [`crate::MAX_LANES`]; else no memory or descriptor is left.
    pub fn silent(n_lanes: u16) -> io::Result<Self> {
        let shape = ChannelShape { n_lanes };
        let (region, _memory) = map::create("corral-bell", shape, MemoryKind::Bell, shape.bell_size())?;
        Ok(Self { flags: BellFlags::new(&region, shape), eventfds: Vec::new() })
    }

    /// Takes what `WorkerBell::create` gave for so many lanes.
    ///
    /// # Errors
    /// When the descriptors are not those of such a bell, or the memory cannot be mapped.
    pub fn map(memory: OwnedFd, eventfds: Vec<OwnedFd>, n_lanes: u16) -> Result<Self, MemoryError> {
        let shape = ChannelShape { n_lanes };
        let (memory, eventfds) = (ForeignFd::from(memory), eventfds.into_iter().map(ForeignFd::from));
        let eventfds: Vec<ForeignFd> = eventfds.collect();
        let region = map::open(&memory, shape, MemoryKind::Bell, shape.bell_size())?;
        if eventfds.len() != usize::from(n_lanes)
            || !eventfds.iter().all(|fd| DescriptorKind::of(fd) == DescriptorKind::Event)
        {
            return Err(MemoryError::Eventfds { n_lanes });
        }
        let eventfds = eventfds.into_iter().map(|eventfd| Arc::new(eventfd.into_inner())).collect();
        Ok(Self { flags: BellFlags::new(&region, shape), eventfds })
    }

    /// The loop of this lane is about to sleep: from now on workers ring. The loop must look at all its lanes
    /// (`LaneReceiver::has_frames`) after this call and before it sleeps.
    pub fn announce_sleep(&self, lane: Lane) {
        self.flags.lane(lane).announce();
    }

    /// The loop of this lane is up: workers need not ring.
    pub fn cancel_sleep(&self, lane: Lane) {
        self.flags.lane(lane).cancel();
    }

    /// Gives an edge each time that a worker rings; never to be read. None of a silent bell.
    #[must_use]
    pub fn eventfd(&self, lane: Lane) -> Option<&Arc<OwnedFd>> {
        self.eventfds.get(lane.index())
    }
}

/// The workers' side of a bell; made by the prototype, shared by its forks.
#[derive(Debug)]
pub struct WorkerBell {
    shape: ChannelShape,
    flags: BellFlags,
    eventfds: Arc<[EventFd]>,
}

impl WorkerBell {
    /// Makes a bell of `n_lanes` lanes. The descriptors are for the router: the memory, then one
    /// eventfd for each lane.
    ///
    /// # Errors
    /// `InvalidInput` when `n_lanes` is zero or above [`crate::MAX_LANES`]; else no memory or
    /// descriptor is left.
    pub fn create(n_lanes: u16) -> io::Result<(Self, Vec<OwnedFd>)> {
        let shape = ChannelShape { n_lanes };
        let (region, memory) = map::create("corral-bell", shape, MemoryKind::Bell, shape.bell_size())?;
        let eventfds = (0..n_lanes).map(|_| EventFd::new()).collect::<io::Result<Vec<_>>>()?;
        let mut descriptors = vec![memory];
        for eventfd in &eventfds {
            descriptors.push(eventfd.try_clone()?.into());
        }
        let flags = BellFlags::new(&region, shape);
        Ok((Self { shape, flags, eventfds: eventfds.into() }, descriptors))
    }

    /// Without system calls, so without eventfds: no thread can sleep on it.
    #[cfg(test)]
    pub(crate) fn on_heap(shape: ChannelShape) -> Self {
        let region = Region::heap(shape.bell_size());
        Self { shape, flags: BellFlags::new(&region, shape), eventfds: Arc::new([]) }
    }

    /// The shape that goes with its number of lanes.
    #[must_use]
    pub fn shape(&self) -> ChannelShape {
        self.shape
    }

    /// Where its memory is, and how long.
    pub(crate) fn span(&self) -> (NonNull<u8>, usize) {
        self.flags.0[0].region().span()
    }

    /// The numbers of its descriptors.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.eventfds.iter().map(EventFd::as_raw_fd)
    }

    /// Another handle to the same bell.
    pub(crate) fn share(&self) -> Self {
        Self { shape: self.shape, flags: self.flags.clone(), eventfds: Arc::clone(&self.eventfds) }
    }

    /// Wakes the loop of `lane` if it sleeps; true if that took a system call.
    pub(crate) fn ring(&self, lane: Lane) -> bool {
        let asleep = self.flags.lane(lane).claim();
        if asleep {
            // Our own non-blocking eventfd; the only errors are those of a closed descriptor.
            let _ = self.eventfds[lane.index()].notify();
        }
        asleep
    }
}
