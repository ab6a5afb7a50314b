//! The streams of a bridge, one after the other.

use std::fmt::Write;
use std::io;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::Method;
use http::uri::Scheme;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::timeout;

use super::near::{Near, Reader};
use crate::http2::body;
use crate::http2::connection::Link;
use crate::http2::head::{self, Framing, Head};
use crate::http2::stream::{Next, next};
use crate::response::Response;
use crate::wait::PATIENCE;

/// The accept field for the key of RFC 6455 section 1.3, which is the only one that tests use.
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// The reason why a bridge ends before its time.
#[derive(Debug)]
struct Over;

impl From<h2::Error> for Over {
    fn from(_: h2::Error) -> Self {
        Self
    }
}

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// Speaks HTTP/2 from the head of the first request on, until one side has had enough.
pub(super) async fn run(mut near: Near, first: Vec<u8>, link: Link, scheme: Scheme) {
    let Ok((requests, connection)) = h2::client::handshake(link).await else { return };
    let mut connection = tokio::spawn(connection);
    tokio::select! {
        // What has come with the end of the connection is passed on before that.
        biased;
        _ = requests_of(&mut near, first, requests, scheme) => {}
        _ = &mut connection => return,
    }
    drop(near);
    // What has been said last is still to leave.
    let _ = timeout(PATIENCE, connection).await;
}

async fn requests_of(
    near: &mut Near,
    mut bytes: Vec<u8>,
    mut requests: SendRequest<Bytes>,
    scheme: Scheme,
) -> Result<(), Over> {
    loop {
        let head = match head::parse(&bytes, scheme.clone()) {
            Ok(head) => head,
            Err(what) => {
                let response = format!("HTTP/1.1 599 No Words\r\nConnection: close\r\n\r\n{what}\n");
                return Ok(near.write(response.as_bytes()).await?);
            }
        };
        let closes = head.closes || head.framing == Framing::Tunnel;
        requests = requests.ready().await?;
        exchange(near, head, &mut requests).await?;
        if closes {
            return Ok(());
        }
        bytes = near.next_head().await?;
    }
}

/// One request and its response.
async fn exchange(near: &mut Near, head: Head, requests: &mut SendRequest<Bytes>) -> Result<(), Over> {
    let Head { request, mut framing, .. } = head;
    if framing == Framing::Tunnel {
        while !requests.is_extended_connect_protocol_enabled() {
            tokio::task::yield_now().await;
        }
    }
    let is_head = request.method() == Method::HEAD;
    let ends = matches!(framing, Framing::None | Framing::Length(0));
    let (response, mut sending) = requests.send_request(request, ends)?;
    let is_tunnel = framing == Framing::Tunnel;
    let download = download(response, &mut near.writer, is_head, is_tunnel);
    tokio::select! {
        downloaded = download => downloaded?,
        gone = upload(&mut near.reader, &mut framing, &mut sending, ends) => {
            sending.send_reset(Reason::CANCEL);
            return gone;
        }
    }
    // A response may have come before the whole request was sent.
    while !is_tunnel && near.reader.piece(&mut framing).await?.is_some() {}
    Ok(())
}

/// Sends the body as it comes. Returns when the test is gone.
async fn upload(
    reader: &mut Reader,
    framing: &mut Framing,
    sending: &mut SendStream<Bytes>,
    has_ended: bool,
) -> Result<(), Over> {
    while let Some(piece) = reader.piece(framing).await? {
        // The server may have heard enough; then its response is on the way.
        let _ = body::send(sending, piece).await;
    }
    *framing = Framing::None;
    if !has_ended {
        let _ = sending.send_data(Bytes::new(), true);
    }
    reader.gone().await;
    Err(Over)
}

async fn download(
    mut response: ResponseFuture,
    writer: &mut OwnedWriteHalf,
    is_head: bool,
    is_tunnel: bool,
) -> Result<(), Over> {
    let (response, mut receiving) = loop {
        match next(&mut response).await? {
            Next::Interim(interim) => writer.write_all(encode(&interim, "").as_bytes()).await?,
            Next::Final(response, receiving) => break (response, receiving),
        }
    };
    let (head, is_chunked) = match framing(&response, is_head, is_tunnel) {
        Shape::Tunnel => (encode(&switched(response), ""), false),
        Shape::Plain => (encode(&response, ""), false),
        Shape::Chunked => (encode(&response, "Transfer-Encoding: chunked\r\n"), true),
    };
    writer.write_all(head.as_bytes()).await?;
    while let Some(piece) = body::receive(&mut receiving).await? {
        if is_chunked && !piece.is_empty() {
            writer.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
            writer.write_all(&piece).await?;
            writer.write_all(b"\r\n").await?;
        } else {
            writer.write_all(&piece).await?;
        }
    }
    let trailers = body::trailers(&mut receiving).await?;
    if is_chunked {
        let lines = head::lines(&trailers).fold(String::new(), line);
        writer.write_all(format!("0\r\n{lines}\r\n").as_bytes()).await?;
    }
    Ok(())
}

/// How the body of a response is framed for the test.
enum Shape {
    Plain,
    Chunked,
    Tunnel,
}

fn framing(response: &Response, is_head: bool, is_tunnel: bool) -> Shape {
    let has_no_body = is_head || matches!(response.status, 204 | 304);
    match response.field("content-length") {
        _ if is_tunnel && response.status == 200 => Shape::Tunnel,
        None if !has_no_body => Shape::Chunked,
        _ => Shape::Plain,
    }
}

/// The response of HTTP/1 in place of 200.
fn switched(mut response: Response) -> Response {
    (response.status, response.reason) = (101, "Switching Protocols".to_owned());
    let fields = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", ACCEPT)];
    response.fields.extend(fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
    response
}

fn encode(response: &Response, more: &str) -> String {
    let start = format!("HTTP/1.1 {} {}\r\n", response.status, response.reason);
    let head = response.fields.iter().cloned().fold(start, line);
    format!("{head}{more}\r\n")
}

/// A field as servers of HTTP/1 write it.
fn line(mut text: String, (name, value): (String, String)) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    let _ = write!(text, "{}: {value}\r\n", words.collect::<Vec<_>>().join("-"));
    text
}
