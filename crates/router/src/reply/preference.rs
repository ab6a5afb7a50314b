//! Whether a client prefers JSON to HTML.

use corral_http::{list, trim};

/// The type of error pages for programs (RFC 9457).
pub(crate) const PROBLEM: &[u8] = b"application/problem+json";

/// Whether JSON by one of these names is wanted more than HTML, which is what clients get that want both or say
/// nothing.
pub(crate) fn prefers_json<'v>(accept: impl Iterator<Item = &'v [u8]>, names: &[&[u8]]) -> bool {
    let mut weights = Weights::default();
    for range in accept.flat_map(list) {
        let mut parts = range.split(|&byte| byte == b';').map(trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(weight).unwrap_or(1.0);
        match name.as_slice() {
            b"text/html" | b"application/xhtml+xml" => {
                weights.html = Some(weights.html.unwrap_or(0.0).max(weight));
            }
            name if names.contains(&name) => {
                weights.json = Some(weights.json.unwrap_or(0.0).max(weight));
            }
            b"text/*" => weights.text = weight,
            b"application/*" => weights.application = weight,
            _ => {}
        }
    }
    weights.json.unwrap_or(weights.application) > weights.html.unwrap_or(weights.text)
}

#[derive(Default)]
struct Weights {
    html: Option<f32>,
    json: Option<f32>,
    text: f32,
    application: f32,
}

fn weight(parameter: &[u8]) -> Option<f32> {
    let value = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = b"application/json";

    #[track_caller]
    fn check_accept(accept: &str, expect: bool) {
        assert_eq!(
            prefers_json([accept.as_bytes()].into_iter(), &[JSON, b"application/problem+json"]),
            expect,
            "{accept}"
        );
    }

    #[test]
    fn json_is_for_those_who_prefer_it() {
        assert!(!prefers_json([].into_iter(), &[JSON]));
        check_accept("*/*", false);
        check_accept("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false);
        check_accept("application/json", true);
        check_accept("Application/JSON; q=0.5", true);
        check_accept("text/html;q=0.4, application/json;q=0.5", true);
        check_accept("text/html, application/json", false);
        check_accept("application/*", true);
        check_accept("application/json;q=0", false);
        check_accept("application/problem+json, text/html;q=0.9", true);
        assert!(!prefers_json([&b"application/problem+json"[..]].into_iter(), &[JSON]));
    }
}
