//! Everything that an instance can reach: its environment, its folders, the log, and as much memory as it may have.

use std::fs;

use corral_config::plan::{MemoryBounds, WasmSpec};
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime::error::Context as _;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::outgoing::Outgoing;

/// The surroundings that a worker has for all its instances, one after the other. Nothing here remembers an instance.
pub(crate) struct Surroundings {
    wasi: WasiCtx,
    outgoing: Outgoing,
}

impl Surroundings {
    /// In a worker, and never before: a generator of random numbers that is there at a fork gives all workers the same.
    ///
    /// # Errors
    /// When a folder cannot be opened.
    pub(crate) fn new(wasm: &WasmSpec) -> wasmtime::Result<Self> {
        let mut wasi = WasiCtxBuilder::new();
        // A worker has nothing else to do meanwhile.
        wasi.allow_blocking_current_thread(true).inherit_stdout().inherit_stderr();
        for (name, value) in std::env::vars_os() {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                wasi.env(name, value);
            }
        }
        for folder in &wasm.filesystem {
            wasi.preopened_dir(folder, folder, FsPerms::ReadWrite).with_context(|| named(folder))?;
        }
        Ok(Self { wasi: wasi.build(), outgoing: Outgoing::default() })
    }
}

/// Whether all folders can be opened.
///
/// # Errors
/// When one cannot.
pub(crate) fn check_folders(wasm: &WasmSpec) -> wasmtime::Result<()> {
    wasm.filesystem
        .iter()
        .try_for_each(|folder| fs::read_dir(folder).map(drop).with_context(|| named(folder)))
}

fn named(folder: &str) -> String {
    format!("open the folder \"{folder}\" of \"access.filesystem\"")
}

/// The state of one instance.
pub(crate) struct Guest {
    surroundings: Surroundings,
    http: WasiHttpCtx,
    table: ResourceTable,
    pub(crate) memory: GuestMemory,
}

impl Guest {
    pub(crate) fn new(surroundings: Surroundings, memory: GuestMemory) -> Self {
        Self { surroundings, http: WasiHttpCtx::new(), table: ResourceTable::new(), memory }
    }

    /// For the next one. What the instance has left open is closed.
    pub(crate) fn into_surroundings(self) -> Surroundings {
        self.surroundings
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.surroundings.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let Self { surroundings, http, table, .. } = self;
        WasiHttpCtxView { ctx: http, table, hooks: &mut surroundings.outgoing }
    }
}

/// The memory of one instance, all that its modules have together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuestMemory {
    used: usize,
    max: usize,
    /// The instance has asked for more memory than it may have.
    pub(crate) was_refused: bool,
}

/// Memory that a worker may need for itself beyond its size at the start.
const MARGIN: usize = 4 << 20;

impl GuestMemory {
    /// The guest of a worker with these bounds, which has `own` bytes without an instance. A refused instance can do
    /// without the memory, or end in order; a worker above its bounds would be killed.
    pub(crate) fn new(bounds: MemoryBounds, own: usize) -> Self {
        let max = bounds.hard.map_or(usize::MAX, |hard| {
            let left = usize::try_from(hard.get()).unwrap_or(usize::MAX).saturating_sub(own);
            // Of little, something is left for small instances.
            left.saturating_sub(MARGIN).max(left / 2)
        });
        Self { used: 0, max, was_refused: false }
    }
}

impl ResourceLimiter for GuestMemory {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        if used > self.max {
            self.was_refused = true;
            return Ok(false);
        }
        self.used = used;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    #[test]
    fn an_instance_is_refused_what_the_worker_would_be_killed_for() {
        let mut memory =
            GuestMemory::new(MemoryBounds { soft: None, hard: NonZeroU64::new(20 << 20) }, 3 << 20);
        assert!(memory.memory_growing(0, 10 << 20, None).unwrap());
        assert!(memory.memory_growing(10 << 20, 12 << 20, None).unwrap());
        assert!(!memory.was_refused);
        assert!(!memory.memory_growing(0, 2 << 20, None).unwrap());
        assert!(memory.was_refused);
    }

    #[test]
    fn a_small_bound_leaves_room_for_a_small_instance() {
        let mut memory =
            GuestMemory::new(MemoryBounds { soft: None, hard: NonZeroU64::new(6 << 20) }, 3 << 20);
        assert!(memory.memory_growing(0, 1 << 20, None).unwrap());
        assert!(!memory.memory_growing(0, 1 << 20, None).unwrap());
    }

    #[test]
    fn without_a_bound_there_is_none() {
        let mut memory = GuestMemory::new(MemoryBounds::default(), 3 << 20);
        assert!(memory.memory_growing(0, 1 << 40, None).unwrap());
    }
}
