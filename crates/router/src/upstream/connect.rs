//! New connections to servers.

use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::upstream::{ProxyProtocol, UpstreamHost};
use corral_http::proxy_protocol::{self, ProxiedConnection, ProxyVersion};
use corral_sys::socket::{choose_port_late, refuse_descriptors};
use smallvec::SmallVec;
use tokio::net::{TcpSocket, TcpStream, UnixSocket};

use crate::io::{AnySocket, SocketInterest};
use crate::upstream::failure::ServerFailure;
use crate::upstream::server::UpstreamServer;
use crate::upstream::server_connection::ServerConnection;
use crate::upstream::tls;
use crate::upstream::tls::session::ClientSession;

/// How long to wait before a Unix socket whose queue is full is tried again.
const QUEUE_PAUSE: Duration = Duration::from_millis(10);

/// Connects; `addresses` are what the server's name stands for, if it has one, and are tried in turn. `client` is the
/// one that the connection is for, if the server is to learn that. The caller limits the time.
pub(crate) async fn connect(
    server: &UpstreamServer,
    addresses: &[IpAddr],
    client: Option<&ProxiedConnection>,
) -> Result<ServerConnection, ServerFailure> {
    let bind = server.options.bind;
    let socket = match &server.origin.host {
        UpstreamHost::Address(ListenAddress::Inet(address)) => tcp(*address, bind).await,
        UpstreamHost::Address(ListenAddress::Unix(path)) => unix(path.as_os_str()).await,
        UpstreamHost::Address(ListenAddress::Abstract(name)) => {
            let mut path = vec![0];
            path.extend_from_slice(name);
            unix(OsStr::from_bytes(&path)).await
        }
        // No text that names a server means this.
        UpstreamHost::Address(ListenAddress::Udp(_)) => Err(io::ErrorKind::Unsupported.into()),
        UpstreamHost::Named { port, .. } => any(&permitted(server, addresses)?, *port, bind).await?,
    };
    let socket = socket.map_err(ServerFailure::of_connecting)?;
    if let Some(version) = server.options.proxy_protocol {
        introduce(&socket, version, client).await.map_err(ServerFailure::of_connecting)?;
    }
    let Some(target) = &server.tls else { return Ok(ServerConnection::new(socket, None)) };
    let session = ClientSession::connect(&socket, target).await.map_err(ServerFailure::of_handshake)?;
    if server.options.http2 && !session.speaks(tls::HTTP2) {
        return Err(ServerFailure::NotAgreed);
    }
    Ok(ServerConnection::new(socket, Some(Box::new(session))))
}

/// Sends the header of the PROXY protocol.
async fn introduce(
    socket: &AnySocket,
    version: ProxyProtocol,
    client: Option<&ProxiedConnection>,
) -> io::Result<()> {
    let version = match version {
        ProxyProtocol::One => ProxyVersion::One,
        ProxyProtocol::Two => ProxyVersion::Two,
    };
    let mut header = Vec::new();
    proxy_protocol::append(version, client, &mut header);
    let mut rest = &*header;
    while !rest.is_empty() {
        match socket.try_write(&[IoSlice::new(rest)]) {
            Ok(n) => rest = &rest[n..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.wait(SocketInterest { bytes: false, room: true }).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn tcp(address: SocketAddr, bind: Option<IpAddr>) -> io::Result<AnySocket> {
    let stream = match bind {
        None => TcpStream::connect(address).await?,
        Some(bind) => {
            let socket = if bind.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            // Else each connection would take a port of all destinations.
            choose_port_late(&socket);
            socket.bind(SocketAddr::new(bind, 0))?;
            socket.connect(address).await?
        }
    };
    stream.set_nodelay(true)?;
    Ok(AnySocket::Tcp(stream))
}

async fn unix(path: &OsStr) -> io::Result<AnySocket> {
    loop {
        let socket = UnixSocket::new_stream()?;
        refuse_descriptors(&socket);
        match socket.connect(path).await {
            Ok(stream) => return Ok(AnySocket::unix(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(QUEUE_PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// The addresses that the name of a server may stand for: a name server could lead requests anywhere.
fn permitted(server: &UpstreamServer, addresses: &[IpAddr]) -> Result<SmallVec<[IpAddr; 4]>, ServerFailure> {
    let Some(allow) = &server.allow else { return Ok(SmallVec::from_slice(addresses)) };
    let permitted: SmallVec<_> = addresses.iter().copied().filter(|ip| allow.permits_for_name(*ip)).collect();
    if permitted.is_empty() && !addresses.is_empty() { Err(ServerFailure::Forbidden) } else { Ok(permitted) }
}

/// The first address that accepts a connection.
async fn any(
    addresses: &[IpAddr],
    port: u16,
    bind: Option<IpAddr>,
) -> Result<io::Result<AnySocket>, ServerFailure> {
    let mut last = Err(ServerFailure::Unresolved);
    let is_fit = |address: &&IpAddr| bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    for address in addresses.iter().filter(is_fit) {
        let result = tcp(SocketAddr::new(*address, port), bind).await;
        if result.is_ok() {
            return Ok(result);
        }
        last = Ok(result);
    }
    last
}
