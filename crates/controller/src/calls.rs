//! Requests of clients that a router passes on, each on a socket of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix;

use corral_config::control_service::ControlService;
use tokio::net::UnixStream;

use crate::access::ControlAccess;
use crate::caller::Caller;
use crate::main_link::Calls;
use crate::server;
use crate::state::Controller;

/// Answers until main is gone.
pub(crate) async fn serve(controller: &Controller, mut calls: Calls) {
    let metrics = ControlAccess::for_metrics();
    while let Some((call, socket)) = calls.recv().await {
        let access = match call.service {
            ControlService::Metrics => Some(metrics.clone()),
            ControlService::Dashboard => controller.listener_access().current(),
        };
        // The configuration may have changed since the router has passed it on.
        let Some(access) = access else { continue };
        let caller = call.client.map_or(Caller::Socket { uid: None }, Caller::Port);
        match stream(socket) {
            Ok(stream) => {
                tokio::spawn(server::connection(stream, caller, controller.clone(), access));
            }
            Err(error) => tracing::error!("use the socket of a request that a router has passed on: {error}"),
        }
    }
    std::future::pending::<()>().await;
}

fn stream(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
