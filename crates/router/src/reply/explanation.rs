//! The error page of `corral run`, which says what is wrong.

use std::time::Instant;

use crate::dev_reload::DevReload;
use crate::reply::html;

/// The page; for a failure of an application, with what that has printed since the request `began`. One that does not
/// start has said why before.
pub(crate) async fn explain(dev: &DevReload, status: u16, path: &[u8], began: Instant) -> Vec<u8> {
    let words = match status {
        503 => dev.last_words(None).await,
        500.. => dev.last_words(Some(began.elapsed())).await,
        _ => Vec::new(),
    };
    page(status, &String::from_utf8_lossy(path), &words).into_bytes()
}

fn page(status: u16, path: &str, words: &[String]) -> String {
    let reason = corral_http::response::reason(status);
    let what = match status {
        404 => format!("Nothing is served at <code>{}</code>.", html::escape(path)),
        400..500 => format!("The request for <code>{}</code> was refused.", html::escape(path)),
        _ => format!("The application gave no good answer for <code>{}</code>.", html::escape(path)),
    };
    let printed = match words {
        [] => String::new(),
        words => format!("<p>It has printed:</p><pre>{}</pre>", html::escape(&words.join("\n"))),
    };
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><title>{status} {reason}</title><style>body{{font:16px sans-serif;\
         margin:2em}}pre{{background:#eee;padding:1em;overflow:auto;white-space:pre-wrap}}</style><h1>{status} \
         {reason}</h1><p>{what}</p>{printed}<p><small>corral run shows this page at a terminal only.</small></p>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_words_as_they_are() {
        let found = page(500, "/a\"<b>", &["File \"x.py\"".to_owned(), "<script>&".to_owned()]);
        assert!(found.contains("<h1>500 Internal Server Error</h1>"), "{found}");
        assert!(found.contains("<pre>File &quot;x.py&quot;\n&lt;script&gt;&amp;</pre>"), "{found}");
        assert!(found.contains("<code>/a&quot;&lt;b&gt;</code>"), "{found}");
        let found = page(404, "/none", &[]);
        assert!(
            found.contains("Nothing is served at <code>/none</code>") && !found.contains("<pre>"),
            "{found}"
        );
    }
}
