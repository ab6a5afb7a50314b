//! Clients by their addresses.

use std::net::{IpAddr, Ipv6Addr};

/// The client that an address belongs to. Of version 6, one has 64 bits of addresses for itself.
#[must_use]
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        assert_eq!(client_network(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_client_has_its_addresses() {
        check("192.0.2.1", "192.0.2.1");
        check("::ffff:192.0.2.1", "192.0.2.1");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }
}
