//! One HTTP response, with the questions that tests ask.

use std::fmt;

/// A response as it was received.
#[derive(Debug, Clone)]
pub struct Response {
    /// From the status line.
    pub status: u16,
    /// From the status line.
    pub reason: String,
    /// In the order of the wire, as spelled there.
    pub fields: Vec<(String, String)>,
    /// Chunks are joined.
    pub body: Vec<u8>,
    /// Behind the body; HTTP/2 alone shows them here.
    pub trailers: Vec<(String, String)>,
    /// Whether the server closed the connection instead of saying how long the body is.
    pub until_close: bool,
}

impl Response {
    /// Parses a head without its empty line; the body comes later.
    ///
    /// # Errors
    /// Parses the head of a response. A text that is not one is returned as it was.
    pub(crate) fn parse_head(head: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(head).into_owned();
        let mut lines = text.split("\r\n");
        let parse = |line: &str| {
            let (version, rest) = line.split_once(' ')?;
            let (status, reason) = rest.split_once(' ')?;
            version.starts_with("HTTP/1.").then_some((status.parse().ok()?, reason.to_owned()))
        };
        let (status, reason) = lines.next().and_then(parse).ok_or_else(|| text.clone())?;
        let fields: Option<Vec<_>> = lines
            .map(|line| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned())))
            .collect();
        let fields = fields.ok_or_else(|| text.clone())?;
        Ok(Self { status, reason, fields, body: Vec::new(), trailers: Vec::new(), until_close: false })
    }

    /// The first field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All fields of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("body is not JSON: {error}\n{self}"))
    }

    /// Fails unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "\n{self}");
        self
    }

    /// Fails unless the body is this.
    #[track_caller]
    pub fn expect_body(self, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        assert!(self.body == body, "body is not {:?}\n{self}", String::from_utf8_lossy(body));
        self
    }

    /// Fails unless the body holds this text.
    #[track_caller]
    pub fn expect_text(self, text: &str) -> Self {
        assert!(self.text().contains(text), "{text:?} is not in the body\n{self}");
        self
    }

    /// Fails unless the field is there with this value.
    #[track_caller]
    pub fn expect_field(self, name: &str, value: &str) -> Self {
        assert_eq!(self.field(name), Some(value), "field {name}\n{self}");
        self
    }

    /// Fails if there is such a field.
    #[track_caller]
    pub fn expect_no_field(self, name: &str) -> Self {
        assert_eq!(self.field(name), None, "field {name}\n{self}");
        self
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "HTTP/1.1 {} {}", self.status, self.reason)?;
        for (name, value) in &self.fields {
            writeln!(f, "{name}: {value}")?;
        }
        let text = self.text();
        let shown: String = text.chars().take(4000).collect();
        writeln!(f, "\n{shown}{}", if shown.len() < text.len() { "…" } else { "" })
    }
}
