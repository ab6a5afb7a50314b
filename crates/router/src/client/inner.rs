//! Serving the connections that the router makes to itself.

use std::rc::Rc;

use crate::client::connection::Connection;
use crate::client::serve;
use crate::client::slot::Slot;
use crate::io::Stream;
use crate::services::Services;
use crate::services::inner::InnerConnection;

/// Serves them for as long as the event loop runs. They are no connections of a client's more than it has already, and
/// count for no bound of these; one that had to wait for a place could wait for the client that has asked for it.
pub(crate) async fn run(services: Rc<Services>) {
    let mut connections = services.inner.connections();
    while let Some(InnerConnection { socket, settings, client }) = connections.recv().await {
        services.counters.accepted.add(1);
        let (place, slot) = (services.admission.beside(), Slot::of(settings));
        let stream = Stream::new(socket);
        let connection = Connection::new(Rc::clone(&services), slot, stream, client, place);
        tokio::task::spawn_local(serve::run(Box::new(connection)));
    }
}
