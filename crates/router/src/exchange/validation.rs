//! `http-01`: authorities that issue certificates find out whether a name leads here (RFC 8555 section 8.3).

use std::sync::Arc;

use crate::exchange::Exchange;
use crate::request::client::Gone;

/// Where authorities ask; the token follows.
const PLACE: &[u8] = b"/.well-known/acme-challenge/";

impl Exchange<'_> {
    /// The key authorization for the token that is asked for, if it is one of those that were ordered with. It comes
    /// before all that the configuration says: an authority has no credentials, and does not follow every redirect.
    #[inline]
    pub(crate) fn key_authorization(&self) -> Option<Arc<[u8]>> {
        let tokens = &self.services.secrets.tokens;
        if tokens.is_empty() {
            return None;
        }
        let token = self.path().strip_prefix(PLACE).filter(|_| matches!(self.method(), b"GET" | b"HEAD"))?;
        tokens.get(std::str::from_utf8(token).ok()?)
    }

    pub(crate) async fn send_key_authorization(&mut self, answer: &[u8]) -> Result<(), Gone> {
        self.reply.coding_is_settled = true;
        self.reply.fields.push(b"Content-Type", b"application/octet-stream");
        self.open(200, Some(answer.len() as u64)).finish(self, answer).await
    }
}
