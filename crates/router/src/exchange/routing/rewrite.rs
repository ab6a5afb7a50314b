//! Another path and query for the handlers, while the target stays as received: `rewrite` (contract 11.3), and beyond
//! Unit the prefixes of a path, and `try`.

use corral_config::route::{Action, PathChanges};
use corral_config::template::{Exception, PathFault, Rewrite, RewriteFault};
use corral_http::path::{self, PathError};

use super::Routing;
use crate::error_chain::Chain;
use crate::request::routing::RouteTarget;
use crate::request::routing::log;
use crate::storage::buffers;
use crate::variables::encoded::QueryValues;
use crate::variables::script;

/// Why there is no new target.
#[derive(Debug, thiserror::Error)]
pub(super) enum RewriteError {
    #[error(transparent)]
    Exception(#[from] Exception),
    /// The client's fault: its values name no path.
    #[error("nothing is rewritten")]
    Stray(#[source] PathFault),
    #[error("rewrite")]
    Text(#[source] RewriteFault),
    /// Rewrites of rewrites may double what there is each time.
    #[error("rewrite: the result has more than {LONGEST} bytes")]
    Length,
    #[error("rewrite to \"{text}\"")]
    Path {
        text: String,
        #[source]
        cause: PathError,
    },
}

impl RewriteError {
    /// Says why, where it is not the client's own doing; the status to answer with.
    pub(super) fn report(&self) -> u16 {
        match self {
            Self::Exception(exception) => script::report(exception),
            Self::Stray(_) => {
                tracing::info!("{}", Chain(self));
                return 404;
            }
            Self::Text(_) | Self::Length | Self::Path { .. } => tracing::error!("{}", Chain(self)),
        }
        500
    }
}

impl From<RewriteFault> for RewriteError {
    fn from(fault: RewriteFault) -> Self {
        match fault {
            RewriteFault::Path(PathFault::Script(exception)) => Self::Exception(exception),
            RewriteFault::Path(stray) => Self::Stray(stray),
            RewriteFault::BadEscape => Self::Text(fault),
        }
    }
}

/// Bytes of a path or a query; no client sends as many.
const LONGEST: usize = 1024 * 1024;

fn check_length(text: &[u8]) -> Result<(), RewriteError> {
    if text.len() > LONGEST { Err(RewriteError::Length) } else { Ok(()) }
}

impl<'c> Routing<'_, 'c> {
    /// Makes the changes of an action, of which each sees what the ones before have made. `Err` is a target that ends
    /// the way early.
    pub(super) fn change_path(
        &mut self,
        changes: &'c PathChanges,
        action: &'c Action,
    ) -> Result<(), RouteTarget<'c>> {
        let failed = |error: RewriteError| RouteTarget::Nothing(error.report());
        if let Some(path) = changes.change_prefix(self.request.path()) {
            check_length(&path).map_err(failed)?;
            self.request.set_prefixed_path(path);
            self.log_rewritten();
        }
        if let Some(rewrite) = &changes.rewrite {
            self.rewrite(rewrite).map_err(failed)?;
        }
        changes.try_files.map_or(Ok(()), |key| self.try_files(key, action))
    }
}

impl Routing<'_, '_> {
    /// Puts what `rewrite` gives in the place of the path, and of the query. Both see the request as it was before.
    pub(super) fn rewrite(&mut self, rewrite: &Rewrite) -> Result<(), RewriteError> {
        let mut text = buffers::take();
        let query = self.new_query(rewrite, &mut text);
        text.clear();
        let path = query.and_then(|query| Ok((self.new_path(rewrite, &mut text)?, query)));
        buffers::give(text);
        let (path, query) = path?;
        if let Some(path) = path {
            self.request.set_path(path);
        }
        if let Some(query) = query {
            self.request.set_query(query);
        }
        self.log_rewritten();
        Ok(())
    }

    pub(super) fn log_rewritten(&self) {
        if self.request.request_settings().log_route {
            log::rewritten(self.request.path(), self.request.rewritten_query());
        }
    }

    /// The path that takes the place of the one that there is, if one does.
    pub(super) fn new_path(
        &self,
        rewrite: &Rewrite,
        text: &mut Vec<u8>,
    ) -> Result<Option<Vec<u8>>, RewriteError> {
        if !rewrite.render_path(&mut self.variables(), text)? {
            return Ok(None);
        }
        check_length(text)?;
        let mut path = buffers::take();
        match path::normalise_decoded(text, &mut path) {
            Ok(()) => Ok(Some(path)),
            Err(cause) => {
                buffers::give(path);
                Err(RewriteError::Path { text: text.escape_ascii().to_string(), cause })
            }
        }
    }

    /// The query that takes the place of the one that there is, if one does.
    pub(super) fn new_query(
        &self,
        rewrite: &Rewrite,
        text: &mut Vec<u8>,
    ) -> Result<Option<Vec<u8>>, RewriteError> {
        let is_new = rewrite.render_query(&mut QueryValues(self.variables()), text)?;
        if !is_new && !rewrite.restores_query() {
            return Ok(None);
        }
        check_length(text)?;
        let mut query = buffers::take();
        path::append_query(text, &mut query);
        let kept = match rewrite.restores_query() {
            true => self.request.received.head.query(self.request.received.bytes),
            false => self.request.query(),
        };
        if let Some(kept) = kept.filter(|kept| !kept.is_empty() && rewrite.keeps_query()) {
            if !query.is_empty() {
                query.push(b'&');
            }
            query.extend_from_slice(kept);
        }
        Ok(Some(query))
    }
}
