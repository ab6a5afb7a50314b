//! Asks the control API of a running daemon: one request on one connection.

mod address;
mod control;
mod remote;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};

use anyhow::{Context, anyhow, bail};
use corral_config::address::ListenAddress;
use corral_config::{Problem, Stage};
use serde_json::Value;

pub(crate) use self::address::{Address, encode};
pub(crate) use self::control::Control;

/// The address of a daemon, and the token that it wants, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Daemon {
    pub(crate) address: Address,
    /// Sent along with each request, for control sockets that want one.
    pub(crate) token: Option<String>,
}

/// A request; `path` starts with a slash and is ready for the request line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiCall<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a [u8]>,
    /// The version that is to be changed, and no other.
    pub(crate) if_match: Option<&'a str>,
}

/// The daemon's answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApiAnswer {
    pub(crate) status: u16,
    /// The version of what was read, when the daemon says it.
    pub(crate) etag: Option<String>,
    pub(crate) body: Vec<u8>,
    /// The user of the daemon, where the kernel says that.
    pub(crate) uid: Option<u32>,
}

impl Daemon {
    /// At an address, without a token.
    pub(crate) fn at(address: ListenAddress) -> Self {
        Self { address: Address::Socket(address), token: None }
    }

    /// Reads what is at `path`.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<ApiAnswer> {
        self.ask(ApiCall { method: "GET", path, body: None, if_match: None })
    }

    /// Changes what is at `path`.
    pub(crate) fn put(&self, path: &str, body: &[u8]) -> anyhow::Result<ApiAnswer> {
        self.ask(ApiCall { method: "PUT", path, body: Some(body), if_match: None })
    }

    /// Removes what is at `path`.
    pub(crate) fn delete(&self, path: &str) -> anyhow::Result<ApiAnswer> {
        self.ask(ApiCall { method: "DELETE", path, body: None, if_match: None })
    }

    /// Sends a request and reads the answer.
    pub(crate) fn ask(&self, ask: ApiCall<'_>) -> anyhow::Result<ApiAnswer> {
        let address = &self.address;
        if let Address::Remote(remote) = address {
            let answer = remote.exchange(ask)?;
            return parse(&answer).with_context(|| format!("understand the answer of \"{address}\""));
        }
        let mut connection = address.connect().map_err(|error| explain(address, &error))?;
        let mut exchange = || -> io::Result<Vec<u8>> {
            connection.write_all(&self.encode(ask))?;
            let mut answer = Vec::new();
            connection.read_to_end(&mut answer)?;
            Ok(answer)
        };
        let answer = exchange().with_context(|| format!("talk to the daemon at \"{address}\""))?;
        let answer = parse(&answer).with_context(|| format!("understand the answer of \"{address}\""))?;
        Ok(ApiAnswer { uid: connection.uid(), ..answer })
    }

    fn encode(&self, ask: ApiCall<'_>) -> Vec<u8> {
        let ApiCall { method, path, body, if_match } = ask;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        };
        if method != "GET" {
            // No web page can send this field without asking: the control API wants to see it on a port.
            field("X-Requested-With", "corral");
        }
        if let Some(token) = &self.token {
            field("Authorization", &format!("Bearer {token}"));
        }
        if let Some(version) = if_match {
            field("If-Match", version);
        }
        if let Some(body) = body {
            field("Content-Length", &body.len().to_string());
        }
        head.push_str("\r\n");
        [head.as_bytes(), body.unwrap_or_default()].concat()
    }
}

fn explain(control: &Address, error: &io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            "no daemon runs there; start one with `corral daemon`, or name its socket with --control \
             or the variable CORRAL_CONTROL"
        }
        io::ErrorKind::PermissionDenied => {
            "only the user who started the daemon may ask it: try sudo, or start it with --control-group"
        }
        _ => "is this the control socket of a daemon?",
    };
    anyhow!("connect to \"{control}\": {error}; {advice}")
}

fn parse(answer: &[u8]) -> anyhow::Result<ApiAnswer> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(head_len) = response.parse(answer)? else {
        bail!("it ended before its head was complete");
    };
    let status = response.code.context("it has no status")?;
    let body = &answer[head_len..];
    let field = |name: &str| response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    let etag = field("etag").map(|field| String::from_utf8_lossy(field.value).into_owned());
    let length = field("content-length")
        .map(|field| std::str::from_utf8(field.value)?.parse::<usize>().context("its length"));
    match length.transpose()? {
        Some(length) if length != body.len() => {
            bail!("it has {} bytes where {length} were announced", body.len())
        }
        _ => Ok(ApiAnswer { status, etag, body: body.to_vec(), uid: None }),
    }
}

impl ApiAnswer {
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

/// Each problem of a refused configuration: where, as a JSON pointer, and what.
pub(crate) fn problems(answer: &ApiAnswer) -> Vec<Problem> {
    let Ok(reply) = serde_json::from_slice::<Value>(&answer.body) else { return Vec::new() };
    let all = match reply["errors"].as_array() {
        Some(problems) => problems.clone(),
        None => vec![reply],
    };
    let one = |problem: &Value| {
        let pointer = problem["location"]["path"].as_str()?.to_owned();
        let detail = problem["detail"].as_str()?.to_owned();
        let suggestion = problem["suggestion"].as_str().map(str::to_owned);
        // The detail has the advice in it, and the stage is of no interest here: the reply's title says it.
        Some(Problem { pointer, detail, advice: String::new(), suggestion, stage: Stage::Validation })
    };
    all.iter().filter_map(one).collect()
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
