//! The text of an address pattern, its negation left out, to a `AddressTest`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{AddressPatternError as Error, AddressTest, Addresses};

/// Reads `unix`, or an address part with an optional port part.
pub(super) fn parse(text: &[u8]) -> Result<AddressTest, Error> {
    if text == b"unix" {
        return Ok(AddressTest::Unix);
    }
    if text.len() < 2 {
        return Err(Error::TooShort);
    }
    let text = std::str::from_utf8(text).map_err(|_| Error::Format)?;
    let (addresses, port) = split_port(text)?;
    let addresses = match addresses {
        AddressPart::Any => Addresses::Any,
        AddressPart::V4(text) => Addresses::V4(range::<Ipv4Addr>(text)?),
        AddressPart::V6(text) => Addresses::V6(range::<Ipv6Addr>(text)?),
    };
    Ok(AddressTest::Inet { addresses, ports: port.map_or(Ok(0..=u16::MAX), ports)? })
}

/// The address part of a pattern, still as text.
enum AddressPart<'a> {
    Any,
    V4(&'a str),
    V6(&'a str),
}

/// Two colons make an IPv6 address, which needs brackets to have a port.
fn split_port(text: &str) -> Result<(AddressPart<'_>, Option<&str>), Error> {
    if let Some(port) = text.strip_prefix("*:") {
        return Ok((AddressPart::Any, Some(port)));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (addresses, port) = rest.rsplit_once("]:").ok_or(Error::Format)?;
        return Ok((AddressPart::V6(addresses), Some(port)));
    }
    match text.split_once(':') {
        None => Ok((AddressPart::V4(text), None)),
        Some((_, rest)) if rest.contains(':') => Ok((AddressPart::V6(text), None)),
        Some((addresses, port)) => Ok((AddressPart::V4(addresses), Some(port))),
    }
}

/// Both families' addresses, as numbers with a known width.
trait Address: FromStr {
    type Bits: Copy + Ord;
    const WIDTH: u8;

    fn bits(self) -> Self::Bits;

    /// The first and the last address that share the first `prefix` bits with `address`.
    fn network(address: Self::Bits, prefix: u8) -> RangeInclusive<Self::Bits>;
}

impl Address for Ipv4Addr {
    type Bits = u32;
    const WIDTH: u8 = 32;

    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn network(address: u32, prefix: u8) -> RangeInclusive<u32> {
        let host = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
        address & !host..=address | host
    }
}

impl Address for Ipv6Addr {
    type Bits = u128;
    const WIDTH: u8 = 128;

    fn bits(self) -> u128 {
        self.to_bits()
    }

    fn network(address: u128, prefix: u8) -> RangeInclusive<u128> {
        let host = u128::MAX.checked_shr(prefix.into()).unwrap_or(0);
        address & !host..=address | host
    }
}

/// Reads `ADDRESS`, `FIRST-LAST` or `ADDRESS/PREFIX`.
fn range<A: Address>(text: &str) -> Result<RangeInclusive<A::Bits>, Error> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (address::<A>(first)?, address::<A>(last)?);
        return if first <= last { Ok(first..=last) } else { Err(Error::Overlap) };
    }
    if let Some((network, prefix)) = text.split_once('/') {
        let prefix = number(prefix).filter(|&prefix| prefix <= A::WIDTH).ok_or(Error::Prefix)?;
        return Ok(A::network(address::<A>(network)?, prefix));
    }
    let address = address::<A>(text)?;
    Ok(address..=address)
}

fn address<A: Address>(text: &str) -> Result<A::Bits, Error> {
    text.parse().map(A::bits).map_err(|_| Error::Format)
}

/// Reads `PORT` or `FIRST-LAST`.
fn ports(text: &str) -> Result<RangeInclusive<u16>, Error> {
    if text.is_empty() {
        return Err(Error::Format);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = number(first).ok_or(Error::Port)?;
    let last = number(last).filter(|last| *last >= first).ok_or(Error::Port)?;
    Ok(first..=last)
}

/// Decimal digits only; no sign, which `parse` would accept.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
