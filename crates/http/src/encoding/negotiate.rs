//! Which of the configured compressors answers a request: the rules of NGINX Unit 1.35 (contract 16).

use super::{ContentCoding, element};
use crate::chars;

/// The coding that the `Accept-Encoding` fields ask for, with its weight in thousandths; `None` when nothing that is
/// enabled is acceptable. The body as it is is always enabled.
///
/// The highest weight wins, among equal ones the last that the client lists. `*` counts as `identity`, unless that
/// is named. A client that says nothing takes the body as it is, with weight 0.
pub fn negotiate<'v>(
    values: impl Iterator<Item = &'v [u8]>,
    is_enabled: impl Fn(ContentCoding) -> bool,
) -> Option<(ContentCoding, u16)> {
    let mut best = (ContentCoding::Identity, 0);
    let mut identity = None;
    let mut others = None;
    for (name, weight) in values.flat_map(chars::list).filter_map(element) {
        let coding = match ContentCoding::of(name) {
            Some(coding) => coding,
            None if name == b"*" => ContentCoding::Identity,
            None => continue,
        };
        if coding == ContentCoding::Identity {
            *(if name == b"*" { &mut others } else { &mut identity }) = Some(weight);
        }
        let enabled = coding == ContentCoding::Identity || is_enabled(coding);
        if enabled && weight > 0 && weight >= best.1 {
            best = (coding, weight);
        }
    }
    let refused = identity.or(others) == Some(0);
    (best.0 != ContentCoding::Identity || !refused).then_some(best)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With gzip and br enabled.
    #[track_caller]
    fn check(field: &str, expect: Option<ContentCoding>) {
        let enabled = |coding| matches!(coding, ContentCoding::Gzip | ContentCoding::Br);
        let chosen = negotiate([field.as_bytes()].into_iter(), enabled);
        assert_eq!(chosen.map(|(coding, _)| coding), expect, "{field:?}");
    }

    #[test]
    fn the_highest_weight_wins_and_then_the_last() {
        check("gzip", Some(ContentCoding::Gzip));
        check("gzip, br", Some(ContentCoding::Br));
        check("br, gzip", Some(ContentCoding::Gzip));
        check("br;q=0.5, gzip;q=0.4", Some(ContentCoding::Br));
        check("br; q=0.5 , gzip;q=0.5", Some(ContentCoding::Gzip));
        check("gzip, br;q=0.9", Some(ContentCoding::Gzip));
        check("GZIP", Some(ContentCoding::Gzip));
        check("x-gzip", Some(ContentCoding::Gzip));
    }

    #[test]
    fn what_is_not_enabled_or_malformed_counts_for_nothing() {
        check("", Some(ContentCoding::Identity));
        check("deflate, zstd", Some(ContentCoding::Identity));
        check("gzip, deflate", Some(ContentCoding::Gzip));
        check("gzip;q=0", Some(ContentCoding::Identity));
        check("gzip;q=2", Some(ContentCoding::Identity));
        check("gzip;level=1", Some(ContentCoding::Identity));
    }

    #[test]
    fn a_star_counts_as_the_body_as_it_is() {
        check("*", Some(ContentCoding::Identity));
        check("gzip, *", Some(ContentCoding::Identity));
        check("*, gzip", Some(ContentCoding::Gzip));
        check("gzip, *;q=0.1", Some(ContentCoding::Gzip));
        check("gzip;q=0.5, identity", Some(ContentCoding::Identity));
    }

    #[test]
    fn nothing_may_be_acceptable() {
        check("identity;q=0", None);
        check("*;q=0", None);
        check("zstd, *;q=0", None);
        check("gzip;q=0, identity;q=0", None);
        check("gzip, identity;q=0", Some(ContentCoding::Gzip));
        check("gzip, *;q=0", Some(ContentCoding::Gzip));
        check("*;q=0, identity;q=0.1", Some(ContentCoding::Identity));
    }

    proptest! {
        /// Whatever a client writes, what is chosen is enabled and was not refused.
        #[test]
        fn only_what_is_enabled_is_chosen(
            field in "((gzip|br|zstd|identity|\\*|x)?(;q=(0|1|0\\.[0-9]{0,4}))?[ ,;=]{0,2}){0,6}",
        ) {
            let enabled = |coding| coding == ContentCoding::Gzip;
            if let Some((coding, weight)) = negotiate([field.as_bytes()].into_iter(), enabled) {
                prop_assert!(matches!(coding, ContentCoding::Gzip | ContentCoding::Identity));
                prop_assert!(weight <= 1000 && (weight > 0 || coding == ContentCoding::Identity));
            }
        }
    }
}
