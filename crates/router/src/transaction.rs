//! One request from its head to the end of its reply.

mod replies;

use std::io::IoSlice;
use std::mem;
use std::pin::pin;

use corral_channel::MAX_INLINE_BODY;
use corral_http::list;
use corral_http::request::{Framing, Name};
use corral_http::response;

use crate::answer::{application, proxy, share};
use crate::client::connection::{Connection, Next};
use crate::client::head::Refusal;
use crate::client::slot::SlotSettings;
use crate::client::work::Work;
use crate::generation::rules::Rules;
use crate::observe::telemetry::{self, Trace};
use crate::reply::Reply;
use crate::request::body::{BodyError, Incoming, READ_STEP};
use crate::request::client::{Client, Gone};
use crate::request::forwarded;
use crate::request::head::Request;
use crate::request::routing::{FieldChange, Target, Way, log};
use crate::request::variables::{Link, Memo, RequestVariables};
use crate::storage::buffers::{self, Rest};

/// A request while it is answered.
pub(crate) struct Transaction<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) settings: &'c SlotSettings,
    pub(crate) request: Request<'c>,
    pub(crate) client: Client,
    /// The path that a rewrite has put in the place of the request's.
    pub(crate) rewritten: Option<Vec<u8>>,
    memo: Memo,
    pub(crate) way: Way<'c>,
    /// What `request_headers` has changed.
    pub(crate) field_changes: Vec<FieldChange<'c>>,
    /// What the client has sent behind the head.
    pub(crate) rest: Vec<u8>,
    pub(crate) incoming: Incoming,
    pub(crate) reply: Reply,
    /// There was no room for something that was sent to the client.
    pub(crate) has_waited: bool,
    /// While there is telemetry.
    pub(crate) trace: Option<Box<Trace>>,
}

/// Answers the request whose head is complete in `work`.
pub(crate) async fn run(connection: &mut Connection, work: &mut Work, settings: SlotSettings) -> Next {
    let started = work.started(connection);
    let Work { input, head, .. } = work;
    let rules = &settings.generation.shared.rules;
    let (mut incoming, refused) = match Incoming::new(head.framing(), head.expects_continue(), rules) {
        Ok(incoming) => (incoming, None),
        Err(error) => (Incoming::none(), Some(error)),
    };
    let rest = split_rest(input, head.len(), &mut incoming);
    connection.sends_much = is_large(head.framing());
    let request = Request { head, bytes: input, started };
    let mut transaction = Transaction::new(connection, &settings, request);
    transaction.rest = rest;
    transaction.incoming = incoming;
    transaction.reply.close = !head.keep_alive();
    let answered = match refused {
        Some(error) => transaction.answer_refused(&error).await,
        None => transaction.answer().await,
    };
    let next = transaction.finish(answered).await;
    let rest = mem::take(&mut transaction.rest);
    if let Some(path) = transaction.rewritten.take() {
        buffers::give(path);
    }
    drop(transaction);
    if rest.is_empty() {
        input.clear();
        buffers::give(rest);
    } else {
        buffers::give(mem::replace(input, rest));
    }
    next
}

/// Takes what follows the head out of the input; most often that is nothing, and costs nothing. A large body that is
/// there as a whole stays where it is, and the head leaves instead.
fn split_rest(input: &mut Vec<u8>, head_len: usize, incoming: &mut Incoming) -> Vec<u8> {
    if buffers::is_large(input) {
        let mut head = buffers::take();
        head.extend_from_slice(&input[..head_len]);
        let read = Rest::new(mem::replace(input, head), head_len);
        return incoming.adopt(read).map_or_else(Rest::into_small, |()| Vec::new());
    }
    if input.len() == head_len {
        return Vec::new();
    }
    let mut rest = buffers::take();
    rest.extend_from_slice(&input[head_len..]);
    input.truncate(head_len);
    rest
}

/// Whether a body is worth a large buffer, and fits into one with its head.
fn is_large(framing: Framing) -> bool {
    matches!(framing, Framing::Length(len) if (READ_STEP as u64..=MAX_INLINE_BODY as u64).contains(&len))
}

/// Answers what is no request: an error page, unless the client has left already, and a log entry.
pub(crate) async fn refuse(
    connection: &mut Connection,
    work: &mut Work,
    settings: &SlotSettings,
    refusal: Refusal,
) {
    let status = match refusal {
        Refusal::Malformed(error) => error.status(),
        Refusal::TimedOut => 408,
        Refusal::Cut => 400,
        Refusal::PlainOnTls => response::PLAIN_ON_TLS,
        Refusal::Crowded => 503,
    };
    // The address was complained about already.
    if !matches!(refusal, Refusal::Crowded) {
        tracing::info!("request refused with {status}: {refusal}");
    }
    let started = work.started(connection);
    let request = Request { head: &work.head, bytes: &work.input, started };
    let mut transaction = Transaction::new(connection, settings, request);
    transaction.reply.close = true;
    if matches!(refusal, Refusal::Cut) {
        transaction.reply.status = Some(status);
    } else {
        // Nothing follows, whether or not the client still listens.
        let _ = transaction.send_error(status).await;
    }
    transaction.log();
}

impl<'c> Transaction<'c> {
    fn new(connection: &'c mut Connection, settings: &'c SlotSettings, request: Request<'c>) -> Self {
        let connected = Client { address: connection.peer, tls: connection.stream.tls().is_some() };
        let client = forwarded::client(&settings.listener().forwarded, connected, request);
        let trace = settings.generation.shared.telemetry.as_ref().map(|telemetry| telemetry.trace(request));
        Self {
            connection,
            settings,
            request,
            client,
            rewritten: None,
            memo: Memo::default(),
            way: Way::default(),
            field_changes: Vec::new(),
            rest: Vec::new(),
            incoming: Incoming::none(),
            reply: Reply::default(),
            has_waited: false,
            trace,
        }
    }

    pub(crate) fn rules(&self) -> &'c Rules {
        &self.settings.generation.shared.rules
    }

    /// The path, decoded and normalised, as it is after rewrites.
    pub(crate) fn path(&self) -> &[u8] {
        self.rewritten.as_deref().unwrap_or_else(|| self.request.head.path(self.request.bytes))
    }

    /// The path that a rewrite has put in the place of the request's, if any has.
    pub(crate) fn rewritten_path(&self) -> Option<&[u8]> {
        self.rewritten.as_deref()
    }

    /// Whether what the peer says about who sent the request is believed.
    pub(crate) fn peer_is_trusted(&self) -> bool {
        let rules = &self.settings.listener().forwarded;
        rules.iter().any(|rule| rule.source.matches(self.connection.peer))
    }

    pub(crate) fn method(&self) -> &'c [u8] {
        self.request.method()
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// Whether the client has said that it understands fields behind a body (RFC 9110 sections 6.5.1 and 10.1.4).
    pub(crate) fn takes_trailers(&self) -> bool {
        let Request { head, bytes, .. } = self.request;
        let mut codings = head.values(bytes, Name::Te).flat_map(list);
        head.version_minor() > 0 && codings.any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
    }

    pub(crate) fn variables(&self) -> RequestVariables<'_> {
        let Self { connection, settings, request, client, reply, memo, .. } = self;
        RequestVariables {
            link: Link::Open(&connection.stream),
            request: *request,
            client: *client,
            path: self.path(),
            reply,
            server: self.rules().server,
            memo,
            scripts: Some(&settings.generation.scripts),
        }
    }

    /// Follows the configuration to what answers the request.
    async fn answer(&mut self) -> Result<(), Gone> {
        let settings = self.settings;
        if self.rules().log_route {
            log::request(self.request.head.request_line(self.request.bytes));
        }
        let target = self.follow(&settings.listener().pass);
        self.answer_target(target).await?;
        self.answer_in_place().await
    }

    /// As `answer` for a request whose body is refused: only the actions for errors on its way matter.
    async fn answer_refused(&mut self, error: &BodyError) -> Result<(), Gone> {
        let settings = self.settings;
        self.follow(&settings.listener().pass);
        self.refuse_body(error).await?;
        self.answer_in_place().await
    }

    /// Answers with what is to stand in for an error, if anything is.
    async fn answer_in_place(&mut self) -> Result<(), Gone> {
        while let Some(action) = self.take_stand_in() {
            let target = self.follow_action(action);
            self.answer_target(target).await?;
        }
        Ok(())
    }

    /// Answers with what was found, or with what its fallbacks lead to. Without a reply when another action is to
    /// stand in for an error.
    async fn answer_target(&mut self, target: Target<'c>) -> Result<(), Gone> {
        let servers = &self.settings.generation.servers;
        let mut target = target;
        loop {
            let share = match target {
                Target::Application { app, target } => return application::answer(self, app, target).await,
                Target::Return(answer) => return self.send_return(answer).await,
                Target::Upstream(upstream) => {
                    return proxy::answer(self, &servers.upstreams[upstream]).await;
                }
                Target::Proxy(proxy) => {
                    return proxy::answer(self, &servers.proxies[proxy]).await;
                }
                Target::Nothing(status) => return self.send_error(status).await,
                Target::Share(share) => share,
            };
            let status = match share::answer(self, share).await? {
                share::Outcome::Sent => return Ok(()),
                share::Outcome::Missed(status) => status,
            };
            let Some(action) = &share.fallback else { return self.send_error(status).await };
            if self.rules().log_route {
                log::fallback();
            }
            target = self.follow_action(action);
        }
    }

    async fn refuse_body(&mut self, error: &BodyError) -> Result<(), Gone> {
        let status = error.status();
        match error {
            BodyError::Store(_) => tracing::error!("request refused with {status}: {error}"),
            _ => tracing::info!("request refused with {status}: {error}"),
        }
        self.reply.close = true;
        self.reply.linger = true;
        self.send_error(status).await
    }

    /// A body that could not be read: whatever follows it cannot be told from it.
    pub(crate) async fn fail_body(&mut self, error: &BodyError) -> Result<(), Gone> {
        if matches!(error, BodyError::Gone) {
            self.reply.status = Some(error.status());
            return Err(Gone);
        }
        self.refuse_body(error).await
    }

    /// Sends all of these bytes.
    pub(crate) async fn send(&mut self, mut slices: &mut [IoSlice<'_>]) -> Result<(), Gone> {
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match self.connection.stream.try_write(slices) {
                Ok(n) => IoSlice::advance_slices(&mut slices, n),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => self.wait_writable().await?,
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }

    /// Waits for room in the socket, for as long as a client may take to make some.
    pub(crate) async fn wait_writable(&mut self) -> Result<(), Gone> {
        self.has_waited = true;
        let limit = self.rules().send_timeout;
        let Connection { stream, deadline, .. } = &*self.connection;
        match deadline.limit(limit, pin!(stream.writable())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// Reads what is left of the request, logs it, and says what becomes of the connection.
    async fn finish(&mut self, answered: Result<(), Gone>) -> Next {
        self.log();
        if answered.is_err() {
            return Next::Close;
        }
        if self.reply.close {
            let is_read = self.incoming.is_done() && self.rest.is_empty() && !self.reply.linger;
            return if is_read { Next::Close } else { Next::Linger };
        }
        if self.incoming.is_done() {
            return Next::Keep;
        }
        let rules = self.rules();
        let Self { incoming, connection, rest, .. } = self;
        if incoming.discard(connection, rest, rules).await { Next::Keep } else { Next::Linger }
    }

    fn log(&self) {
        for log in &self.settings.generation.shared.access_logs {
            log.write(self.connection.services.lane, &mut self.variables());
        }
        if let Some(console) = crate::observe::console::get() {
            console.write(&self.variables());
        }
        let telemetry = self.settings.generation.shared.telemetry.as_ref().zip(self.trace.as_ref());
        if let Some((telemetry, trace)) = telemetry.filter(|(_, trace)| trace.is_sampled()) {
            telemetry.finish(telemetry::record(Trace::clone(trace), self.request, &self.variables()));
        }
    }
}

/// A variable may hold what would end a field's line.
pub(crate) fn disarm(value: &mut [u8]) {
    for byte in value.iter_mut().filter(|byte| byte.is_ascii_control() && **byte != b'\t') {
        *byte = b' ';
    }
}
