//! Names of the DNS, and how people write them.

use std::str::FromStr as _;

use hickory_proto::rr::Name;

use super::error::DnsError;

/// A name of the DNS, from the root on.
pub(super) fn parse(name: &str) -> Result<Name, DnsError> {
    let parsed = Name::from_str(name);
    let mut parsed =
        parsed.map_err(|error| DnsError::Name { name: name.to_owned(), reason: error.to_string() })?;
    parsed.set_fqdn(true);
    Ok(parsed)
}

/// A name as people write it.
pub(super) fn text(name: &Name) -> String {
    let text = name.to_ascii();
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}
