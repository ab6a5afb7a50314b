//! Addresses of listeners that another program has.

use corral_config::address::ListenAddress;
use corral_sys::listening;

/// The program that has the address of a listener, as a sentence. A Corral that runs does not count: it may be the one
/// that the configuration is for.
pub(super) fn taken(address: &ListenAddress) -> Option<String> {
    let ListenAddress::Inet(socket) = address else { return None };
    let holder = listening::holder(*socket).filter(|holder| !is_corral(&holder.name))?;
    Some(format!("\"{address}\" is in use by {holder}."))
}

fn is_corral(name: &str) -> bool {
    name.starts_with("corral") || name.starts_with("unit")
}
