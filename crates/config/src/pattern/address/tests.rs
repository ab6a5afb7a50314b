//! Each form against addresses, each fault, and ranges against their definition.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use super::{AddressPatternError as Error, AddressPatternSet};

fn compile(patterns: &[&str]) -> AddressPatternSet {
    let mut set = AddressPatternSet::default();
    for pattern in patterns {
        set.add(pattern.as_bytes()).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    }
    set
}

/// `unix`, or an address with its port.
fn address(text: &str) -> Option<SocketAddr> {
    (text != "unix").then(|| text.parse().unwrap())
}

#[track_caller]
fn check(patterns: &[&str], matching: &[&str], others: &[&str]) {
    let set = compile(patterns);
    for text in matching {
        assert!(set.matches(address(text)), "{patterns:?} must match {text}");
    }
    for text in others {
        assert!(!set.matches(address(text)), "{patterns:?} must not match {text}");
    }
}

#[track_caller]
fn check_refused(error: Error, texts: &[&str]) {
    for text in texts {
        let mut set = AddressPatternSet::default();
        assert_eq!(set.add(text.as_bytes()), Err(error), "{text}");
        assert_eq!(set.add(format!("!{text}").as_bytes()), Err(error), "!{text}");
        assert_eq!(set, AddressPatternSet::default(), "{text}");
    }
}

#[test]
fn exact_addresses() {
    check(
        &["10.0.0.1"],
        &["10.0.0.1:0", "10.0.0.1:65535"],
        &["10.0.0.2:1", "[::1]:1", "unix", "[::ffff:10.0.0.1]:1"],
    );
    check(&["::1"], &["[::1]:1"], &["[::2]:1", "127.0.0.1:1", "unix"]);
    check(&["::ffff:10.0.0.1"], &["[::ffff:10.0.0.1]:1"], &["10.0.0.1:1"]);
    check(&["::"], &["[::]:1"], &["[::1]:1"]);
    check(&["0.0.0.0"], &["0.0.0.0:1"], &["1.0.0.0:1"]);
    check(&["255.255.255.255"], &["255.255.255.255:1"], &["255.255.255.254:1"]);
}

#[test]
fn ranges_include_both_ends() {
    check(
        &["10.0.0.250-10.0.1.5"],
        &["10.0.0.250:1", "10.0.0.255:1", "10.0.1.5:1"],
        &["10.0.0.249:1", "10.0.1.6:1"],
    );
    check(&["10.0.0.1-10.0.0.1"], &["10.0.0.1:1"], &["10.0.0.2:1"]);
    check(
        &["2001::-2001::ff"],
        &["[2001::]:1", "[2001::fe]:1", "[2001::ff]:1"],
        &["[2001::100]:1", "[2000::]:1"],
    );
}

#[test]
fn networks_ignore_the_bits_behind_the_prefix() {
    check(&["10.1.2.3/8"], &["10.0.0.0:1", "10.255.255.255:1"], &["11.0.0.0:1", "9.255.255.255:1", "unix"]);
    check(&["10.0.0.8/31"], &["10.0.0.8:1", "10.0.0.9:1"], &["10.0.0.10:1", "10.0.0.7:1"]);
    check(&["10.0.0.8/32"], &["10.0.0.8:1"], &["10.0.0.9:1"]);
    check(&["10.0.0.8/0"], &["0.0.0.0:1", "255.255.255.255:1"], &["[::1]:1", "unix"]);
    check(&["2001:db8::1/32"], &["[2001:db8:ffff::]:1"], &["[2001:db9::]:1"]);
    check(&["::/0"], &["[::]:1", "[ffff::]:1"], &["127.0.0.1:1", "unix"]);
    check(&["::1/128"], &["[::1]:1"], &["[::]:1"]);
}

#[test]
fn ports_and_their_ranges() {
    check(&["*:443"], &["1.2.3.4:443", "[::1]:443"], &["1.2.3.4:444", "unix"]);
    check(&["*:8000-9000"], &["1.2.3.4:8000", "[::1]:9000"], &["1.2.3.4:7999", "1.2.3.4:9001"]);
    check(&["*:0-65535"], &["1.2.3.4:0", "[::1]:65535"], &["unix"]);
    check(&["10.0.0.0/8:8000-8090"], &["10.1.1.1:8090"], &["10.1.1.1:8091", "11.1.1.1:8090"]);
    check(&["10.0.0.1-10.0.0.9:80"], &["10.0.0.9:80"], &["10.0.0.9:81", "10.0.0.10:80"]);
    check(&["10.0.0.1:80-80"], &["10.0.0.1:80"], &["10.0.0.1:81"]);
    check(&["[2001:db8::/32]:443"], &["[2001:db8::1]:443"], &["[2001:db8::1]:80", "[2001::1]:443"]);
    check(&["[::1-::5]:1-2"], &["[::3]:2"], &["[::3]:3", "[::6]:1"]);
    check(&["[::1]:0"], &["[::1]:0"], &["[::1]:1"]);
}

#[test]
fn negation_and_arrays() {
    check(&[], &[], &["127.0.0.1:1", "[::1]:1", "unix"]);
    check(&["unix"], &["unix"], &["127.0.0.1:1"]);
    check(&["!unix"], &["127.0.0.1:1", "[::1]:1"], &["unix"]);
    check(&["!10.0.0.1"], &["10.0.0.2:1", "[::1]:1", "unix"], &["10.0.0.1:1"]);
    check(&["!10.0.0.1", "!10.0.0.2"], &["10.0.0.3:1"], &["10.0.0.1:1", "10.0.0.2:1"]);
    check(&["10.0.0.1", "::1"], &["10.0.0.1:1", "[::1]:1"], &["10.0.0.2:1"]);
    check(&["10.0.0.0/8", "!10.0.0.1"], &["10.0.0.2:1"], &["10.0.0.1:1", "11.0.0.1:1", "unix"]);
    check(&["!10.0.0.1", "10.0.0.0/8", "unix"], &["10.0.0.2:1", "unix"], &["10.0.0.1:1"]);
    check(&["!*:80"], &["10.0.0.1:81", "unix"], &["10.0.0.1:80", "[::1]:80"]);
}

#[test]
fn faults_are_explained() {
    check_refused(Error::TooShort, &["", "*", "1", ":"]);
    check_refused(
        Error::Format,
        &[
            "ab",
            "127",
            "localhost",
            "256.0.0.1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            " 1.2.3.4",
            "1.2.3.4 ",
            "*.2.3.4",
            "**",
            "!!1.2.3.4",
            "1.2.3.4:",
            "*:",
            "1.2.3.4-",
            "1.2.3.4/-1",
            "-1.2.3.4",
            "1.2.3.4-::1",
            "::1-1.2.3.4",
            "/8",
            "1.2.3/8",
            "1.2.3.4-1.2.3.5-1.2.3.6",
            "[::1]",
            "[::1]:",
            "[::1",
            "[]:80",
            "[1.2.3.4]:80",
            "::1]:80",
            "g::1",
            ":::",
            "::1%lo",
            "1:2:3:4:5:6:7:8:9",
            "unix:",
            "unix:/x",
            "é",
        ],
    );
    check_refused(Error::Overlap, &["10.0.0.2-10.0.0.1", "::2-::1", "[::2-::1]:80"]);
    check_refused(
        Error::Prefix,
        &["1.2.3.4/", "1.2.3.4/33", "1.2.3.4/+8", "1.2.3.4/8x", "1.2.3.4/8/8", "::/129", "::/"],
    );
    check_refused(
        Error::Port,
        &[
            "*:65536",
            "*:x",
            "*:-1",
            "*:1-",
            "*:-",
            "*:+1",
            "*:2-1",
            "*:1-65536",
            "*:1-2-3",
            "1.2.3.4:a",
            "[::1]:65536",
        ],
    );
    let mut set = AddressPatternSet::default();
    assert_eq!(set.add(b"\xff\xff"), Err(Error::Format));
}

#[test]
fn the_words_are_those_of_the_contract() {
    let texts = [Error::TooShort, Error::Format, Error::Overlap, Error::Prefix, Error::Port]
        .map(|error| error.to_string());
    assert_eq!(
        texts,
        [
            "The \"address\" is too short.",
            "The \"address\" format is invalid.",
            "The \"address\" range is overlapping.",
            "The \"address\" has an invalid CIDR prefix.",
            "The \"address\" port an invalid port.",
        ]
    );
}

proptest! {
    #[test]
    fn a_range_holds_what_is_between(first: u32, last: u32, value: u32, port: u16) {
        let (first, last) = (first.min(last), first.max(last));
        let text = format!("{}-{}", Ipv4Addr::from_bits(first), Ipv4Addr::from_bits(last));
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(value)), port);
        prop_assert_eq!(compile(&[&text]).matches(Some(address)), first <= value && value <= last);
    }

    #[test]
    fn a_network_holds_what_shares_its_prefix(network: u128, flip in 0_u32..128, prefix in 0_u32..=128) {
        let text = format!("{}/{prefix}", Ipv6Addr::from_bits(network));
        let other = network ^ (1 << (127 - flip));
        let address = SocketAddr::new(IpAddr::V6(Ipv6Addr::from_bits(other)), 1);
        prop_assert_eq!(compile(&[&text]).matches(Some(address)), flip >= prefix);
    }

    #[test]
    fn no_text_panics(input in "!?[\\[]?[0-9a-f.:/*-]{0,24}(\\]:[0-9-]{0,6})?") {
        crate::fuzz::fuzz_address(input.as_bytes());
    }
}
