//! Text of others in pages.

/// The text with everything escaped that means something in HTML, in attributes too.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether browsers read elements and scripts in a body of this type.
pub(crate) fn is_markup(content_type: &str) -> bool {
    let is_html = content_type.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("text/html"));
    is_html || content_type.to_ascii_lowercase().contains("xml")
}
