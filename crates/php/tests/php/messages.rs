//! Requests as the router sends them, and what comes back for them.

use corral_channel::message::{self, RequestHead, Version};
use corral_channel::{Flags, FrameKind};

/// A request before it is sent.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    tls: bool,
    app_target: u16,
    local_port: u16,
    version: Version,
}

pub(crate) fn get(target: &str) -> Request {
    Request {
        method: "GET".into(),
        target: target.into(),
        fields: vec![("Host".into(), "example.com:8080".into())],
        body: vec![],
        tls: false,
        app_target: 0,
        local_port: 8080,
        version: Version::Http11,
    }
}

pub(crate) fn post(target: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Request {
    let request = Request { method: "POST".into(), body: body.into(), ..get(target) };
    let length = request.body.len().to_string();
    request.field("Content-Type", content_type).field("Content-Length", &length)
}

impl Request {
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without_fields(mut self) -> Self {
        self.fields.clear();
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    pub(crate) fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    pub(crate) fn to(mut self, target: u16) -> Self {
        self.app_target = target;
        self
    }

    pub(crate) fn port(mut self, port: u16) -> Self {
        self.local_port = port;
        self
    }

    pub(crate) fn http_10(mut self) -> Self {
        self.version = Version::Http10;
        self
    }

    /// The head, with the body behind it when it is short enough.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let host = self.fields.iter().find(|(name, _)| name == "Host");
        let host = host.map_or("", |(_, host)| host.split(':').next().unwrap());
        let inline = self.is_inline();
        let head = RequestHead {
            method: self.method.as_bytes(),
            target: self.target.as_bytes(),
            path: path.as_bytes(),
            query: query.as_bytes(),
            host: host.as_bytes(),
            remote_addr: b"192.0.2.7",
            local_addr: b"192.0.2.1",
            local_port: self.local_port,
            version: self.version,
            tls: self.tls,
            app_target: self.app_target,
            content_length: (!self.body.is_empty()).then_some(self.body.len() as u64),
            body_complete: inline,
            ..RequestHead::default()
        };
        let mut payload = vec![];
        let fields = self.fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        message::encode_request(&mut payload, &head, fields);
        if inline {
            payload.extend_from_slice(&self.body);
        }
        payload
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.body.len() <= corral_channel::MAX_INLINE_BODY
    }
}

/// The response to one request.
#[derive(Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The frames that carried it, kind and flags, without those for the request's body.
    pub(crate) frames: Vec<(FrameKind, Flags)>,
}

impl Response {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_last(&self) -> bool {
        self.frames.last().is_some_and(|(_, flags)| flags.contains(Flags::LAST))
    }
}
