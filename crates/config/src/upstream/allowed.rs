//! The servers that an address which depends on the request may lead to: `allow` of a proxy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use corral_syntax::is_host_name;

/// Names and addresses of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedServers {
    names: Vec<AllowedName>,
    networks: Vec<RangeInclusive<IpAddr>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedName {
    Exact(String),
    /// The names that end so, with a dot in front.
    Below(String),
}

impl AllowedServers {
    /// Adds a name, `*.` and the end of names, an address, or a network. False for anything else.
    pub fn add(&mut self, text: &str) -> bool {
        if let Some(network) = network(text) {
            self.networks.push(network);
            return true;
        }
        let name = text.to_ascii_lowercase();
        let name = match name.strip_prefix("*.") {
            Some(end) if is_host_name(end) => AllowedName::Below(format!(".{end}")),
            None if is_host_name(&name) => AllowedName::Exact(name),
            _ => return false,
        };
        self.names.push(name);
        true
    }

    /// Whether nothing is allowed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.networks.is_empty()
    }

    /// Whether a name in lower case is allowed, whatever its addresses are.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|allowed| match allowed {
            AllowedName::Exact(allowed) => name == allowed,
            AllowedName::Below(end) => name.len() > end.len() && name.ends_with(&**end),
        })
    }

    /// Whether an address that was said itself is allowed.
    #[must_use]
    pub fn has_address(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        let mut networks = self.networks.iter().filter(|network| network.contains(&ip));
        match private_block(ip) {
            None => networks.next().is_some(),
            Some(block) => {
                networks.any(|network| block.contains(network.start()) && block.contains(network.end()))
            }
        }
    }

    /// Whether an allowed name may stand for an address: any but those of this machine, of its links and of services
    /// that trust their neighbours, unless these are named.
    #[must_use]
    pub fn permits_for_name(&self, ip: IpAddr) -> bool {
        private_block(ip.to_canonical()).is_none() || self.has_address(ip)
    }
}

/// An address, or a network with its prefix.
fn network(text: &str) -> Option<RangeInclusive<IpAddr>> {
    let Some((address, prefix)) = text.split_once('/') else {
        let address: IpAddr = text.parse().ok()?;
        return Some(address..=address);
    };
    let prefix = prefix.parse::<u32>().ok().filter(|_| prefix.bytes().all(|byte| byte.is_ascii_digit()))?;
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(prefix).unwrap_or(0);
            let first = address.to_bits() & !host;
            (prefix <= 32).then(|| Ipv4Addr::from(first).into()..=Ipv4Addr::from(first | host).into())
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(prefix).unwrap_or(0);
            let first = address.to_bits() & !host;
            (prefix <= 128).then(|| Ipv6Addr::from(first).into()..=Ipv6Addr::from(first | host).into())
        }
    }
}

/// The block of addresses that is only allowed by an entry within it, if the address is in one.
fn private_block(ip: IpAddr) -> Option<RangeInclusive<IpAddr>> {
    let mut blocks = BLOCKS.iter().filter_map(|block| network(block));
    blocks.find(|block| block.contains(&ip))
}

const BLOCKS: [&str; 16] = [
    // This machine and its links.
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "::/127",
    "fe80::/10",
    // Many at once, or reserved.
    "224.0.0.0/3",
    "ff00::/8",
    // IPv4 addresses in others.
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2002::/16",
    // Services of clouds that tell machines their secrets.
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.0/24",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(entries: &[&str]) -> AllowedServers {
        let mut allowed = AllowedServers::default();
        assert!(entries.iter().all(|entry| allowed.add(entry)), "{entries:?}");
        allowed
    }

    #[test]
    fn names_are_whole_or_end_so() {
        let allowed = allowed(&["*.internal.example", "Backend"]);
        for (name, expect) in [
            ("a.internal.example", true),
            ("a.b.internal.example", true),
            ("backend", true),
            ("internal.example", false),
            (".internal.example", false),
            ("evilinternal.example", false),
            ("a.internal.example.evil", false),
            ("backend.evil", false),
            ("xbackend", false),
            ("", false),
        ] {
            assert_eq!(allowed.has_name(name), expect, "{name}");
        }
        assert!(!allowed.has_address(Ipv4Addr::new(10, 0, 0, 1).into()));
    }

    #[track_caller]
    fn check_address(entries: &[&str], address: &str, expect: bool) {
        assert_eq!(allowed(entries).has_address(address.parse().expect("an address")), expect, "{address}");
    }

    #[test]
    fn addresses_are_in_a_network() {
        check_address(&["10.0.0.0/8"], "10.255.0.1", true);
        check_address(&["10.0.0.0/8"], "::ffff:10.0.0.1", true);
        check_address(&["10.0.0.0/8"], "11.0.0.1", false);
        check_address(&["10.1.2.3"], "10.1.2.3", true);
        check_address(&["10.1.2.3/24"], "10.1.2.200", true);
        check_address(&["0.0.0.0/0"], "93.184.216.34", true);
        check_address(&["0.0.0.0/0"], "2001:db8::1", false);
        check_address(&["2001:db8::/32"], "2001:db8:1::1", true);
        check_address(&["::/0"], "10.0.0.1", false);
    }

    #[test]
    fn what_trusts_its_neighbours_has_to_be_named() {
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "255.255.255.255",
            "224.0.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
        ] {
            check_address(&["0.0.0.0/0"], address, false);
            let ip: IpAddr = address.parse().expect("an address");
            assert!(!allowed(&["*.example"]).permits_for_name(ip), "{address}");
        }
        for address in
            ["::1", "::", "fe80::1", "ff02::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00:ec2::254"]
        {
            check_address(&["::/0"], address, false);
        }
        check_address(&["127.0.0.0/8"], "127.0.0.1", true);
        check_address(&["169.254.169.254"], "169.254.169.254", true);
        check_address(&["169.0.0.0/8"], "169.254.169.254", false);
        check_address(&["::1"], "::1", true);
        assert!(allowed(&["*.example"]).permits_for_name(Ipv4Addr::new(10, 0, 0, 1).into()));
        assert!(allowed(&["*.example", "127.0.0.1"]).permits_for_name(Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn other_texts_allow_nothing() {
        for text in [
            "",
            "*",
            "*.",
            "a*.example",
            "*example",
            "*.*.example",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/",
            "a b",
            "::/129",
            "a/8",
            "10.0.0.1:80",
        ] {
            assert!(!AllowedServers::default().add(text), "{text}");
        }
    }
}
