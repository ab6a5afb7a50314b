//! Active health checks: requests of our own, made by the control thread as long as a configuration is in force.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::protocol::Protocol;
use corral_config::upstream::{HealthCheck, UpstreamHost};
use corral_http::upstream::{ResponseHead, parse_response};
use tokio::task::{AbortHandle, JoinSet};

use crate::error_chain::Chain;
use crate::upstream::connect::connect;
use crate::upstream::failure::ServerFailure;
use crate::upstream::gateway;
use crate::upstream::groups::ServerGroups;
use crate::upstream::health::CheckStreak;
use crate::upstream::http2::{self, H2RequestHead, StreamUse};
use crate::upstream::server::UpstreamServer;
use crate::upstream::server_connection::ServerConnection;

/// Longest head of a response to a check.
const MAX_HEAD: usize = 64 * 1024;

/// The checks of one configuration; they end when this is dropped.
#[derive(Default)]
pub(crate) struct HealthChecks {
    _tasks: JoinSet<()>,
}

impl HealthChecks {
    /// Begins to check the servers of all groups that want it.
    pub(crate) fn start(groups: &ServerGroups) -> Self {
        let mut tasks = JoinSet::new();
        for group in &groups.upstreams {
            for server in &group.servers {
                if let Some(check) = server.check.clone() {
                    let title = group.title(Some(server));
                    let _: AbortHandle = tasks.spawn(keep_checking(title, Arc::clone(server), check));
                }
            }
        }
        Self { _tasks: tasks }
    }
}

async fn keep_checking(title: String, server: Arc<UpstreamServer>, check: HealthCheck) {
    let mut streak = CheckStreak::new(server.health.is_up());
    let mut addresses = server.name.as_ref().map(|name| name.addresses());
    loop {
        let found = match &mut addresses {
            Some(addresses) => addresses.current().to_vec(),
            None => Vec::new(),
        };
        let result = tokio::time::timeout(check.timeout, run(&server, &check, &found)).await;
        let result = result.unwrap_or(Err(CheckError::TimedOut(check.timeout)));
        if matches!(&result, Err(CheckError::Failed(failure)) if !failure.is_theirs()) {
            tokio::time::sleep(check.interval).await;
            continue;
        }
        let up = streak.note(result.is_ok(), check.rises, check.falls);
        if server.health.set_up(up) {
            match result {
                Err(error) => tracing::error!("{title}: down: {}", Chain(&error)),
                Ok(()) => tracing::info!("{title}: up"),
            }
        }
        tokio::time::sleep(check.interval).await;
    }
}

/// Why a server is not well.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error(transparent)]
    Failed(#[from] ServerFailure),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("it answers with status {0}")]
    Status(u16),
    #[error(transparent)]
    NotRepresentable(#[from] gateway::NotRepresentable),
}

async fn run(server: &UpstreamServer, check: &HealthCheck, addresses: &[IpAddr]) -> Result<(), CheckError> {
    let mut connection = connect(server, addresses, None).await?;
    if server.options.is_raw {
        return Ok(());
    }
    if server.options.http2 {
        return run_http2(server, check, connection).await;
    }
    if let Some(protocol) = server.options.gateway {
        return run_gateway(server, check, connection, protocol).await;
    }
    connection.send(request(server, check).as_bytes()).await.map_err(ServerFailure::Send)?;
    let (mut head, mut input) = (ResponseHead::default(), Vec::new());
    while input.len() < MAX_HEAD {
        if connection.read(&mut input).await.map_err(ServerFailure::Receive)? == 0 {
            return Err(ServerFailure::Closed.into());
        }
        if parse_response(&mut head, &input).map_err(ServerFailure::from)? {
            return judge(check, head.status());
        }
    }
    Err(ServerFailure::TooLarge(MAX_HEAD).into())
}

async fn run_gateway(
    server: &UpstreamServer,
    check: &HealthCheck,
    mut connection: ServerConnection,
    protocol: Protocol,
) -> Result<(), CheckError> {
    let request = gateway::get(protocol, &check.path, &host(server, check))?;
    connection.send(&request).await.map_err(ServerFailure::Send)?;
    let (mut answer, mut input) = (gateway::CheckResponse::new(protocol), Vec::new());
    let mut n_received = 0;
    while n_received < MAX_HEAD {
        input.clear();
        n_received += match connection.read(&mut input).await.map_err(ServerFailure::Receive)? {
            0 => return Err(ServerFailure::Closed.into()),
            n => n,
        };
        if let Some(status) = answer.take(&input)? {
            return judge(check, status);
        }
    }
    Err(ServerFailure::TooLarge(MAX_HEAD).into())
}

async fn run_http2(
    server: &UpstreamServer,
    check: &HealthCheck,
    connection: ServerConnection,
) -> Result<(), CheckError> {
    let fields = format!("Host: {}\r\nUser-Agent: {PRODUCT}\r\n", host(server, check));
    let request = H2RequestHead {
        method: b"GET",
        target: check.path.as_bytes(),
        fields: fields.as_bytes(),
        kind: StreamUse::Exchange,
    };
    let answer = http2::ask(connection, &request).await?;
    let mut head = ResponseHead::default();
    parse_response(&mut head, &answer).map_err(ServerFailure::from)?;
    judge(check, head.status())
}

fn judge(check: &HealthCheck, status: u16) -> Result<(), CheckError> {
    let is_well = check.expect.iter().any(|range| range.contains(&status));
    if is_well { Ok(()) } else { Err(CheckError::Status(status)) }
}

const PRODUCT: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"));

fn request(server: &UpstreamServer, check: &HealthCheck) -> String {
    let (path, host) = (&check.path, host(server, check));
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {PRODUCT}\r\nConnection: close\r\n\r\n")
}

fn host(server: &UpstreamServer, check: &HealthCheck) -> String {
    check.host.clone().unwrap_or_else(|| match &server.origin.host {
        UpstreamHost::Address(ListenAddress::Unix(_) | ListenAddress::Abstract(_)) => "localhost".to_owned(),
        host => host.to_string(),
    })
}
