//! The names that a local authority may sign for. Browsers refuse all others, even if the key is stolen.

use std::fs;
use std::net::IpAddr;

use corral_syntax::is_below_listed_suffix;
use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints};

/// Domains that cannot be registered: `localhost` and `test` (RFC 6761), `internal` (reserved by ICANN for private
/// use), `home.arpa` (RFC 8375), and `local` (RFC 6762).
const DOMAINS: [&str; 5] = ["localhost", "test", "internal", "home.arpa", "local"];

/// Loopback, private and link-local networks.
const NETWORKS: [(&str, u8); 8] = [
    ("127.0.0.0", 8),
    ("10.0.0.0", 8),
    ("172.16.0.0", 12),
    ("192.168.0.0", 16),
    ("169.254.0.0", 16),
    ("::1", 128),
    ("fc00::", 7),
    ("fe80::", 10),
];

/// The names and addresses that an authority of this machine may sign for.
pub(super) fn constraints() -> NameConstraints {
    let domains =
        DOMAINS.iter().map(|domain| (*domain).to_owned()).chain(host().filter(|host| is_nobody_s(host)));
    let network = |(address, prefix): &(&str, u8)| {
        let address = address.parse::<IpAddr>().ok()?;
        Some(GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, *prefix)))
    };
    NameConstraints {
        permitted_subtrees: domains
            .map(GeneralSubtree::DnsName)
            .chain(NETWORKS.iter().filter_map(network))
            .collect(),
        excluded_subtrees: Vec::new(),
    }
}

/// Whether a label alone, as a domain, is not a public one: a constraint covers all names below it, and a machine may
/// be called `dev`, `app` or `zip`.
fn is_nobody_s(label: &str) -> bool {
    !is_below_listed_suffix(label)
}

/// Whether names below a domain belong to others.
pub(super) fn is_public(domain: &str) -> bool {
    !is_private(domain) && !is_nobody_s(domain)
}

/// Whether every authority may sign for a name or address.
pub(crate) fn is_private(name: &str) -> bool {
    match name.parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => {
            let is_below = |domain: &&str| {
                name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            DOMAINS.iter().any(is_below)
        }
    }
}

/// The names by which programs on this machine and beside it reach it.
pub(crate) fn host_names() -> Vec<String> {
    let own = host().into_iter().flat_map(|host| own_names(&host));
    ["localhost", "*.localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned).chain(own).collect()
}

/// A public domain is not a name of this machine, and the authority may not sign for it.
fn own_names(host: &str) -> Vec<String> {
    let alone = is_nobody_s(host).then(|| host.to_owned());
    [Some(format!("{host}.local")), alone].into_iter().flatten().collect()
}

/// The first label of the machine's host name, as the rest may be a public domain.
pub(super) fn host() -> Option<String> {
    label(&fs::read_to_string("/proc/sys/kernel/hostname").ok()?)
}

fn label(host: &str) -> Option<String> {
    let label = host.trim().split('.').next()?.to_ascii_lowercase();
    let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    // Every domain of the top is a public name.
    (is_plain && !label.is_empty() && label != "localhost").then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: bool) {
        assert_eq!(is_private(name), expected, "{name}");
    }

    #[test]
    fn names_of_this_machine_and_of_private_networks_are_private() {
        for name in
            ["localhost", "shop.localhost", "a.b.test", "db.internal", "nas.home.arpa", "printer.local"]
        {
            check(name, true);
        }
        for address in
            ["127.0.0.1", "127.9.9.9", "10.1.2.3", "172.31.0.1", "192.168.1.1", "::1", "fd00::1", "fe80::1"]
        {
            check(address, true);
        }
        for name in [
            "example.org",
            "notlocalhost",
            "localhost.example.org",
            "test.com",
            "8.8.8.8",
            "172.32.0.1",
            "2001:db8::1",
        ] {
            check(name, false);
        }
    }

    #[test]
    fn all_networks_are_addresses() {
        assert_eq!(
            constraints().permitted_subtrees.len(),
            DOMAINS.len() + NETWORKS.len() + host().filter(|host| is_nobody_s(host)).iter().count()
        );
    }

    #[test]
    fn a_machine_s_name_that_is_a_public_domain_is_signed_for_below_local_alone() {
        for host in ["dev", "app", "zip", "com", "de"] {
            assert_eq!(own_names(host), [format!("{host}.local")]);
        }
        for host in ["web1", "my-laptop", "a7f3"] {
            assert_eq!(own_names(host), [format!("{host}.local"), host.to_owned()]);
        }
    }

    #[test]
    fn only_the_first_label_of_a_host_is_taken() {
        assert_eq!(label("Web1.example.org\n").as_deref(), Some("web1"));
        assert_eq!(label("web-1").as_deref(), Some("web-1"));
        for host in ["", "\n", "localhost", "a_b", ".example.org"] {
            assert_eq!(label(host), None, "{host}");
        }
    }
}
