//! For whoever works on a site with `corral run`: requests wait for code that is being loaded, and errors are explained.
//! A daemon has none of this.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use corral_ipc::message::{Desk as Services, DeskQuestion, FromRouter, Ticket};
use tokio::sync::oneshot;

use crate::control::main_link::MainLink;
use crate::reply::html;

static DESK: OnceLock<Desk> = OnceLock::new();

/// Asks `main` for requests.
pub(crate) struct Desk {
    services: Services,
    main: MainLink,
    last_ticket: AtomicU64,
    waiting: Mutex<HashMap<Ticket, oneshot::Sender<Vec<String>>>>,
}

/// Turned on once, at start, if anything is wanted.
pub(crate) fn enable(services: Services, main: MainLink) {
    if services != Services::default() {
        let (last_ticket, waiting) = (AtomicU64::new(0), Mutex::default());
        // Only the first call counts; the router starts once in a process.
        let _ = DESK.set(Desk { services, main, last_ticket, waiting });
    }
}

/// The desk, if requests wait for changed code.
pub(crate) fn watching() -> Option<&'static Desk> {
    DESK.get().filter(|desk| desk.services.watches)
}

/// The desk, if errors are explained.
pub(crate) fn explaining() -> Option<&'static Desk> {
    DESK.get().filter(|desk| desk.services.explains)
}

/// An answer of `main`.
pub(crate) fn answer(ticket: Ticket, words: Vec<String>) {
    let asked = DESK.get().and_then(|desk| desk.lock().remove(&ticket));
    if let Some(asked) = asked {
        // The client may have gone meanwhile.
        let _ = asked.send(words);
    }
}

impl Desk {
    /// Waits until the applications run the code that there is.
    pub(crate) async fn be_current(&self) {
        self.ask(DeskQuestion::IsCurrent).await;
    }

    /// A page that says what is wrong: for a failure of an application, with what that has printed last.
    pub(crate) async fn explain(&self, status: u16, path: &[u8]) -> Vec<u8> {
        let words = if status >= 500 { self.ask(DeskQuestion::LastWords).await } else { Vec::new() };
        page(status, &String::from_utf8_lossy(path), &words).into_bytes()
    }

    async fn ask(&self, question: DeskQuestion) -> Vec<String> {
        let ticket = Ticket(self.last_ticket.fetch_add(1, Ordering::Relaxed));
        let (asked, answer) = oneshot::channel();
        self.lock().insert(ticket, asked);
        self.main.send(&FromRouter::Ask { ticket, question });
        answer.await.unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Ticket, oneshot::Sender<Vec<String>>>> {
        // No operation on the map can leave it half-done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        words => format!("<p>It has printed last:</p><pre>{}</pre>", html::escape(&words.join("\n"))),
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
