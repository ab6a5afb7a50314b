//! Requests of clients that a router passes on, each on a socket of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix;

use corral_config::control_service::ControlService;
use corral_ipc::message::ControlCall;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::access::ControlAccess;
use crate::server;
use crate::state::Controller;

/// The calls in the order in which they came, each with its socket.
pub(crate) type Calls = mpsc::UnboundedReceiver<(ControlCall, OwnedFd)>;

/// Answers until main is gone.
pub(crate) async fn serve(controller: &Controller, mut calls: Calls) {
    while let Some((call, socket)) = calls.recv().await {
        // Its clients have to sign in, which nothing asks them for yet.
        if call.service == ControlService::Dashboard {
            continue;
        }
        match stream(socket) {
            Ok(stream) => {
                let access = ControlAccess::of_service(call.service);
                tokio::spawn(server::connection(stream, None, controller.clone(), access));
            }
            Err(error) => tracing::error!("use the socket of a request that a router has passed on: {error}"),
        }
    }
    std::future::pending().await
}

fn stream(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
