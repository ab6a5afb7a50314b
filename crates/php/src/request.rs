//! A request in the form that the shim takes.

use std::ffi::{c_char, c_void};
use std::ptr;

use corral_channel::message::{self, RequestView};
use corral_embed::{Field, Slice};
use corral_worker::cgi::{protocol, server_name, server_port};

use crate::ffi::Request;
use crate::site::Chosen;

/// Buffers that requests use one after the other.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Strings, each with a NUL behind it.
    text: Vec<u8>,
    fields: Vec<Field>,
    params: Vec<Field>,
}

/// Where a string begins in [`Scratch::text`].
#[derive(Clone, Copy)]
struct Position(usize);

impl Scratch {
    /// Describes a request to the shim. The result leads into `self`, `view` and `chosen`, so it is
    /// valid while all of them stay as they are.
    pub(crate) fn describe(
        &mut self,
        view: &RequestView<'_>,
        chosen: &Chosen<'_>,
        call: *mut c_void,
    ) -> Request {
        self.text.clear();
        self.fields.clear();
        self.params.clear();
        self.params.extend(variables(view).map(param));
        let special = self.take_fields(view);
        let method = self.add(&[view.head.method]);
        let request_uri = self.add(&[view.head.target]);
        let path = self.add(&[view.head.path]);
        let query = self.add(&[view.head.query]);
        let php_self = self.add(&[chosen.script_name, chosen.path_info]);
        let translated = match chosen.path_info {
            [] => self.add(&[]),
            info => self.add(&[chosen.root, info]),
        };
        let remote_port = match view.head.remote_port {
            0 => self.add(&[]),
            port => self.add(&[itoa::Buffer::new().format(port).as_bytes()]),
        };
        let port = self.add(&[server_port(&view.head, &mut itoa::Buffer::new()).as_bytes()]);
        let length = view.head.content_length.unwrap_or(0);
        let length_text = self.add(&[itoa::Buffer::new().format(length).as_bytes()]);
        Request {
            call,
            method: self.c_str(method),
            request_uri: self.c_str(request_uri),
            path: self.c_str(path),
            query: self.c_str(query),
            content_type: self.optional(special.content_type),
            cookie: self.optional(special.cookie),
            authorization: self.optional(special.authorization),
            content_length: i64::try_from(length).unwrap_or(i64::MAX),
            script: chosen.script.path.as_ptr(),
            document_root: chosen.document_root.as_ptr(),
            directory: chosen.script.directory.as_ptr(),
            php_self: self.slice(php_self, translated),
            script_name: chosen.script_name.into(),
            path_info: chosen.path_info.into(),
            path_translated: self.slice(translated, remote_port),
            protocol: protocol(&view.head).into(),
            remote_addr: view.head.remote_addr.into(),
            remote_port: self.slice(remote_port, port),
            remote_user: view.head.remote_user.into(),
            auth_type: view.head.auth_type.into(),
            server_addr: view.head.local_addr.into(),
            server_name: server_name(&view.head).into(),
            server_port: self.slice(port, length_text),
            content_length_text: match view.head.content_length {
                Some(_) => self.slice(length_text, Position(self.text.len())),
                None => Slice::EMPTY,
            },
            https: view.head.tls.into(),
            fields: self.fields.as_ptr(),
            n_fields: self.fields.len(),
            params: self.params.as_ptr(),
            n_params: self.params.len(),
            settings: ptr::null(),
            n_settings: 0,
        }
    }

    /// Lists all fields, and copies those that PHP wants as strings of C.
    fn take_fields(&mut self, view: &RequestView<'_>) -> SpecialFields {
        let mut special = SpecialFields::default();
        for (name, value) in view.fields {
            self.fields.push(Field { name: name.into(), value: value.into() });
            if let Some(place) = special.place(name)
                && place.is_none()
            {
                *place = Some(self.add(&[value]));
            }
        }
        if special.cookie.is_some() {
            special.cookie = Some(self.add_cookies(view));
        }
        special
    }

    /// All cookies as one string. They are repeated in HTTP/2 only, but then often.
    fn add_cookies(&mut self, view: &RequestView<'_>) -> Position {
        let start = Position(self.text.len());
        let cookies = view.fields.filter(|(name, _)| name.eq_ignore_ascii_case(b"cookie"));
        for (n, (_, value)) in cookies.enumerate() {
            self.text.extend_from_slice(if n == 0 { b"" } else { b"; " });
            self.text.extend_from_slice(value);
        }
        self.text.push(0);
        start
    }

    fn add(&mut self, pieces: &[&[u8]]) -> Position {
        let start = Position(self.text.len());
        for piece in pieces {
            self.text.extend_from_slice(piece);
        }
        self.text.push(0);
        start
    }

    /// Only once everything is added: adding may move the buffer.
    fn c_str(&self, at: Position) -> *const c_char {
        self.text[at.0..].as_ptr().cast()
    }

    fn optional(&self, at: Option<Position>) -> *const c_char {
        at.map_or(ptr::null(), |at| self.c_str(at))
    }

    /// The string between its start and that of the next, without its NUL.
    fn slice(&self, at: Position, next: Position) -> Slice {
        self.text[at.0..next.0 - 1].into()
    }
}

/// The variables of the configuration, without what is for this host.
fn variables<'v>(view: &RequestView<'v>) -> impl Iterator<Item = (&'v [u8], Option<&'v [u8]>)> + use<'v> {
    message::params::iter(view.head.params).filter(|(name, _)| *name != message::params::ROOT)
}

/// A variable of the configuration; NULL stands for one that is taken away.
fn param((name, value): (&[u8], Option<&[u8]>)) -> Field {
    Field { name: name.into(), value: value.map_or(Slice::EMPTY, Slice::from) }
}

#[derive(Default)]
struct SpecialFields {
    content_type: Option<Position>,
    cookie: Option<Position>,
    authorization: Option<Position>,
}

impl SpecialFields {
    fn place(&mut self, name: &[u8]) -> Option<&mut Option<Position>> {
        match name.len() {
            6 if name.eq_ignore_ascii_case(b"cookie") => Some(&mut self.cookie),
            12 if name.eq_ignore_ascii_case(b"content-type") => Some(&mut self.content_type),
            13 if name.eq_ignore_ascii_case(b"authorization") => Some(&mut self.authorization),
            _ => None,
        }
    }
}

/// Where a folder is that was asked for without its slash. The Host field is what the client can
/// reach, also behind a port mapping; without it there is the socket's own address.
///
/// No redirect when the client's own path has that slash already, as where a rewrite has taken it away.
pub(crate) fn folder_location(view: &RequestView<'_>) -> Option<Vec<u8>> {
    let host = { view.fields }.find(|(name, value)| name.eq_ignore_ascii_case(b"host") && !value.is_empty());
    let path_len = view.head.target.iter().position(|b| *b == b'?').unwrap_or(view.head.target.len());
    let (path, query) = view.head.target.split_at(path_len);
    if path.ends_with(b"/") {
        return None;
    }
    let mut location = if view.head.tls { b"https://".to_vec() } else { b"http://".to_vec() };
    match host {
        Some((_, value)) => location.extend_from_slice(value),
        None => append_own_address(view, &mut location),
    }
    location.extend_from_slice(path);
    location.push(b'/');
    location.extend_from_slice(query);
    Some(location)
}

fn append_own_address(view: &RequestView<'_>, location: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let port = server_port(&view.head, &mut buffer);
    location.extend_from_slice(server_name(&view.head));
    if port != if view.head.tls { "443" } else { "80" } {
        location.push(b':');
        location.extend_from_slice(port.as_bytes());
    }
}
