//! Keeps generations until nothing else does, so that they are freed where that holds up no client: a hundred thousand
//! compiled expressions take a while.

use std::sync::Arc;

use corral_config::Config;

use crate::generation::Generation;

/// The generations that something may still use.
#[derive(Default)]
pub(super) struct RetiredGenerations(Vec<RetiredGeneration>);

struct RetiredGeneration {
    generation: Arc<Generation>,
    /// The event loops' copies of its configuration.
    copies: Vec<Arc<Config>>,
}

impl RetiredGenerations {
    pub(super) fn put(&mut self, generation: Arc<Generation>, copies: Vec<Arc<Config>>) {
        self.0.push(RetiredGeneration { generation, copies });
    }

    /// Frees what nothing else uses.
    pub(super) fn clear_unused(&mut self) {
        let is_used = |shelved: &RetiredGeneration| {
            Arc::strong_count(&shelved.generation) > 1
                || shelved.copies.iter().any(|copy| Arc::strong_count(copy) > 1)
        };
        self.0.retain(is_used);
    }
}
