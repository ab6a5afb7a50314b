//! New connections to servers.

use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::upstream::UpstreamHost;
use corral_sys::socket::refuse_descriptors;
use tokio::net::{TcpStream, UnixSocket};

use crate::io::AnySocket;
use crate::upstream::failure::ServerFailure;
use crate::upstream::server::UpstreamServer;
use crate::upstream::server_connection::ServerConnection;
use crate::upstream::tls;
use crate::upstream::tls::session::ClientSession;

/// How long to wait before a Unix socket whose queue is full is tried again.
const QUEUE_PAUSE: Duration = Duration::from_millis(10);

/// Connects; `addresses` are what the server's name stands for, if it has one, and are tried in turn. The caller
/// limits the time.
pub(crate) async fn connect(
    server: &UpstreamServer,
    addresses: &[IpAddr],
) -> Result<ServerConnection, ServerFailure> {
    let socket = match &server.origin.host {
        UpstreamHost::Address(ListenAddress::Inet(address)) => tcp(*address).await,
        UpstreamHost::Address(ListenAddress::Unix(path)) => unix(path.as_os_str()).await,
        UpstreamHost::Address(ListenAddress::Abstract(name)) => {
            let mut path = vec![0];
            path.extend_from_slice(name);
            unix(OsStr::from_bytes(&path)).await
        }
        // No text that names a server means this.
        UpstreamHost::Address(ListenAddress::Udp(_)) => Err(io::ErrorKind::Unsupported.into()),
        UpstreamHost::Named { port, .. } => any(addresses, *port).await?,
    };
    let socket = socket.map_err(ServerFailure::of_connecting)?;
    let Some(target) = &server.tls else { return Ok(ServerConnection::new(socket, None)) };
    let session = ClientSession::connect(&socket, target).await.map_err(ServerFailure::of_handshake)?;
    if server.options.http2 && !session.speaks(tls::HTTP2) {
        return Err(ServerFailure::NotAgreed);
    }
    Ok(ServerConnection::new(socket, Some(Box::new(session))))
}

async fn tcp(address: SocketAddr) -> io::Result<AnySocket> {
    let stream = TcpStream::connect(address).await?;
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

/// The first address that accepts a connection.
async fn any(addresses: &[IpAddr], port: u16) -> Result<io::Result<AnySocket>, ServerFailure> {
    let mut last = Err(ServerFailure::Unresolved);
    for address in addresses {
        let result = tcp(SocketAddr::new(*address, port)).await;
        if result.is_ok() {
            return Ok(result);
        }
        last = Ok(result);
    }
    last
}
