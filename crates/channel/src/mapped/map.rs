//! Taking and making the memories: what both sides agree on before the first frame.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use corral_sys::memory::SharedMemory;

use crate::mapped::layout::{ChannelShape, MemoryIdentity, MemoryKind};
use crate::mapped::region::{Region, SharedView};
use crate::ring::Padded;

/// Memory that was received cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The memory cannot be mapped, or has another size, or could change its size.
    #[error("map shared memory for {n_lanes} lanes")]
    Memory {
        /// As asked for.
        n_lanes: u16,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The memory is something else, or of another version.
    #[error("shared memory for {n_lanes} lanes has a different layout")]
    Identity {
        /// As asked for.
        n_lanes: u16,
    },
    /// The descriptors that ring the event loops are not eventfds, or not one for each loop.
    #[error("a bell for {n_lanes} lanes comes without as many eventfds")]
    Eventfds {
        /// As asked for.
        n_lanes: u16,
    },
    /// A descriptor that came with the memory of a worker is of another kind.
    #[error("what comes with a worker's memory is not what it should be")]
    Beside(#[source] io::Error),
    /// A router has used it before: its rings are not at their beginning.
    #[error("shared memory of a worker was used before")]
    Used,
    /// A number of lanes that no channel has.
    #[error("a channel with {n_lanes} lanes")]
    Shape {
        /// As asked for.
        n_lanes: u16,
    },
}

/// Maps memory of the other side.
pub(crate) fn open(
    fd: impl AsFd,
    shape: ChannelShape,
    magic: MemoryKind,
    size: usize,
) -> Result<Arc<Region>, MemoryError> {
    let n_lanes = shape.n_lanes;
    if !shape.is_valid() {
        return Err(MemoryError::Shape { n_lanes });
    }
    let memory =
        SharedMemory::map(fd.as_fd(), size).map_err(|source| MemoryError::Memory { n_lanes, source })?;
    let region = Region::mapped(memory);
    if !SharedView::<Padded<MemoryIdentity>>::new(&region, 0).0.is(magic, shape) {
        return Err(MemoryError::Identity { n_lanes });
    }
    Ok(region)
}

/// Makes new memory.
pub(crate) fn create(
    name: &str,
    shape: ChannelShape,
    magic: MemoryKind,
    size: usize,
) -> io::Result<(Arc<Region>, OwnedFd)> {
    if !shape.is_valid() {
        let reason = format!("a channel with {} lanes", shape.n_lanes);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let (memory, fd) = SharedMemory::create(name, size)?;
    let region = Region::mapped(memory);
    SharedView::<Padded<MemoryIdentity>>::new(&region, 0).0.write(magic, shape);
    Ok((region, fd))
}
