//! The values of template variables for one request (UNIT-COMPAT 14.1).

use std::cell::OnceCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;

use corral_config::percent;
use corral_config::template::{Variable, Variables};
use corral_http::request::Name;

use crate::clock;
use crate::reply::Reply;
use crate::transaction::{Client, Request};

/// Values that are worked out once for a request.
#[derive(Default)]
pub(crate) struct Memo {
    id: OnceCell<String>,
}

/// A request's variables; those of the reply are empty until it is known.
#[derive(Clone, Copy)]
pub(crate) struct RequestVariables<'t> {
    pub(crate) request: Request<'t>,
    pub(crate) client: Client,
    /// The path as it is after rewrites.
    pub(crate) path: &'t [u8],
    pub(crate) reply: &'t Reply,
    pub(crate) memo: &'t Memo,
}

impl RequestVariables<'_> {
    /// A number that nobody can foresee.
    pub(crate) fn random(&self) -> u64 {
        RandomState::new().hash_one(self.request.started)
    }

    fn id(&self) -> &str {
        self.memo.id.get_or_init(|| {
            // Two differently keyed hashes: unpredictable enough to tell requests apart, which is all it is for.
            format!("{:016x}{:016x}", self.random(), self.random())
        })
    }

    fn append_field(&self, wanted: &[u8], out: &mut Vec<u8>) {
        let Request { head, bytes, .. } = self.request;
        let value = head.fields(bytes).find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        out.extend_from_slice(value.map_or(&b""[..], |(_, value)| value));
    }

    fn append_argument(&self, wanted: &[u8], out: &mut Vec<u8>) {
        let Request { head, bytes, .. } = self.request;
        let query = head.query(bytes).unwrap_or_default();
        let mut found = None;
        for parameter in query.split(|&byte| byte == b'&') {
            let (name, value) = split_at_first(parameter, b'=');
            if decode_form(name) == wanted {
                found = Some(value);
            }
        }
        out.extend_from_slice(&decode_form(found.unwrap_or_default()));
    }

    fn append_cookie(&self, wanted: &[u8], out: &mut Vec<u8>) {
        let Request { head, bytes, .. } = self.request;
        let pairs = head.values(bytes, Name::Cookie).flat_map(|value| value.split(|&byte| byte == b';'));
        for pair in pairs {
            let (name, value) = split_at_first(pair, b'=');
            if name.trim_ascii_start() == wanted {
                return out.extend_from_slice(value.trim_ascii_end());
            }
        }
    }

    fn append_peer(&self, out: &mut Vec<u8>) {
        match self.client.address {
            Some(peer) => write!(out, "{}", peer.ip()).expect("writing to memory cannot fail"),
            None => out.extend_from_slice(b"unix:"),
        }
    }

    fn append_reply(&self, variable: &Variable, out: &mut Vec<u8>) {
        let written = match variable {
            Variable::Status if self.reply.status == 0 => Ok(()),
            Variable::Status => write!(out, "{:03}", self.reply.status),
            Variable::BodyBytesSent => write!(out, "{}", self.reply.n_body_bytes),
            Variable::RequestTime => {
                let elapsed = self.request.started.elapsed();
                write!(out, "{}.{:03}", elapsed.as_secs(), elapsed.subsec_millis())
            }
            _ => Ok(()),
        };
        written.expect("writing to memory cannot fail");
    }
}

impl Variables for RequestVariables<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let Request { head, bytes, .. } = self.request;
        match variable {
            Variable::Method => out.extend_from_slice(head.method(bytes)),
            Variable::RequestLine => out.extend_from_slice(head.request_line(bytes)),
            Variable::RequestUri => out.extend_from_slice(head.target(bytes)),
            Variable::Uri => out.extend_from_slice(self.path),
            Variable::Host => out.extend_from_slice(head.host(bytes)),
            Variable::RemoteAddr => self.append_peer(out),
            Variable::TimeLocal => clock::append_local_time(out),
            Variable::RequestId => out.extend_from_slice(self.id().as_bytes()),
            Variable::Header(name) => self.append_field(name, out),
            Variable::Argument(name) => self.append_argument(name, out),
            Variable::Cookie(name) => self.append_cookie(name, out),
            Variable::ResponseHeader(name) => {
                out.extend_from_slice(self.reply.fields.get(name).unwrap_or_default());
            }
            Variable::Status | Variable::BodyBytesSent | Variable::RequestTime => {
                self.append_reply(variable, out);
            }
        }
    }
}

/// Decodes a name or value of a query; what is malformed stays as it is.
fn decode_form(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent::decode(&spaced).map_or_else(|| text.to_vec(), std::borrow::Cow::into_owned)
}

fn split_at_first(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(separator, text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}
