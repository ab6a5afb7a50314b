//! How components are compiled, and where their memories come from.

use corral_config::plan::Limits;
use wasmtime::error::Context as _;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// The engine for an application. Nothing in it is a thread, so that a process that has it can be forked.
///
/// # Errors
/// When memory is lacking.
pub(crate) fn engine(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(is_timed(limits))
        // Wasmtime follows frame pointers.
        .native_unwind_info(false)
        .allocation_strategy(pool());
    Engine::new(&config)
        // Addresses may be scarce, where a limit is set on them: then each instance asks for its own.
        .or_else(|_| Engine::new(config.allocation_strategy(InstanceAllocationStrategy::OnDemand)))
        .context("start Wasmtime")
}

/// Whether a request may be too long. Code that never has to look at the time is faster.
pub(crate) fn is_timed(limits: &Limits) -> bool {
    limits.timeout.is_some() || limits.kill_after.is_some()
}

/// Room for the one instance that a worker has, whose component may consist of many modules.
fn pool() -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(2)
        .total_core_instances(128)
        .total_memories(16)
        .total_tables(64)
        .total_stacks(4)
        .total_gc_heaps(8)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_memories_per_module(16)
        .max_tables_per_module(16)
        .table_elements(200_000)
        // What the last instance has touched is cleared rather than given back and asked for again.
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(512 << 10)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(16);
    InstanceAllocationStrategy::Pooling(pool)
}
