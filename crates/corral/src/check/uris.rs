//! Patterns of `uri` that no path matches, as other servers write them.

/// The fault of a pattern, and the remedy.
pub(super) fn remark(text: &str) -> Option<(String, String)> {
    let (negation, pattern) = text.strip_prefix('!').map_or(("", text), |rest| ("!", rest));
    let means = |pattern: &str| format!("Write \"{negation}{pattern}\".");
    if let Some(regex) = pattern.strip_prefix('~') {
        return remark_on_regex(text, regex);
    }
    if pattern.starts_with(['/', '*', '%']) || pattern.is_empty() {
        return None;
    }
    let detail = format!("No path matches \"{text}\": each begins with a \"/\".");
    let meant = if let Some(path) = pattern.strip_prefix("^~ ") {
        means(&format!("{}*", path.trim_start()))
    } else if let Some(path) = pattern.strip_prefix("= ") {
        means(path.trim_start())
    } else if looks_like_regex(pattern) {
        return None;
    } else if pattern.contains("://") {
        "A \"host\" and a \"scheme\" are conditions of their own.".to_owned()
    } else {
        means(&format!("/{pattern}"))
    };
    Some((detail, meant))
}

/// Looks for signs of a regular expression, which appear neither in a literal nor in one with stars. A regular
/// expression cannot begin with a star: `*/.*` are the files whose names begin with a dot.
pub(super) fn looks_like_regex(pattern: &str) -> bool {
    const SIGNS: [&str; 9] = [".*", ".+", "\\.", "\\d", "\\w", "[0-9", "[a-z", "[A-Z", "[^"];
    !pattern.starts_with(['~', '*'])
        && (pattern.starts_with('^')
            || pattern.len() > 1 && pattern.ends_with('$')
            || SIGNS.iter().any(|sign| pattern.contains(sign))
            || pattern.contains('(') && pattern.contains('|'))
}

/// The path is compared as it is after decoding, which a literal pattern is too, but not an expression.
fn remark_on_regex(text: &str, regex: &str) -> Option<(String, String)> {
    let at = regex.find('%')?;
    let escape = regex.get(at..at + 3)?;
    let byte = u8::from_str_radix(escape.get(1..)?, 16).ok()?;
    let detail =
        format!("The pattern \"{text}\" is compared with the decoded path, which has no \"{escape}\".");
    let character = if byte.is_ascii_graphic() || byte == b' ' {
        format!("Write \"{}\" in its place.", char::from(byte))
    } else {
        format!("Write \"\\\\x{}\" in its place.", &escape[1..])
    };
    Some((detail, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, advice: Option<&str>) {
        assert_eq!(remark(text).map(|(_, advice)| advice).as_deref(), advice, "{text}");
    }

    #[test]
    fn paths_begin_with_a_slash() {
        for right in ["/a", "*", "*.php", "!/a", "!*.php", "~^/a", "!~a", "%2Fa", "", "!", "^/a", "!\\.php$"]
        {
            check(right, None);
        }
        check("api/*", Some("Write \"/api/*\"."));
        check("!api", Some("Write \"!/api\"."));
        check("= /a", Some("Write \"/a\"."));
        check("^~ /a/", Some("Write \"/a/*\"."));
        check("https://example.org/a", Some("A \"host\" and a \"scheme\" are conditions of their own."));
    }

    #[test]
    fn expressions_meet_decoded_paths() {
        check("~^/a%20b", Some("Write \" \" in its place."));
        check("!~%C3%A9", Some("Write \"\\\\xC3\" in its place."));
        check("/a%20b", None);
        check("~50%", None);
        check("~%é", None);
        check("~%zz", None);
    }
}
