//! Asks the control API of a running daemon: one request on one connection.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use anyhow::{Context, anyhow, bail};
use corral_config::address::ListenAddress;
use serde_json::Value;

/// What the daemon answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    status: u16,
    body: Vec<u8>,
}

/// Sends a request; `path` starts with a slash and is ready for the request line.
pub(crate) fn ask(
    control: &ListenAddress,
    method: &str,
    path: &str,
    body: Option<&[u8]>,
) -> anyhow::Result<Answer> {
    let mut connection = connect(control).map_err(|error| explain(control, &error))?;
    let mut exchange = || -> io::Result<Vec<u8>> {
        let length = body.map(|body| format!("Content-Length: {}\r\n", body.len())).unwrap_or_default();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}\r\n");
        connection.write_all(&[head.as_bytes(), body.unwrap_or_default()].concat())?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().with_context(|| format!("talk to the daemon at \"{control}\""))?;
    parse(&answer).with_context(|| format!("understand the answer of \"{control}\""))
}

trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

fn connect(control: &ListenAddress) -> io::Result<Box<dyn Connection>> {
    Ok(match control {
        ListenAddress::Unix(path) => Box::new(UnixStream::connect(path)?),
        ListenAddress::Abstract(name) => {
            Box::new(UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?)
        }
        ListenAddress::Inet(address) => Box::new(TcpStream::connect(address)?),
    })
}

fn explain(control: &ListenAddress, error: &io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            "no daemon runs there; start one with `corral daemon`, or name its socket with --control"
        }
        io::ErrorKind::PermissionDenied => "only the user who started the daemon may ask it",
        _ => "is this the control socket of a daemon?",
    };
    anyhow!("connect to \"{control}\": {error}; {advice}")
}

fn parse(answer: &[u8]) -> anyhow::Result<Answer> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(head_len) = response.parse(answer)? else {
        bail!("it ended before its head was complete");
    };
    let status = response.code.context("it has no status")?;
    let body = &answer[head_len..];
    let length = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length = length.map(|field| std::str::from_utf8(field.value)?.parse::<usize>().context("its length"));
    match length.transpose()? {
        Some(length) if length != body.len() => {
            bail!("it has {} bytes where {length} were announced", body.len())
        }
        _ => Ok(Answer { status, body: body.to_vec() }),
    }
}

impl Answer {
    /// The body of a success; otherwise everything that the daemon says is wrong, one line each.
    pub(crate) fn into_body(self) -> anyhow::Result<Vec<u8>> {
        if self.status == 200 {
            return Ok(self.body);
        }
        match serde_json::from_slice::<Value>(&self.body) {
            Ok(reply) => Err(anyhow!(error_text(&reply))),
            Err(_) => bail!("the daemon answered with status {}", self.status),
        }
    }
}

/// The title, then each problem with its place and what was probably meant.
fn error_text(reply: &Value) -> String {
    let title = reply["error"].as_str().unwrap_or("the daemon refused").trim_end_matches('.');
    match reply["errors"].as_array() {
        Some(problems) => {
            let lines = problems.iter().map(|problem| format!("\n  {}", problem_text(problem)));
            format!("{title}:{}", lines.collect::<String>())
        }
        None if reply.get("detail").is_some() => format!("{title}: {}", problem_text(reply)),
        None => title.to_owned(),
    }
}

fn problem_text(problem: &Value) -> String {
    let place = place_text(&problem["location"]).map(|place| format!("{place}: ")).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default();
    match problem["suggestion"].as_str() {
        Some(name) => format!("{place}{detail} Did you mean \"{name}\"?"),
        None => format!("{place}{detail}"),
    }
}

fn place_text(location: &Value) -> Option<String> {
    if let Some(path) = location["path"].as_str() {
        return Some(if path.is_empty() { "/".to_owned() } else { path.to_owned() });
    }
    match (location["line"].as_u64(), location["column"].as_u64(), location["offset"].as_u64()) {
        (Some(line), Some(column), _) => Some(format!("line {line}, column {column}")),
        (_, _, Some(offset)) => Some(format!("byte {offset}")),
        _ => None,
    }
}

/// A file, or standard input for `-`.
pub(crate) fn read_input(file: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    if file == std::path::Path::new("-") {
        let mut input = Vec::new();
        io::stdin().read_to_end(&mut input).context("read standard input")?;
        return Ok(input);
    }
    fs::read(file).with_context(|| format!("read \"{}\"", file.display()))
}

#[cfg(test)]
mod tests;
