//! Connections with more said about them than where they lead.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

/// How much goes through a connection at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// As the system has it.
    Usual,
    /// As of a client at the far end of a bad line: small packets, and little room for what is not read. On the
    /// loopback device megabytes fit between server and client otherwise.
    Narrow,
}

/// Connects from one of this machine's addresses.
///
/// # Errors
/// Errors of the system.
pub fn dial(source: IpAddr, address: SocketAddr, width: Width) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if width == Width::Narrow {
        socket.set_recv_buffer_size(4096)?;
        socket.set_tcp_mss(1400)?;
    }
    socket.bind(&SocketAddr::new(source, 0).into())?;
    socket.connect(&address.into())?;
    Ok(socket.into())
}
