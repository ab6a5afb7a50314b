//! The command line.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::ammo::AmmoType;
use crate::expect::StatusSet;
use crate::rules::Rule;
use crate::schedule::Schedule;
use crate::syntax;

const EXAMPLES: &str = "\
Examples:
  corral-tank --schedule 'line(1,1000,5m) const(1000,1m)' http://127.0.0.1:8080/
      open loop: requests leave when they are due, whatever the server does
  corral-tank --connections 100 --duration 30s http://127.0.0.1:8080/
      closed loop: 100 connections, each asks again once it has its answer
  corral-tank -s 'const(500,1m)' '3 http://127.0.0.1:8080/' 'http://127.0.0.1:8080/search?q=a'
      three of four requests go to the first URL
  corral-tank -s 'step(100,1000,100,30s)' --stop 'http(5xx,1%,5s)' --stop 'time(1s,10s)' \\
      --ammo ammo.txt --phout phout.txt http://127.0.0.1:8080
      recorded requests, until the server gives in; raw data for the tools of Yandex.Tank
  corral-tank --http2 --streams 10 -c 20 -d 30s --insecure --json result.json https://127.0.0.1:8443/
      200 requests at a time on 20 connections of HTTP/2

Exit status: 0 after a whole run; 1 if a stop rule ended it or no request was answered;
2 if the command line or a file is wrong.";

/// Send HTTP requests by a schedule, or as fast as they are answered, and tell what became of each.
///
/// With --schedule, a request's time counts from the moment at which it should have been sent: a server that
/// stops for a second is seen as slow by all requests that were due in it, and not by one.
#[derive(Debug, Parser)]
#[command(name = "corral-tank", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where requests go; 'WEIGHT URL' for more of them than to others
    #[arg(value_name = "URL", required_unless_present = "uris")]
    pub(crate) urls: Vec<String>,

    /// When requests are due: const(RATE,DURATION), line(FROM,TO,DURATION), step(FROM,TO,BY,DURATION),
    /// one after the other; without it, each connection asks again once it has its answer
    #[arg(short, long, help_heading = LOAD, value_parser = Schedule::parse)]
    #[arg(conflicts_with_all = ["duration", "requests"])]
    pub(crate) schedule: Option<Schedule>,

    /// Round the moments of the schedule down to multiples of this, so that requests leave in bursts: costs the
    /// generator less where thousands are due in a second (Yandex.Tank: 1ms) [default: exact moments]
    #[arg(long, value_name = "DURATION", help_heading = LOAD, value_parser = duration, requires = "schedule")]
    pub(crate) tick: Option<Duration>,

    /// Connections to each server: that many in a closed loop [default: 10], at most that many with
    /// a schedule [default: 1000]
    #[arg(short, long, value_name = "N", help_heading = LOAD)]
    pub(crate) connections: Option<NonZero<u32>>,

    /// How long a closed loop goes on [default: 10s, unless --requests ends it]
    #[arg(short, long, help_heading = LOAD, value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// How many requests a closed loop makes
    #[arg(short = 'n', long, value_name = "N", help_heading = LOAD)]
    pub(crate) requests: Option<NonZero<u64>>,

    /// Threads that share the connections; one makes tens of thousands of requests a second
    #[arg(short, long, value_name = "N", default_value = "1", help_heading = LOAD)]
    pub(crate) threads: NonZero<u16>,

    /// How long after it was due a request is given up
    #[arg(long, value_name = "DURATION", default_value = "10s", help_heading = LOAD, value_parser = duration)]
    pub(crate) timeout: Duration,

    /// End the run once a rule holds for its whole period: time(MEAN,PERIOD),
    /// quantile(PERCENT,TIME,PERIOD), http(STATUS,NUMBER or SHARE%,PERIOD),
    /// net(CODE,NUMBER or SHARE%,PERIOD), instances(NUMBER,PERIOD), limit(DURATION);
    /// x in a code is any digit
    #[arg(long, value_name = "RULE", help_heading = LOAD, value_parser = Rule::parse_all)]
    pub(crate) stop: Vec<Vec<Rule>>,

    /// Read URLs from a file: one a line, with a weight before it or without
    #[arg(long, value_name = "FILE", help_heading = REQUESTS)]
    pub(crate) uris: Option<PathBuf>,

    /// Read requests from an ammo file of Yandex.Tank and send them to the URL, over and over
    #[arg(long, value_name = "FILE", help_heading = REQUESTS, conflicts_with = "uris")]
    pub(crate) ammo: Option<PathBuf>,

    /// The style of the ammo
    #[arg(long, value_name = "STYLE", value_enum, default_value = "auto", help_heading = REQUESTS)]
    pub(crate) ammo_type: AmmoType,

    /// The method [default: GET, or POST with a body]
    #[arg(short = 'X', long, help_heading = REQUESTS)]
    pub(crate) method: Option<http::Method>,

    /// A header of every request, as 'Name: value'; may be given again
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = REQUESTS)]
    pub(crate) headers: Vec<String>,

    /// Send the contents of a file as the body of every request
    #[arg(short, long, value_name = "FILE", help_heading = REQUESTS)]
    pub(crate) body: Option<PathBuf>,

    /// Open a connection for each request
    #[arg(long, help_heading = PROTOCOL, conflicts_with = "http2")]
    pub(crate) no_keep_alive: bool,

    /// HTTP/2: by ALPN over TLS, at once without
    #[arg(long, help_heading = PROTOCOL)]
    pub(crate) http2: bool,

    /// Requests at a time on each connection of HTTP/2
    #[arg(short = 'm', long, value_name = "N", default_value = "1", help_heading = PROTOCOL, requires = "http2")]
    pub(crate) streams: NonZero<u32>,

    /// Trust the authorities in a PEM file in place of the system's
    #[arg(long, value_name = "FILE", help_heading = PROTOCOL)]
    pub(crate) ca: Option<PathBuf>,

    /// Trust any certificate
    #[arg(short = 'k', long, help_heading = PROTOCOL, conflicts_with = "ca")]
    pub(crate) insecure: bool,

    /// Make a whole handshake of TLS for each connection
    #[arg(long, help_heading = PROTOCOL)]
    pub(crate) no_resumption: bool,

    /// Statuses of good answers
    #[arg(long, value_name = "LIST", default_value = "2xx,3xx", help_heading = ANSWERS)]
    pub(crate) expect_status: StatusSet,

    /// The size of the body of good answers
    #[arg(long, value_name = "BYTES", help_heading = ANSWERS)]
    pub(crate) expect_body_size: Option<u64>,

    /// A text in the body of good answers
    #[arg(long, value_name = "TEXT", help_heading = ANSWERS)]
    pub(crate) expect_body: Option<String>,

    /// Write a line for each request, as phout.txt of Yandex.Tank
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) phout: Option<PathBuf>,

    /// Write the summary as JSON, with histograms; - for the standard output, in place of the text
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) json: Option<PathBuf>,
}

const LOAD: &str = "Load";
const REQUESTS: &str = "Requests";
const PROTOCOL: &str = "Protocol";
const ANSWERS: &str = "Right answers";
const OUTPUT: &str = "Output";

fn duration(text: &str) -> Result<Duration, String> {
    syntax::duration(text).map_err(|expected| format!("expected {expected}"))
}
