//! `charset`: the character set of texts that do not say theirs.

use corral_http::trim;

use crate::reply::ReplyFields;

/// Adds the name to the type of a text that has none.
pub(crate) fn add(fields: &mut ReplyFields, charset: &str) {
    let Some(content_type) = fields.get(b"Content-Type").filter(|content_type| lacks_charset(content_type))
    else {
        return;
    };
    let named = [content_type.trim_ascii_end(), b"; charset=", charset.as_bytes()].concat();
    fields.set(b"Content-Type", &named);
}

/// Whether it is the type of a text without a character set. JSON has but one, and other XML says its own.
fn lacks_charset(content_type: &[u8]) -> bool {
    let mut parts = content_type.split(|&byte| byte == b';').map(trim);
    let media_type = parts.next().unwrap_or_default();
    let is_text = media_type.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"text/"))
        || media_type.eq_ignore_ascii_case(b"application/javascript");
    is_text
        && !parts
            .any(|parameter| parameter.get(..8).is_some_and(|name| name.eq_ignore_ascii_case(b"charset=")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let mut fields = ReplyFields::default();
        fields.push(b"Content-Type", before.as_bytes());
        add(&mut fields, "utf-8");
        assert_eq!(fields.get(b"content-type").map(String::from_utf8_lossy).as_deref(), Some(after));
    }

    #[test]
    fn only_texts_that_do_not_say_theirs_get_one() {
        check("text/html", "text/html; charset=utf-8");
        check("TEXT/plain", "TEXT/plain; charset=utf-8");
        check("application/javascript", "application/javascript; charset=utf-8");
        check("text/x; format=flowed ", "text/x; format=flowed; charset=utf-8");
        for left in [
            "text/html; charset=koi8-r",
            "text/html;Charset=utf-8",
            "image/svg+xml",
            "application/json",
            "text",
            "",
            "multipart/byteranges; boundary=x",
        ] {
            check(left, left);
        }
        let mut fields = ReplyFields::default();
        add(&mut fields, "utf-8");
        assert!(fields.get(b"Content-Type").is_none());
    }
}
