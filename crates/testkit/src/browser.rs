//! A visitor of a site: keeps cookies, follows redirections, sends forms.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;

use crate::client::Client;
use crate::request::Request;
use crate::response::Response;

/// One visitor.
#[derive(Debug)]
pub struct Browser {
    address: SocketAddr,
    cookies: BTreeMap<String, String>,
}

/// A part of a form with files.
#[derive(Debug)]
pub enum Part<'a> {
    /// A text field: name, value.
    Text(&'a str, &'a str),
    /// A file.
    File {
        /// The field's name.
        name: &'a str,
        /// The file's name.
        file_name: &'a str,
        /// The file's media type.
        media_type: &'a str,
        /// The file's bytes.
        content: &'a [u8],
    },
}

impl Browser {
    /// Without cookies.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, cookies: BTreeMap::new() }
    }

    /// Opens a page, following redirections.
    #[track_caller]
    pub fn open(&mut self, target: &str) -> Response {
        let response = self.send(Request::get(target));
        self.follow(response)
    }

    /// Sends a form, following redirections.
    #[track_caller]
    pub fn submit(&mut self, target: &str, fields: &[(&str, &str)]) -> Response {
        let request = Request::post(target)
            .field("Content-Type", "application/x-www-form-urlencoded")
            .body(encode_form(fields));
        let response = self.send(request);
        self.follow(response)
    }

    /// Sends a form with files, following redirections.
    #[track_caller]
    pub fn upload(&mut self, target: &str, parts: &[Part<'_>]) -> Response {
        let boundary = "corral-testkit-boundary";
        let request = Request::post(target)
            .field("Content-Type", &format!("multipart/form-data; boundary={boundary}"))
            .body(encode_parts(parts, boundary));
        let response = self.send(request);
        self.follow(response)
    }

    /// Sends one request with the cookies, and keeps those of the response.
    #[track_caller]
    pub fn send(&mut self, mut request: Request) -> Response {
        if !self.cookies.is_empty() {
            let cookies: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.field("Cookie", &cookies.join("; "));
        }
        let request = request.field("Host", &self.address.to_string());
        let response = Client::connect(self.address).send(&request);
        self.keep_cookies(&response);
        response
    }

    /// The value of a cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.get(name).map(String::as_str)
    }

    #[track_caller]
    fn follow(&mut self, mut response: Response) -> Response {
        for _ in 0..10 {
            let location = response.field("Location").filter(|_| (300..400).contains(&response.status));
            let Some(location) = location.map(|location| self.local(location)) else { return response };
            response = self.send(Request::get(&location));
        }
        panic!("redirected in a circle\n{response}");
    }

    /// The target of a location on this server.
    #[track_caller]
    fn local(&self, location: &str) -> String {
        let own = format!("http://{}", self.address);
        let target = location.strip_prefix(&own).unwrap_or(location);
        assert!(target.starts_with('/'), "redirected to another server or a relative path: {location}");
        target.to_owned()
    }

    fn keep_cookies(&mut self, response: &Response) {
        for cookie in response.all("Set-Cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
    }
}

impl Response {
    /// The text of the body between two others.
    #[must_use]
    #[track_caller]
    pub fn between(&self, before: &str, after: &str) -> String {
        let text = self.text();
        let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
        found.unwrap_or_else(|| panic!("nothing between {before:?} and {after:?}\n{self}")).0.to_owned()
    }
}

fn encode_form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            write!(out, "%{byte:02X}").expect("a string takes everything");
        }
        out
    })
}

fn encode_parts(parts: &[Part<'_>], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        let (head, content) = match part {
            Part::Text(name, value) => {
                (format!("Content-Disposition: form-data; name=\"{name}\""), value.as_bytes())
            }
            Part::File { name, file_name, media_type, content } => {
                let disposition = format!("form-data; name=\"{name}\"; filename=\"{file_name}\"");
                (format!("Content-Disposition: {disposition}\r\nContent-Type: {media_type}"), *content)
            }
        };
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}
