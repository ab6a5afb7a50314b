//! IP addresses as text, in the spelling that logs and applications know from `inet_ntop`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Appends an address; none is that of a Unix socket. Allocates nothing.
pub(crate) fn append(ip: Option<IpAddr>, out: &mut impl Write) {
    let written = match ip {
        Some(IpAddr::V4(ip)) => append_v4(ip, out),
        Some(IpAddr::V6(ip)) => match embedded(ip) {
            Some(ip) => out.write_all(b"::").and_then(|()| append_v4(ip, out)),
            None => write!(out, "{ip}"),
        },
        None => out.write_all(b"unix:"),
    };
    written.expect("writing to memory cannot fail");
}

fn append_v4(ip: Ipv4Addr, out: &mut impl Write) -> std::io::Result<()> {
    for (position, octet) in ip.octets().into_iter().enumerate() {
        if position > 0 {
            out.write_all(b".")?;
        }
        out.write_all(itoa::Buffer::new().format(octet).as_bytes())?;
    }
    Ok(())
}

/// The second half of `::1.2.3.4`; `::1` and its neighbours are not such addresses.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0, 0, 0, 0, 0, 0, high, _] = ip.segments() else { return None };
    (high != 0).then(|| Ipv4Addr::from_bits(ip.to_bits() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let mut out = Vec::new();
        append(text.parse().ok(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn addresses_are_spelled_as_usual() {
        check("127.0.0.1");
        check("255.10.0.99");
        check("::1");
        check("::ff");
        check("::11.22.33.44");
        check("::ffff:11.22.33.44");
        check("2001:db8:3c4d:15::1a2f:1a2b");
        check("unix:");
    }
}
