//! Heads of HTTP/1 as HTTP/2 has them, and the other way round.

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use crate::response::Response;

/// A request as a stream begins with it.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) request: http::Request<()>,
    pub(super) framing: Framing,
    /// Whether the client wants nothing more of the connection.
    pub(super) closes: bool,
}

/// How the body of a request is framed in HTTP/1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
    /// A WebSocket: everything up to the end.
    Tunnel,
}

/// Fields that speak of a connection of HTTP/1.
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Reads a head up to its empty line, or says what of it HTTP/2 has no words for.
pub(super) fn parse(head: &[u8], scheme: Scheme) -> Result<Head, String> {
    let head = head.strip_suffix(b"\r\n").unwrap_or(head);
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let line = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("request line {line:?}"));
    };
    let mut fields = lines.map(field).collect::<Result<HeaderMap, String>>()?;
    let framing = framing(&fields)?;
    let closes =
        fields.get("connection").is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    let mut request = http::Request::new(());
    *request.method_mut() = method.parse().map_err(|_| format!("method {method:?}"))?;
    *request.uri_mut() = uri(target, fields.remove("host").as_ref(), request.method(), scheme)?;
    if framing == Framing::Tunnel {
        *request.method_mut() = Method::CONNECT;
        request.extensions_mut().insert(h2::ext::Protocol::from_static("websocket"));
        fields.remove("sec-websocket-key");
    }
    // `trailers` is the only word that is left of it.
    if let Some(te) = fields.remove("te")
        && te.to_str().is_ok_and(|te| te.contains("trailers"))
    {
        fields.insert("te", HeaderValue::from_static("trailers"));
    }
    OF_CONNECTIONS.iter().for_each(|name| drop(fields.remove(*name)));
    *request.headers_mut() = fields;
    Ok(Head { request, framing, closes })
}

fn field(line: &[u8]) -> Result<(HeaderName, HeaderValue), String> {
    let bad = || format!("field {:?}", String::from_utf8_lossy(line));
    let colon = line.iter().position(|byte| *byte == b':').ok_or_else(bad)?;
    let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| bad())?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).map_err(|_| bad())?;
    Ok((name, value))
}

fn framing(fields: &HeaderMap) -> Result<Framing, String> {
    let text = |name: &str| fields.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    match (text("upgrade"), text("transfer-encoding"), text("content-length")) {
        (Some(protocol), ..) if protocol == "websocket" => Ok(Framing::Tunnel),
        (Some(protocol), ..) => Err(format!("an upgrade to {protocol:?}")),
        (_, Some(coding), None) if coding == "chunked" => Ok(Framing::Chunked),
        (_, Some(coding), _) => Err(format!("the coding {coding:?}")),
        (_, _, Some(length)) => {
            length.parse().map(Framing::Length).map_err(|_| format!("the length {length:?}"))
        }
        _ => Ok(Framing::None),
    }
}

fn uri(target: &str, host: Option<&HeaderValue>, method: &Method, scheme: Scheme) -> Result<Uri, String> {
    let bad = || format!("target {target:?} and host {host:?}");
    if *method == Method::CONNECT || target.starts_with("http") {
        return target.parse().map_err(|_| bad());
    }
    let host = host.ok_or_else(bad)?;
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme);
    parts.authority = Some(Authority::try_from(host.as_bytes()).map_err(|_| bad())?);
    parts.path_and_query = Some(PathAndQuery::try_from(target).map_err(|_| bad())?);
    Uri::from_parts(parts).map_err(|_| bad())
}

/// A head as tests ask of it; the body comes later.
pub(super) fn response(status: StatusCode, fields: &HeaderMap) -> Response {
    let reason = status.canonical_reason().unwrap_or_default().to_owned();
    let fields = lines(fields).collect();
    Response {
        status: status.as_u16(),
        reason,
        fields,
        body: Vec::new(),
        trailers: Vec::new(),
        until_close: false,
    }
}

/// Fields as text.
pub(super) fn lines(fields: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    fields.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    })
}
