//! Requests of clients that a router passes on, each on a socket of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix;
use std::sync::Arc;

use corral_config::control_service::ControlService;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use crate::access::ControlAccess;
use crate::caller::Caller;
use crate::main_link::{Calls, MOST_CALLS};
use crate::server;
use crate::state::Controller;

/// Answers until main is gone.
pub(crate) async fn serve(controller: &Controller, mut calls: Calls) {
    let metrics = ControlAccess::for_metrics();
    let places = Arc::new(Semaphore::new(MOST_CALLS));
    while let Some((call, socket)) = calls.recv().await {
        // The sockets of others are closed at once, and the router answers 503.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let access = match call.service {
            ControlService::Metrics => Some(metrics.clone()),
            ControlService::Dashboard => controller.listener_access().current(),
        };
        // The configuration may have changed since the router has passed it on.
        let Some(access) = access else { continue };
        let caller = call.client.map_or(Caller::Socket { uid: None }, Caller::Port);
        match stream(socket) {
            Ok(stream) => {
                let answering = server::connection(stream, caller, controller.clone(), access);
                tokio::spawn(async move {
                    answering.await;
                    drop(place);
                });
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
