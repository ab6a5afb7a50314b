//! Addresses of listeners that another program has.

use corral_config::address::ListenAddress;
use corral_sys::port_holder::{self, PortHolder};

/// The program that has the address of a listener, as a sentence. A Corral that runs does not count: it may be the one
/// that the configuration is for.
pub(super) fn taken(address: &ListenAddress) -> Option<String> {
    let ListenAddress::Inet(socket) = address else { return None };
    match port_holder::find(*socket)? {
        PortHolder::Process { name, .. } if is_corral(&name) => None,
        PortHolder::Process { name, pid } => {
            Some(format!("\"{address}\" is in use by \"{name}\", process {pid}."))
        }
        // Processes of other users do not show what they have open.
        PortHolder::Hidden if port_holder::runs(is_corral) => None,
        PortHolder::Hidden => Some(format!("\"{address}\" is in use by a program of another user.")),
    }
}

fn is_corral(name: &str) -> bool {
    name.starts_with("corral") || name.starts_with("unitd")
}
