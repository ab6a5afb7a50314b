//! Changes that failed last and left everything as it was: `/status` tells why.

use std::collections::BTreeMap;

use corral_ipc::message::AppId;

#[derive(Default)]
pub(super) struct Troubles {
    /// Of the last upgrade.
    pub(super) upgrade: Option<String>,
    /// Of what the configuration files say now.
    pub(super) files: Option<String>,
    /// Of instances that go on because what was to replace them could not be started.
    pub(super) restarts: BTreeMap<AppId, String>,
}
