//! From the command line to a run: reads files, looks servers up, makes the requests.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Method;
use memchr::memmem::Finder;

use crate::ammo;
use crate::cli::Options;
use crate::clock::{Clock, nanos};
use crate::engine::{Plan, Settings};
use crate::expect::Expectation;
use crate::message::{self, Message};
use crate::origin::Origin;
use crate::report::Setup;
use crate::requests::{Form, Protocol, Request, Requests};
use crate::targets::Target;
use crate::tls::TlsOptions;

const CONNECTIONS_OPEN: u32 = 1000;
const CONNECTIONS_CLOSED: u32 = 10;
const DURATION: Duration = Duration::from_secs(10);

/// The settings of the threads, and a description of the run.
pub(crate) fn prepare(options: &Options) -> Result<(Settings, Setup)> {
    let protocol = match (options.http2, options.no_keep_alive) {
        (true, _) => Protocol::Http2,
        (false, is_closed) => Protocol::Http1 { keep_alive: !is_closed },
    };
    let requests = requests(options, protocol)?;
    let plan = plan(options);
    let default = if options.schedule.is_some() { CONNECTIONS_OPEN } else { CONNECTIONS_CLOSED };
    let n_connections = options.connections.map_or(default, std::num::NonZero::get) as usize;
    let n_threads = usize::from(options.threads.get()).min(n_connections);
    let tls = requests.origins.iter().any(|origin| origin.is_tls).then(|| tls(options).config());
    let settings = Settings {
        clock: Clock::starting_in(Duration::ZERO),
        requests: Arc::new(requests),
        expectation: Arc::new(expectation(options)?),
        plan,
        protocol,
        tls: tls.transpose()?,
        timeout: nanos(options.timeout),
        n_threads,
        n_connections,
        n_streams: if options.http2 { options.streams.get() as usize } else { 1 },
        stop: Arc::new(AtomicBool::new(false)),
    };
    let setup = setup(&settings);
    Ok((settings, setup))
}

fn plan(options: &Options) -> Plan {
    match &options.schedule {
        Some(schedule) => Plan::Open { schedule: Arc::new(schedule.clone()), tick: options.tick },
        None => {
            let requests = options.requests.map(std::num::NonZero::get);
            Plan::Closed { duration: options.duration.or(requests.is_none().then_some(DURATION)), requests }
        }
    }
}

fn expectation(options: &Options) -> Result<Expectation> {
    if options.expect_body.as_deref() == Some("") {
        bail!("--expect-body needs a text; --expect-body-size 0 stands for an empty body");
    }
    Ok(Expectation {
        status: options.expect_status.clone(),
        body_size: options.expect_body_size,
        text: options.expect_body.as_ref().map(|text| Finder::new(text).into_owned()),
    })
}

fn tls(options: &Options) -> TlsOptions {
    TlsOptions {
        authorities: options.ca.clone(),
        trusts_all: options.insecure,
        resumes: !options.no_resumption,
        is_http2: options.http2,
    }
}

fn requests(options: &Options, protocol: Protocol) -> Result<Requests> {
    let mut targets = options.urls.iter().map(|text| Target::parse(text)).collect::<Result<Vec<_>>>()?;
    if let Some(path) = &options.uris {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        targets.extend(Target::parse_lines(&text).with_context(|| path.display().to_string())?);
    }
    let base = base(options)?;
    match &options.ammo {
        Some(path) => from_ammo(options, path, &targets, &base, protocol),
        None => from_targets(&targets, &base, protocol),
    }
}

/// The method, headers and body of every request, by the options.
fn base(options: &Options) -> Result<Message> {
    let body = options
        .body
        .as_ref()
        .map(|path| fs::read(path).map(Bytes::from).with_context(|| format!("read {}", path.display())));
    let body = body.transpose()?;
    let default = if body.is_some() { Method::POST } else { Method::GET };
    let headers = options.headers.iter().map(|text| message::header(text)).collect::<Result<_>>()?;
    Ok(Message {
        method: options.method.clone().unwrap_or(default),
        target: "/".to_owned(),
        headers,
        body: body.unwrap_or_default(),
    })
}

fn from_targets(targets: &[Target], base: &Message, protocol: Protocol) -> Result<Requests> {
    let mut origins = Vec::new();
    let mut list = Vec::new();
    for target in targets {
        let origin = Origin::of(&target.url)?;
        let index = origins.iter().position(|known| *known == origin).unwrap_or_else(|| {
            origins.push(origin);
            origins.len() - 1
        });
        let message = Message { target: message::target(target.path())?, ..base.clone() };
        let request = Request::new(&message, String::new(), (index, &origins[index]), protocol)?;
        list.push((target.weight, request));
    }
    Requests::weighted(list, origins)
}

fn from_ammo(
    options: &Options,
    path: &Path,
    targets: &[Target],
    base: &Message,
    protocol: Protocol,
) -> Result<Requests> {
    let [target] = targets else { bail!("--ammo needs one URL: that of the server") };
    if target.path() != "/" {
        bail!("--ammo has the paths, so that {} is too much of a URL", target.url);
    }
    let origin = Origin::of(&target.url)?;
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let rounds = ammo::parse(&bytes, options.ammo_type, base).with_context(|| path.display().to_string())?;
    let request = |round: ammo::Round| {
        let mut request = Request::new(&round.message, round.tag, (0, &origin), protocol)?;
        if let (Some(raw), Form::Http1(bytes)) = (round.raw, &mut request.form) {
            *bytes = raw;
        }
        Ok(request)
    };
    let list = rounds.into_iter().map(request).collect::<Result<_>>()?;
    Requests::in_order(list, vec![origin])
}

fn setup(settings: &Settings) -> Setup {
    let origins = settings.requests.origins.iter();
    let origins = origins
        .map(|origin| format!("{}://{}", if origin.is_tls { "https" } else { "http" }, origin.authority));
    let origins = origins.collect::<Vec<_>>().join(", ");
    let what = format!("{} to {origins}", counted(settings.requests.list.len(), "request"));
    let connections = counted(settings.n_connections, "connection");
    let loop_of = match &settings.plan {
        Plan::Open { schedule, .. } => format!("open loop, {}; at most {connections}", schedule.text()),
        Plan::Closed { .. } => format!("closed loop; {connections}"),
    };
    let protocol = match settings.protocol {
        Protocol::Http1 { keep_alive: true } => "HTTP/1.1".to_owned(),
        Protocol::Http1 { keep_alive: false } => "HTTP/1.1 without keep-alive".to_owned(),
        Protocol::Http2 => format!("HTTP/2, {}", counted(settings.n_streams, "stream")),
    };
    let how = format!("{loop_of}, {protocol}; {}", counted(settings.n_threads, "thread"));
    Setup { what, how, is_http2: settings.protocol == Protocol::Http2 }
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
