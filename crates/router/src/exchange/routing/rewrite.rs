//! `rewrite` (contract 11.3): another path for the handlers, while the target stays as received.

use corral_config::template::{Exception, Template};
use corral_http::path::{self, PathError};

use crate::exchange::Exchange;
use crate::request::routing::log;
use crate::storage::buffers;
use crate::variables::script;

/// Why there is no new path.
#[derive(Debug, thiserror::Error)]
pub(super) enum RewriteError {
    #[error(transparent)]
    Exception(#[from] Exception),
    #[error("rewrite to \"{text}\": {cause}")]
    Path { text: String, cause: PathError },
}

impl RewriteError {
    pub(super) fn report(&self) {
        match self {
            Self::Exception(exception) => script::report(exception),
            Self::Path { .. } => tracing::error!("{self}"),
        }
    }
}

impl Exchange<'_> {
    /// Puts the text of `rewrite` in the place of the path.
    pub(super) fn rewrite(&mut self, rewrite: &Template) -> Result<(), RewriteError> {
        let mut text = buffers::take();
        let rewritten = rewrite.render(&mut self.variables(), &mut text).map_err(RewriteError::from);
        let rewritten = rewritten.and_then(|()| {
            let mut path = self.rewritten.take().unwrap_or_else(buffers::take);
            let result = normalise(&text, &mut path);
            self.rewritten = Some(path);
            result
        });
        if rewritten.is_ok() && self.rules().log_route {
            log::rewritten(&text);
        }
        buffers::give(text);
        rewritten
    }
}

/// Reads `text` as a request target whose query is of no interest.
fn normalise(text: &[u8], out: &mut Vec<u8>) -> Result<(), RewriteError> {
    let end = memchr::memchr2(b'?', b'#', text).unwrap_or(text.len());
    path::normalise(&text[..end], out)
        .map_err(|cause| RewriteError::Path { text: text.escape_ascii().to_string(), cause })
}
