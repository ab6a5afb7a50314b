//! Where a request has come from and where it has gone: its target, the ends of its connection, and the names of what
//! it came through.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::LazyLock;

use corral_config::address::ListenAddress;
use corral_config::route::Facts;
use corral_config::template::Variable;
use corral_sys::machine;

use super::RequestVariables;
use crate::request::head::ReceivedRequest;
use crate::request::ip_text;

impl RequestVariables<'_> {
    /// Something about the target and the size of the request.
    pub(super) fn append_target(&self, variable: &Variable, out: &mut Vec<u8>) {
        let ReceivedRequest { head, bytes, .. } = self.request;
        let written = match variable {
            Variable::Scheme if self.client.tls => out.write_all(b"https"),
            Variable::Scheme => out.write_all(b"http"),
            Variable::Args => out.write_all(self.query),
            Variable::IsArgs if !self.query.is_empty() => out.write_all(b"?"),
            Variable::ReceivedArgs => out.write_all(head.query(bytes).unwrap_or_default()),
            Variable::RequestLength => {
                let n_body = head.content_length().unwrap_or_default();
                write!(out, "{}", n_body.saturating_add(head.len() as u64))
            }
            _ => Ok(()),
        };
        written.expect("writing to memory cannot fail");
    }

    /// Something about where the request has come from, and where it has gone.
    pub(super) fn append_place(&self, variable: &Variable, out: &mut Vec<u8>) {
        let written = match variable {
            Variable::ServerName if Facts::host(self).is_empty() => out.write_all(b"localhost"),
            Variable::ServerName => out.write_all(Facts::host(self)),
            Variable::ServerAddr => {
                ip_text::append(self.local_address().map(|address| address.ip()), out);
                Ok(())
            }
            Variable::ServerPort => write!(out, "{}", self.server_port()),
            Variable::RemotePort => match self.client.address {
                Some(address) => write!(out, "{}", address.port()),
                None => Ok(()),
            },
            Variable::Hostname => out.write_all(hostname()),
            Variable::Listener => write!(out, "{}", self.listener),
            Variable::Route => out.write_all(self.route_name().unwrap_or_default().as_bytes()),
            Variable::Application => out.write_all(self.application_name().unwrap_or_default().as_bytes()),
            Variable::Connection => match corral_ipc::log::connection() {
                Some(id) => write!(out, "{id}"),
                None => Ok(()),
            },
            Variable::ConnectionRequests => write!(out, "{}", self.link.n_requests()),
            _ => Ok(()),
        };
        written.expect("writing to memory cannot fail");
    }

    /// The address that the client has connected to. The kernel is asked only when the listener does not say.
    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match self.listener {
            ListenAddress::Inet(address) if !address.ip().is_unspecified() => Some(*address),
            _ => Facts::destination(self),
        }
    }

    fn server_port(&self) -> u16 {
        match self.local_address() {
            Some(address) => address.port(),
            None if self.client.tls => 443,
            None => 80,
        }
    }

    fn route_name(&self) -> Option<&str> {
        self.config.routes.get(self.route?)?.name()
    }

    /// The application that was asked last.
    pub(crate) fn application_name(&self) -> Option<&str> {
        self.config.applications.get(self.application?).map(|spec| &*spec.name)
    }
}

/// The name of the machine.
fn hostname() -> &'static [u8] {
    static NAME: LazyLock<Vec<u8>> = LazyLock::new(machine::hostname);
    &NAME
}
