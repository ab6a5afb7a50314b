//! A request for tests of conditions.

use std::net::SocketAddr;

use super::{Facts, Scheme};
use crate::query::{self, Arguments};
use crate::template::{Variable, Variables};

/// The facts that a test gives about a request; the rest is empty.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sample {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) tls: bool,
    pub(crate) source: Option<SocketAddr>,
    pub(crate) destination: Option<SocketAddr>,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) cookies: Vec<(String, String)>,
    pub(crate) query: Vec<u8>,
    pub(crate) arguments: Arguments,
}

impl Sample {
    /// A GET request to this host for this path.
    pub(crate) fn get(host: &str, path: &str) -> Self {
        Self { method: "GET".to_owned(), host: host.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    pub(crate) fn with_query(mut self, text: &str) -> Self {
        self.query = query::decode(text.as_bytes()).into_owned();
        self.arguments = Arguments::parse(text.as_bytes());
        self
    }

    /// Adds fields, written `name: value`.
    pub(crate) fn with_fields(mut self, fields: &[&str]) -> Self {
        self.fields.extend(fields.iter().map(|field| split(field, ": ")));
        self
    }

    /// Adds cookies, written `name=value`.
    pub(crate) fn with_cookies(mut self, cookies: &[&str]) -> Self {
        self.cookies.extend(cookies.iter().map(|cookie| split(cookie, "=")));
        self
    }
}

fn split(text: &str, separator: &str) -> (String, String) {
    let (name, value) = text.split_once(separator).expect("a name and a value");
    (name.to_owned(), value.to_owned())
}

fn bytes(pairs: &[(String, String)]) -> impl Iterator<Item = (&[u8], &[u8])> {
    pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
}

impl Variables for Sample {
    /// Only `$host` and `$uri` have values.
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        match variable {
            Variable::Host => out.extend_from_slice(self.host.as_bytes()),
            Variable::Uri => out.extend_from_slice(self.path.as_bytes()),
            _ => {}
        }
    }
}

impl Facts for Sample {
    fn method(&self) -> &[u8] {
        self.method.as_bytes()
    }

    fn host(&self) -> &[u8] {
        self.host.as_bytes()
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn query(&self) -> &[u8] {
        &self.query
    }

    fn arguments(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.arguments.iter()
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        bytes(&self.fields)
    }

    fn cookies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        bytes(&self.cookies)
    }

    fn scheme(&self) -> Scheme {
        if self.tls { Scheme::Https } else { Scheme::Http }
    }

    fn source(&self) -> Option<SocketAddr> {
        self.source
    }

    fn destination(&self) -> Option<SocketAddr> {
        self.destination
    }
}
