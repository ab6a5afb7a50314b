//! Serving the connections that the router makes to itself.

use std::rc::Rc;

use crate::client::connection::ClientConnection;
use crate::client::listener_handle::ListenerHandle;
use crate::client::serve;
use crate::io::ClientStream;
use crate::services::LoopServices;
use crate::services::internal::InternalConnection;

/// Serves them for as long as the event loop runs. They are not connections of a client's more than it has already, and
/// count for no bound of these; one that had to wait for a place could wait for the client that has asked for it.
pub(crate) async fn run(services: Rc<LoopServices>) {
    let mut connections = services.inner.connections();
    while let Some(InternalConnection { socket, settings, client }) = connections.recv().await {
        services.counters.accepted.add(1);
        let (permit, handle) = (services.admission.beside(), ListenerHandle::of(settings));
        let stream = ClientStream::new(socket);
        let connection = ClientConnection::new(Rc::clone(&services), handle, stream, client, permit);
        tokio::task::spawn_local(serve::run(Box::new(connection)));
    }
}
