//! `http-01`: authorities that issue certificates find out whether a name leads here (RFC 8555 section 8.3).

use std::sync::Arc;

use super::request::RoutedRequest;
use super::response::ResponseWriter;
use crate::request::client::Gone;
use crate::services::LoopServices;

/// Where authorities ask; the token follows.
const PLACE: &[u8] = b"/.well-known/acme-challenge/";

/// The key authorization for the token that is asked for, if it is one of those that were ordered with. It comes
/// before all that the configuration says: an authority has no credentials, and does not follow every redirect.
#[inline]
pub(crate) fn find(request: &RoutedRequest<'_>, services: &LoopServices) -> Option<Arc<[u8]>> {
    let tokens = &services.secrets.tokens;
    if tokens.is_empty() {
        return None;
    }
    let token =
        request.path().strip_prefix(PLACE).filter(|_| matches!(request.method(), b"GET" | b"HEAD"))?;
    tokens.get(std::str::from_utf8(token).ok()?)
}

pub(crate) async fn send(response: &mut ResponseWriter<'_, '_>, answer: &[u8]) -> Result<(), Gone> {
    response.reply.coding_is_settled = true;
    response.reply.fields.push(b"Content-Type", b"application/octet-stream");
    response.open(200, Some(answer.len() as u64)).finish(response, answer).await
}
