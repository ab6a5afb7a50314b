//! Requests of tests, as bytes for the wire.

/// A request in the making.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// Any method.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), fields: Vec::new(), body: Vec::new() }
    }

    /// A GET.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST; give it a body.
    #[must_use]
    pub fn post(target: &str) -> Self {
        Self::new("POST", target)
    }

    /// Adds a field. `Host` and `Content-Length` are added where a test does not give them.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.body
    }

    /// The bytes for the wire.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.encode_head();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The lines in front of the empty one.
    pub(crate) fn encode_head(&self) -> Vec<u8> {
        let has = |name: &str| self.fields.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !has("Host") {
            text += "Host: localhost\r\n";
        }
        for (name, value) in &self.fields {
            text += &format!("{name}: {value}\r\n");
        }
        let needs_length = !self.body.is_empty() || self.method == "POST" || self.method == "PUT";
        if needs_length && !has("Content-Length") && !has("Transfer-Encoding") {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        text.into_bytes()
    }
}
