//! The rest of the daemon as orders see it.

use std::future::Future;

use corral_ipc::message::IssuedSecret;

/// Where records are kept and answers are given.
pub trait EngineHost: Send + Sync + 'static {
    /// Keeps a record, or removes it when `bytes` is `None`. Returns when that would survive a crash.
    fn store(&self, name: String, bytes: Option<Vec<u8>>) -> impl Future<Output = Result<(), String>> + Send;

    /// Has every router answer with these. Returns when they do.
    fn provide(&self, secrets: Vec<IssuedSecret>) -> impl Future<Output = Result<(), String>> + Send;
}
