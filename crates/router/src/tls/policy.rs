//! Protocol versions, cipher suites and groups, from the configuration's terms to rustls's.

use corral_config::tls::Policy;
use rustls::SupportedProtocolVersion;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::version::{TLS12, TLS13};

/// The cryptography that a policy allows, in the policy's order.
pub(super) fn provider(policy: &Policy) -> CryptoProvider {
    let suites = policy.suites.iter().filter_map(|suite| {
        aws_lc_rs::ALL_CIPHER_SUITES.iter().copied().find(|known| known.suite() == suite.code().into())
    });
    let groups = policy.groups.iter().filter_map(|group| {
        aws_lc_rs::ALL_KX_GROUPS.iter().copied().find(|known| known.name() == group.code().into())
    });
    CryptoProvider {
        cipher_suites: suites.collect(),
        kx_groups: groups.collect(),
        ..aws_lc_rs::default_provider()
    }
}

/// The versions that a policy permits.
pub(super) fn versions(policy: &Policy) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(policy.tls13, &TLS13), (policy.tls12, &TLS12)];
    all.into_iter().filter(|(permitted, _)| *permitted).map(|(_, version)| version).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_the_configuration_knows_is_missing() {
        let policy = Policy::default();
        let provider = provider(&policy);
        assert_eq!(provider.cipher_suites.len(), policy.suites.len());
        assert_eq!(provider.kx_groups.len(), policy.groups.len());
        assert_eq!(versions(&policy).len(), 2);
    }
}
