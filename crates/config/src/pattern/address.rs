//! Address patterns of `source`, `destination` and `forwarded` (contract 10.3).

mod parse;

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Several patterns for the address of a peer or of a socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPatternSet {
    /// At least one of these must match, unless there is none.
    positive: Vec<AddressTest>,
    /// A match of any of these excludes the address.
    negative: Vec<AddressTest>,
}

/// One pattern without its negation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AddressTest {
    /// Any Unix socket.
    Unix,
    /// An address and a port, each inside its range. Addresses of the other family are outside.
    Inet { addresses: Addresses, ports: RangeInclusive<u16> },
}

/// Addresses between two, both included, as numbers in host byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Addresses {
    Any,
    V4(RangeInclusive<u32>),
    V6(RangeInclusive<u128>),
}

/// Addresses of one family from one to another, as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AddressRange {
    V4(RangeInclusive<u128>),
    V6(RangeInclusive<u128>),
}

impl AddressRange {
    /// Reads a pattern without a port.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, AddressPatternError> {
        let AddressTest::Inet { addresses, ports } = parse::parse(text)? else {
            return Err(AddressPatternError::Format);
        };
        match addresses {
            _ if ports != (0..=u16::MAX) => Err(AddressPatternError::Format),
            Addresses::Any => Err(AddressPatternError::Format),
            Addresses::V4(range) => Ok(Self::V4((*range.start()).into()..=(*range.end()).into())),
            Addresses::V6(range) => Ok(Self::V6(range)),
        }
    }
}

/// Why a text is not an address pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressPatternError {
    /// Less than two characters behind the negation.
    #[error("The \"address\" is too short.")]
    TooShort,
    /// An address that cannot be read, or a bracket or a port without its other half.
    #[error("The \"address\" format is invalid.")]
    Format,
    /// The first address of a range is behind its last.
    #[error("The \"address\" range is overlapping.")]
    Overlap,
    /// A prefix that is not a number, or longer than an address of its family.
    #[error("The \"address\" has an invalid CIDR prefix.")]
    Prefix,
    /// A port, or a range of ports, that does not exist. The words are Unit's.
    #[error("The \"address\" port an invalid port.")]
    Port,
}

impl AddressPatternSet {
    /// Every address there is.
    pub(crate) fn all() -> Self {
        let any = AddressTest::Inet { addresses: Addresses::Any, ports: 0..=u16::MAX };
        Self { positive: vec![AddressTest::Unix, any], negative: Vec::new() }
    }

    /// Adds a pattern as it is written in the document.
    ///
    /// # Errors
    ///
    /// When the text is not a pattern; the set is unchanged.
    pub fn add(&mut self, text: &[u8]) -> Result<(), AddressPatternError> {
        let body = text.strip_prefix(b"!").unwrap_or(text);
        let test = parse::parse(body)?;
        if body.len() < text.len() { &mut self.negative } else { &mut self.positive }.push(test);
        Ok(())
    }

    /// Whether no negated pattern excludes the address, and one of the others matches if there are
    /// any. `None` is a Unix socket. A set without patterns matches nothing.
    #[must_use]
    pub fn matches(&self, address: Option<SocketAddr>) -> bool {
        let matches = |test: &AddressTest| test.holds(address);
        if self.positive.is_empty() {
            return !self.negative.is_empty() && !self.negative.iter().any(matches);
        }
        self.positive.iter().any(matches) && !self.negative.iter().any(matches)
    }
}

impl AddressTest {
    fn holds(&self, address: Option<SocketAddr>) -> bool {
        match (self, address) {
            (Self::Unix, None) => true,
            (Self::Inet { addresses, ports }, Some(address)) => {
                ports.contains(&address.port()) && addresses.contain(address.ip())
            }
            _ => false,
        }
    }
}

impl Addresses {
    fn contain(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Any, _) => true,
            (Self::V4(range), IpAddr::V4(address)) => range.contains(&address.to_bits()),
            (Self::V6(range), IpAddr::V6(address)) => range.contains(&address.to_bits()),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
