//! W3C trace context: `traceparent` and `tracestate` read and written, and which traces are kept. Pure.

/// Bytes of a `traceparent` of version 00.
pub(crate) const PARENT_LEN: usize = 55;

/// Longest `tracestate` that is handed on; the standard asks for 512 at least.
const MAX_STATE: usize = 1024;

/// The content of `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) sampled: bool,
}

/// Reads the field's value; what is invalid is none.
pub(super) fn parse_parent(value: &[u8]) -> Option<TraceParent> {
    let (known, more) = value.split_at_checked(PARENT_LEN)?;
    let text = std::str::from_utf8(known).ok()?;
    let mut parts = text.split('-');
    let mut part = |len: usize| parts.next().filter(|part| part.len() == len && is_lower_hex(part));
    let (version, trace_id, span_id, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    // Later versions may say more, behind a dash.
    let fits = match version {
        "ff" => false,
        "00" => more.is_empty(),
        _ => more.is_empty() || more.starts_with(b"-"),
    };
    let parent = TraceParent {
        trace_id: u128::from_str_radix(trace_id, 16).ok()?,
        span_id: u64::from_str_radix(span_id, 16).ok()?,
        sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
    };
    (fits && parent.trace_id != 0 && parent.span_id != 0).then_some(parent)
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes it in version 00.
pub(super) fn print_parent(parent: &TraceParent) -> [u8; PARENT_LEN] {
    let TraceParent { trace_id, span_id, sampled } = parent;
    let text = format!("00-{trace_id:032x}-{span_id:016x}-{:02x}", u8::from(*sampled));
    text.as_bytes().try_into().expect("the widths are fixed")
}

/// A part of a request, by which its span is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartName {
    /// The number that a server or an application was told.
    Told(u32),
    /// The place among the spans of the request, of one that no other process knows.
    Place(u32),
}

/// The number of a part's span. It follows from that of the request, so that nothing has to be kept until the end:
/// the mixing steps of SplitMix64, which no two names share a result of.
pub(super) fn part_id(span_id: u64, part: PartName) -> u64 {
    let name = match part {
        PartName::Told(number) => u64::from(number) << 1,
        PartName::Place(number) => (u64::from(number) << 1) | 1,
    };
    let mut mixed = span_id.wrapping_add((name + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).max(1)
}

/// All `tracestate` fields as one; one that is too long is not handed on.
pub(super) fn join_states<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<u8> {
    let joined = values.filter(|value| !value.is_empty()).collect::<Vec<_>>().join(&b","[..]);
    if joined.len() > MAX_STATE { Vec::new() } else { joined }
}

/// Whether a trace that begins here is among those that are kept: decided by its id, as others do it too.
pub(super) fn is_sampled(trace_id: u128, ratio: f64) -> bool {
    const HIGHEST: f64 = (1_u64 << 63) as f64;
    let place = (trace_id as u64 >> 1) as f64;
    ratio >= 1.0 || place < ratio * HIGHEST
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[track_caller]
    fn check(value: &str, expect: Option<bool>) {
        let parent = parse_parent(value.as_bytes());
        assert_eq!(parent.map(|parent| parent.sampled), expect, "{value}");
        if let Some(parent) = parent {
            assert_eq!(
                format!("{:032x} {:016x}", parent.trace_id, parent.span_id),
                format!("{TRACE} {SPAN}")
            );
            assert_eq!(parse_parent(&print_parent(&parent)), Some(parent));
        }
    }

    #[test]
    fn parents_are_read_strictly() {
        check(&format!("00-{TRACE}-{SPAN}-01"), Some(true));
        check(&format!("00-{TRACE}-{SPAN}-00"), Some(false));
        check(&format!("00-{TRACE}-{SPAN}-ff"), Some(true));
        check(&format!("cc-{TRACE}-{SPAN}-01"), Some(true));
        check(&format!("cc-{TRACE}-{SPAN}-01-more"), Some(true));
        check(&format!("cc-{TRACE}-{SPAN}-01more"), None);
        check(&format!("ff-{TRACE}-{SPAN}-01"), None);
        check(&format!("00-{TRACE}-{SPAN}-01-more"), None);
        check(&format!("00-{TRACE}-{SPAN}-1"), None);
        check(&format!("00-{TRACE}-{SPAN}"), None);
        check(&format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None);
        check(&format!("00-{}-{SPAN}-01", "0".repeat(32)), None);
        check(&format!("00-{TRACE}-{}-01", "0".repeat(16)), None);
        check(&format!("00+{TRACE}-{SPAN}-01"), None);
        check("", None);
        check(&"é".repeat(40), None);
    }

    #[test]
    fn parts_have_numbers_of_their_own() {
        let names = (0..1000).flat_map(|number| [PartName::Told(number), PartName::Place(number)]);
        let ids = [7, 8].map(|span| names.clone().map(move |name| part_id(span, name)));
        let ids: HashSet<_> = ids.into_iter().flatten().collect();
        assert_eq!(ids.len(), 4000);
        assert!(!ids.contains(&0) && !ids.contains(&7));
        assert_eq!(part_id(7, PartName::Told(1)), part_id(7, PartName::Told(1)));
    }

    #[test]
    fn states_are_joined() {
        let join = |values: &[&'static str]| join_states(values.iter().map(|value| value.as_bytes()));
        assert_eq!(join(&[]), b"");
        assert_eq!(join(&["a=1", "", "b=2"]), b"a=1,b=2");
        assert_eq!(join_states([&b"x".repeat(2000)[..]].into_iter()), b"");
    }

    #[test]
    fn the_ratio_decides() {
        let kept = |ratio: f64| (0..1000_u64).filter(|n| is_sampled(u128::from(n << 54), ratio)).count();
        assert_eq!((kept(0.0), kept(1.0)), (0, 1000));
        assert!((490..=515).contains(&kept(0.5)), "{}", kept(0.5));
        assert!(is_sampled(u128::MAX, 1.0));
    }
}
