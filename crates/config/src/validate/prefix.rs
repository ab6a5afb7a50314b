//! `strip_prefix` and `add_prefix` of actions (beyond Unit).

use super::context::Context;
use super::label::Label;
use super::schema::{Field, STRING, optional};
use crate::percent;

/// The row of `strip_prefix`.
pub(super) const STRIP_PREFIX: Label = optional("strip_prefix", STRING).means(
    "segments that are taken away from the front of the path, before `rewrite`: of `/api` and `/api/x` with `\"/api\"` \
     there stay `/` and `/x`, and `/apix` stays as it is (beyond Unit)",
);

/// The row of `add_prefix`.
pub(super) const ADD_PREFIX: Label = optional("add_prefix", STRING).means(
    "segments that are put in front of the path, behind `strip_prefix` and before `rewrite` (beyond Unit)",
);

/// Reads the prefix: decoded, with a slash in front of each segment and none behind the last.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Vec<u8>> {
    let text = field.value.as_bytes()?;
    let name = field.name;
    if text.contains(&b'$') || text.starts_with(b"`") {
        let advice = "A text with variables is \"rewrite\"; a dollar sign of the path is \"%24\".";
        cx.problem_with_advice(format!("The \"{name}\" value must not have variables."), advice);
        return None;
    }
    let Some(prefix) = percent::decode(text).filter(|_| is_path(text)) else {
        let advice = "It is like \"/api\" or \"/api/v1\".";
        cx.problem_with_advice(
            format!("The \"{name}\" value must be a path that begins with a slash."),
            advice,
        );
        return None;
    };
    let prefix = prefix.strip_suffix(b"/").unwrap_or(&prefix);
    let mut segments = prefix.split(|&byte| byte == b'/').skip(1);
    let is_segment = |segment: &[u8]| !matches!(segment, b"" | b"." | b"..") && !segment.contains(&0);
    if prefix.is_empty() || !segments.all(is_segment) {
        let detail = format!("The \"{name}\" value must have segments, none of them empty, \".\" or \"..\".");
        cx.problem_with_advice(detail, "It is like \"/api\" or \"/api/v1\".");
        return None;
    }
    Some(prefix.to_vec())
}

/// Whether a text is only a path.
fn is_path(text: &[u8]) -> bool {
    text.starts_with(b"/") && !text.iter().any(|byte| matches!(byte, b'?' | b'#'))
}
