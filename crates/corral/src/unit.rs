//! The tools that come with Unit, for scripts that call them.

mod format;
mod instances;
pub(crate) mod unitc;
pub(crate) mod unitctl;

use std::path::Path;

use crate::client::Address;
use crate::daemon;

/// Where Unit's packages have the control socket, in the order in which they are tried.
const USUAL_SOCKETS: [&str; 3] =
    ["/var/run/control.unit.sock", "/var/run/unit/control.unit.sock", "/var/run/unit/control.sock"];

/// The control socket when none is named: of a running daemon, else the usual place of one.
fn default_address() -> anyhow::Result<Address> {
    let named = ["UNIT_CTRL", "CORRAL_CONTROL"].into_iter().filter_map(|name| std::env::var(name).ok());
    if let Some(named) = named.into_iter().find(|named| !named.is_empty()) {
        return Address::parse(&named);
    }
    if let Some(running) = instances::running().into_iter().find_map(|instance| instance.control) {
        return Address::parse(&running);
    }
    let usual = USUAL_SOCKETS.into_iter().find(|path| Path::new(path).exists());
    Address::parse(usual.unwrap_or(daemon::DEFAULT_CONTROL))
}
