//! Taking messages of processes that main does not trust: every byte and every descriptor is held for hostile.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use corral_sys::deferred_close::ForeignFd;
use corral_sys::descriptor_kind::DescriptorKind;
use corral_sys::socket::{self, Received, Wait};
use serde::de::DeserializeOwned;

use super::{IN_MEMFD, INLINE, Link, MAX_INLINE, decode, invalid};
use corral_sys::sealed;

/// A message that main takes from another process.
pub trait Incoming: DeserializeOwned {
    /// The longest one in bytes. Short ones are not taken out of somebody's memory.
    const LONGEST: usize;

    /// Whether descriptors of these kinds come with it, in this order.
    fn comes_with(&self, kinds: &[DescriptorKind]) -> bool {
        kinds.is_empty()
    }
}

impl Link {
    /// Takes one message if there is one, with the descriptors that come with it, or without any if this process has no
    /// room for them. `None` when the other side is gone. Whatever else came is closed in another thread.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; `InvalidData` when it is not a `T`, or its descriptors are not those of one.
    pub fn take<T: Incoming>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut buffer = vec![0; 1 + T::LONGEST.min(MAX_INLINE)];
        let received = socket::recv(self.as_fd(), &mut buffer, Wait::Never)?;
        let Received { len, fds, truncated, lacks_descriptors } = received;
        let mut fds: Vec<_> = fds.into_iter().map(ForeignFd::from).collect();
        if truncated {
            return Err(invalid("a datagram is longer than any message"));
        }
        let message: T = match &buffer[..len] {
            // An empty datagram without a descriptor is the end of the link.
            [] if fds.is_empty() && !lacks_descriptors => return Ok(None),
            [INLINE, message @ ..] => decode(message)?,
            [IN_MEMFD] if T::LONGEST > MAX_INLINE => decode(&read_large::<T>(fds.pop())?)?,
            _ => return Err(invalid("a datagram starts with an unknown byte")),
        };
        if lacks_descriptors {
            return Ok(Some((message, Vec::new())));
        }
        let kinds: Vec<_> = fds.iter().map(DescriptorKind::of).collect();
        if !message.comes_with(&kinds) {
            return Err(invalid("a message comes with other descriptors than it names"));
        }
        Ok(Some((message, fds.into_iter().map(ForeignFd::into_inner).collect())))
    }
}

fn read_large<T: Incoming>(memory: Option<ForeignFd>) -> io::Result<Vec<u8>> {
    let memory = memory.ok_or_else(|| invalid("a large message came without its memory"))?;
    if DescriptorKind::of(&memory) != DescriptorKind::Memory {
        return Err(invalid("a large message came with something else than its memory"));
    }
    sealed::read(memory.as_fd(), T::LONGEST as u64)
}
