//! Requests of clients that a router passes on, each on a socket of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix;
use std::sync::Arc;

use corral_config::control_service::ControlService;
use corral_config::json::Value;
use corral_ipc::message::ControlToken;
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
    let mut dashboard = DashboardAccess::default();
    let places = Arc::new(Semaphore::new(MOST_CALLS));
    while let Some((call, socket)) = calls.recv().await {
        // The sockets of others are closed at once, and the router answers 503.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let access = match call.service {
            ControlService::Metrics => Some(metrics.clone()),
            ControlService::Dashboard => dashboard.of(&controller.in_force().document),
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

/// Access by the listener of `settings.dashboard`. Sessions last until a token changes.
#[derive(Default)]
struct DashboardAccess {
    current: Option<(DashboardTokens, ControlAccess)>,
}

/// The tokens of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DashboardTokens {
    full: ControlToken,
    read: Option<ControlToken>,
}

impl DashboardAccess {
    /// The access that a configuration wants; none if it has no such listener.
    fn of(&mut self, document: &Value) -> Option<ControlAccess> {
        let tokens = DashboardTokens::of(document)?;
        match &self.current {
            Some((known, access)) if *known == tokens => Some(access.clone()),
            _ => {
                let DashboardTokens { full, read } = tokens.clone();
                let access = ControlAccess::new(Some(full), read, true);
                self.current = Some((tokens, access.clone()));
                Some(access)
            }
        }
    }
}

impl DashboardTokens {
    fn of(document: &Value) -> Option<Self> {
        let dashboard = document.member("settings")?.member("dashboard")?;
        let token = |name| {
            let text = dashboard.member(name)?.as_bytes()?.to_str()?;
            Some(ControlToken(text.to_owned()))
        };
        Some(Self { full: token("token")?, read: token("read_token") })
    }
}

#[cfg(test)]
mod tests {
    use corral_config::json;

    use super::*;

    fn tokens(settings: &str) -> Option<DashboardTokens> {
        DashboardTokens::of(&json::parse(format!(r#"{{"settings": {settings}}}"#).as_bytes()).unwrap())
    }

    #[test]
    fn tokens_are_those_of_the_configuration() {
        let token = |text: &str| ControlToken(text.to_owned());
        let both = tokens(r#"{"dashboard": {"token": "a", "read_token": "b"}}"#);
        assert!(both == Some(DashboardTokens { full: token("a"), read: Some(token("b")) }));
        assert!(
            tokens(r#"{"dashboard": {"token": "a"}}"#)
                == Some(DashboardTokens { full: token("a"), read: None })
        );
        assert!(tokens("{}").is_none() && tokens(r#"{"dashboard": {}}"#).is_none());
    }
}
