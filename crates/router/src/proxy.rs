//! Requests that other HTTP servers answer: `proxy` and `upstreams` (UNIT-COMPAT 13).
//!
//! `server` is what all event loops share of a server, `group` what one loop has of it. A request is one
//! `exchange` on a `line`, whose response is `relay`ed, or becomes a `tunnel`.

mod balance;
mod checks;
mod connect;
mod download;
mod exchange;
mod failure;
mod group;
mod health;
mod line;
mod pool;
mod relay;
mod request;
mod resolve;
mod server;
mod tls;
mod tunnel;
mod upload;

use std::pin::pin;
use std::rc::Rc;

use corral_config::upstream::Balance;

pub(crate) use self::checks::Checks;
use self::connect::connect;
use self::exchange::{Answer, Broken, Exchange, Request};
use self::failure::{Failure, Retry};
use self::group::Tried;
pub(crate) use self::group::{LoopGroup, LoopGroups, LoopServer, LoopServers};
use self::line::Line;
use self::pool::Wanted;
use self::relay::{Relay, Relayed};
pub(crate) use self::resolve::Resolver;
pub(crate) use self::server::{Groups, ServerError, Workshop};
pub(crate) use self::tls::Trust;
use self::upload::Upload;
use crate::buffers;
use crate::clock::Millis;
use crate::deadline::Elapsed;
use crate::transaction::{Gone, Transaction};

/// Answers a request by a server of a group.
pub(crate) async fn answer(tx: &mut Transaction<'_>, group: &LoopGroup) -> Result<(), Gone> {
    let mut key = Vec::new();
    if let Balance::Hash(template) = &group.shared.upstream.balance {
        key = buffers::take();
        if let Err(exception) = template.render(&mut tx.variables(), &mut key) {
            return tx.fail_script(&exception).await;
        }
    }
    let upload = match Upload::begin(tx).await {
        Ok(upload) => upload,
        Err(error) => return tx.fail_body(&error).await,
    };
    let mut attempts = Attempts { group, key, upload, tried: Tried::new(), n_retries: 0 };
    let answered = attempts.run(tx).await;
    buffers::give(attempts.key);
    answered
}

/// A request that is given to one server after the other until one answers.
struct Attempts<'g> {
    group: &'g LoopGroup,
    key: Vec<u8>,
    upload: Upload,
    tried: Tried,
    n_retries: u32,
}

/// How an attempt ended.
enum Outcome {
    Answered,
    Failed(Failure),
    Body(crate::body::BodyError),
}

impl Attempts<'_> {
    async fn run(&mut self, tx: &mut Transaction<'_>) -> Result<(), Gone> {
        loop {
            let chosen = self.group.choose(&self.tried, &self.key, tx.connection.now());
            let Some(chosen) = chosen else {
                self.note_absence(tx);
                return tx.send_error(502).await;
            };
            let server = &self.group.servers[chosen];
            server.figures().active.add(1);
            server.figures().requests.add(1);
            let outcome = self.attempt(tx, server).await;
            server.figures().active.subtract(1);
            let failure = match outcome? {
                Outcome::Answered => return Ok(()),
                Outcome::Body(error) => return tx.fail_body(&error).await,
                Outcome::Failed(failure) => failure,
            };
            self.note_failure(tx, server, &failure);
            if !self.may_retry(tx, chosen, failure.retry()) {
                return tx.send_error(failure.status()).await;
            }
        }
    }

    fn note_failure(&self, tx: &Transaction<'_>, server: &LoopServer, failure: &Failure) {
        let shared = &server.shared;
        let now = Millis::of(tx.connection.now());
        let title = || self.group.shared.title(Some(shared));
        if let Some(unsaid) = shared.complaints.admit(now) {
            tracing::error!("{}: {failure}, request \"{}\"{unsaid}", title(), shown(tx));
        }
        if !failure.is_theirs() {
            return;
        }
        server.figures().failures.add(1);
        let is_news = shared.health.failed(&shared.passive, now);
        if is_news && self.group.servers.len() > 1 {
            tracing::warn!("{}: avoided for {:?}", title(), shared.passive.fail_timeout);
        }
    }

    fn note_absence(&self, tx: &Transaction<'_>) {
        let group = &self.group.shared;
        if let Some(unsaid) = group.complaints.admit(Millis::of(tx.connection.now())) {
            let title = group.title(None);
            tracing::error!("{title}: no server is available, request \"{}\"{unsaid}", shown(tx));
        }
    }

    /// Whether another server gets the request, which is then ready to be sent again.
    fn may_retry(&mut self, tx: &Transaction<'_>, tried: usize, retry: Retry) -> bool {
        self.tried.push(tried);
        let permitted = match retry {
            Retry::Any => true,
            Retry::Idempotent => is_idempotent(tx.method()),
            Retry::Never => false,
        };
        let is_left = self.group.shared.upstream.retries.is_none_or(|retries| self.n_retries < retries);
        self.n_retries += 1;
        permitted && is_left && self.tried.len() < self.group.servers.len() && self.upload.rewind()
    }

    /// Gives the request to one server; a kept connection that turns out to be closed is replaced by a new one.
    async fn attempt(&mut self, tx: &mut Transaction<'_>, server: &Rc<LoopServer>) -> Result<Outcome, Gone> {
        let wanted = if is_idempotent(tx.method()) { Wanted::Any } else { Wanted::Fresh };
        loop {
            let kept = server.pool.borrow_mut().take(wanted, tx.connection.now());
            let is_kept = kept.is_some();
            let line = match kept {
                Some(line) => line,
                // In a box of its own, so that a request on a kept connection is not as large.
                None => match Box::pin(open(tx, server)).await {
                    Ok(line) => line,
                    Err(failure) => return Ok(Outcome::Failed(failure)),
                },
            };
            let failure = match self.exchange(tx, server, line).await? {
                Outcome::Failed(failure) => failure,
                outcome => return Ok(outcome),
            };
            let is_stale = is_kept && wanted == Wanted::Any && failure.retry() == Retry::Idempotent;
            if !is_stale || !self.upload.rewind() {
                return Ok(Outcome::Failed(failure));
            }
        }
    }

    async fn exchange(
        &mut self,
        tx: &mut Transaction<'_>,
        server: &Rc<LoopServer>,
        mut line: Line,
    ) -> Result<Outcome, Gone> {
        line.begin_request();
        let timeouts = &server.shared.options.timeouts;
        let mut head = buffers::take();
        request::append_head(tx, &server.shared, self.upload.length(), &mut head);
        let upload = &mut self.upload;
        let exchange = Exchange { line: &mut line, upload, timeouts, request: Request::new(head) };
        let mut answer = match exchange.run(tx).await {
            Ok(answer) => answer,
            Err(Broken::Server(failure)) => return Ok(Outcome::Failed(failure)),
            Err(Broken::Body(error)) => return Ok(Outcome::Body(error)),
            Err(Broken::Gone) => return Err(Gone),
        };
        server.shared.health.succeeded();
        let relayed = self.pass_on(tx, server, line, &mut answer).await;
        buffers::give(answer.input);
        relayed
    }

    async fn pass_on(
        &mut self,
        tx: &mut Transaction<'_>,
        server: &Rc<LoopServer>,
        mut line: Line,
        answer: &mut Answer,
    ) -> Result<Outcome, Gone> {
        let timeouts = &server.shared.options.timeouts;
        if answer.head.status() == SWITCHING_PROTOCOLS {
            if request::wanted_upgrade(tx).is_none() {
                return Ok(Outcome::Failed(Failure::Switched));
            }
            Box::pin(tunnel::run(tx, &mut line, answer, timeouts.tunnel)).await?;
            return Ok(Outcome::Answered);
        }
        let mut relay = Relay { line: &mut line, upload: &mut self.upload, timeouts };
        match relay.run(tx, answer).await? {
            Relayed::Complete { reusable } => {
                if reusable {
                    keep(tx, server, line, answer.head.keep_alive_seconds());
                }
                Ok(Outcome::Answered)
            }
            Relayed::Refused(failure) => Ok(Outcome::Failed(failure)),
            Relayed::Cut(failure) => {
                self.note_failure(tx, server, &failure);
                Err(Gone)
            }
        }
    }
}

const SWITCHING_PROTOCOLS: u16 = 101;

/// A new connection.
async fn open(tx: &Transaction<'_>, server: &LoopServer) -> Result<Line, Failure> {
    let limit = server.shared.options.timeouts.connect;
    let connecting = async {
        server.resolved().await;
        let addresses = server.addresses();
        connect(&server.shared, &addresses).await
    };
    match tx.connection.deadline.limit(limit, pin!(connecting)).await {
        Ok(result) => result,
        Err(Elapsed) => Err(Failure::ConnectTimedOut(limit)),
    }
}

fn keep(tx: &Transaction<'_>, server: &LoopServer, line: Line, server_seconds: Option<u64>) {
    let rules = &server.shared.options.keepalive;
    if server.pool.borrow_mut().put(line, rules, server_seconds, tx.connection.now()) {
        tx.connection.event_loop.proxy_servers.idle.notify_one();
    }
}

/// RFC 9110 section 9.2.2.
fn is_idempotent(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE")
}

/// A request's target, for the log.
fn shown(tx: &Transaction<'_>) -> String {
    let target = tx.request.head.target(tx.request.bytes);
    String::from_utf8_lossy(target).escape_debug().to_string()
}
