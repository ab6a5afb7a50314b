//! One request on a connection of its own: a health check.

use std::pin::pin;

use bytes::Bytes;

use super::message::{H2RequestHead, head};
use super::settings::builder;
use crate::upstream::failure::ServerFailure;
use crate::upstream::server_connection::ServerConnection;

/// Sends a request without a body; the head of the response, in the form of HTTP/1. Cancel safe: the connection ends
/// with it.
pub(crate) async fn ask(
    server_connection: ServerConnection,
    request: &H2RequestHead<'_>,
) -> Result<Vec<u8>, ServerFailure> {
    let request = request.request(server_connection.plain().is_none())?;
    let (sender, connection) =
        builder().handshake::<_, Bytes>(server_connection).await.map_err(ServerFailure::NotHttp2)?;
    let mut connection = pin!(connection);
    let asking = async {
        let mut sender = sender.ready().await?;
        let (response, _) = sender.send_request(request, true)?;
        response.await
    };
    let answered = tokio::select! {
        biased;
        answered = asking => answered,
        end = &mut connection => return Err(end.err().map_or(ServerFailure::Closed, ServerFailure::NotHttp2)),
    };
    let response = answered.map_err(ServerFailure::of_stream)?;
    Ok(head(response.status(), response.headers()))
}
