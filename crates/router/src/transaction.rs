//! One request from its head to the end of its reply.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Instant;

use corral_config::route::{HeaderChange, Return};
use corral_config::template::Exception;
use corral_http::request::Head;
use corral_http::response::{self, Connection as ConnectionField, Framing, Trailer};

use smallvec::SmallVec;

use crate::accept::SlotSettings;
use crate::body::{BodyError, Incoming};
use crate::connection::{Connection, Next, Refusal, Work};
use crate::reply::Reply;
use crate::routing::{FieldChange, Target, Way, log};
use crate::rules::Rules;
use crate::telemetry::{self, TRACEPARENT, Trace};
use crate::variables::{Memo, RequestVariables};
use crate::writer::Writer;
use crate::{application, buffers, clock, compression, forwarded, proxy, script, share};

/// The type of error pages for programs (RFC 9457).
const PROBLEM: &[u8] = b"application/problem+json";

/// The client's connection is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

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
    /// While there is telemetry.
    pub(crate) trace: Option<Box<Trace>>,
}

/// The request's head.
#[derive(Clone, Copy)]
pub(crate) struct Request<'c> {
    pub(crate) head: &'c Head,
    pub(crate) bytes: &'c [u8],
    pub(crate) started: Instant,
}

/// Who has sent a request, as far as the configuration trusts what is said about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    /// None for a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// The client speaks TLS, to this server or to one in front of it.
    pub(crate) tls: bool,
}

/// Answers the request whose head is complete in `work`.
pub(crate) async fn run(connection: &mut Connection, work: &mut Work, settings: SlotSettings) -> Next {
    let started = work.started(connection);
    let Work { input, head, .. } = work;
    let mut rest = buffers::take();
    rest.extend_from_slice(&input[head.len()..]);
    input.truncate(head.len());
    let rules = &settings.generation.shared.rules;
    let (incoming, refused) = match Incoming::new(head.framing(), head.expects_continue(), rules) {
        Ok(incoming) => (incoming, None),
        Err(error) => (Incoming::none(), Some(error)),
    };
    let request = Request { head, bytes: input, started };
    let mut transaction = Transaction::new(connection, &settings, request);
    transaction.rest = rest;
    transaction.incoming = incoming;
    transaction.reply.close = !head.keep_alive();
    let answered = match refused {
        Some(error) => transaction.refuse_body(&error).await,
        None => transaction.answer().await,
    };
    let next = transaction.finish(answered).await;
    let rest = std::mem::take(&mut transaction.rest);
    if let Some(path) = transaction.rewritten.take() {
        buffers::give(path);
    }
    drop(transaction);
    buffers::give(std::mem::replace(input, rest));
    next
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
        Refusal::PlainOnTls => 497,
    };
    tracing::info!("request refused with {status}: {refusal}");
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
        self.request.head.method(self.request.bytes)
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    pub(crate) fn variables(&self) -> RequestVariables<'_> {
        let Self { connection, settings, request, client, reply, memo, .. } = self;
        RequestVariables {
            stream: Some(&connection.stream),
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
        let mut target = self.follow(&settings.listener().pass);
        loop {
            self.answer_target(target).await?;
            let Some(action) = self.take_stand_in() else { return Ok(()) };
            target = self.follow_action(action);
        }
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
        tracing::info!("request refused with {}: {error}", error.status());
        self.reply.close = true;
        self.reply.linger = true;
        self.send_error(error.status()).await
    }

    /// A body that could not be read: whatever follows it cannot be told from it.
    pub(crate) async fn fail_body(&mut self, error: &BodyError) -> Result<(), Gone> {
        if matches!(error, BodyError::Gone) {
            self.reply.status = Some(error.status());
            return Err(Gone);
        }
        self.refuse_body(error).await
    }

    /// `return`: an error page, or an empty reply with a Location.
    async fn send_return(&mut self, answer: &Return) -> Result<(), Gone> {
        if (400..600).contains(&answer.status) {
            return self.send_returned_error(answer.status).await;
        }
        self.forget_kept_status();
        if let Some(template) = &answer.location {
            let mut text = buffers::take();
            let rendered = template.render(&mut self.variables(), &mut text);
            if let Err(exception) = rendered {
                return self.fail_script(&exception).await;
            }
            let mut location = buffers::take();
            corral_http::path::append_location(&text, &mut location);
            self.reply.fields.push(b"Location", &location);
            buffers::give(location);
            buffers::give(text);
        }
        self.send_empty(answer.status).await
    }

    /// A template of the configuration could not be worked out for this request.
    pub(crate) async fn fail_script(&mut self, exception: &Exception) -> Result<(), Gone> {
        script::report(exception);
        self.send_error(500).await
    }

    /// A reply without a body.
    pub(crate) async fn send_empty(&mut self, status: u16) -> Result<(), Gone> {
        self.open(status, Some(0)).finish(self, b"").await
    }

    /// An error page, or what the configuration has in its place; fields that were meant for another reply are
    /// dropped.
    pub(crate) async fn send_error(&mut self, status: u16) -> Result<(), Gone> {
        if self.finds_stand_in(status) {
            return Ok(());
        }
        let status = self.first_error(status);
        self.open_page(status).finish(self, b"").await
    }

    /// `return` with the status of an error: what was asked for in the place of another error is sent as it is.
    async fn send_returned_error(&mut self, status: u16) -> Result<(), Gone> {
        if self.answers_error() {
            return self.open_page(status).finish(self, b"").await;
        }
        self.send_error(status).await
    }

    /// The one way out: applies what the configuration has to say about the reply's fields, and makes a head of
    /// them. `length` is that of the body, if it is known.
    pub(crate) fn open(&mut self, status: u16, length: Option<u64>) -> Writer {
        let status = self.kept_status(status);
        if (200..400).contains(&status)
            && let Err(exception) = self.change_fields(status)
        {
            script::report(&exception);
            return self.open_page(500);
        }
        compression::open(self, status, length)
    }

    /// `response_headers` of the last action, whose templates may ask for the status.
    fn change_fields(&mut self, status: u16) -> Result<(), Exception> {
        let Some(action) = self.way.action else { return Ok(()) };
        self.reply.status = Some(status);
        for HeaderChange { name, value } in &action.options.response_headers {
            let Some(template) = value else {
                self.reply.fields.remove(name.as_bytes());
                continue;
            };
            let mut text = buffers::take();
            template.render(&mut self.variables(), &mut text)?;
            disarm(&mut text);
            self.reply.fields.set(name.as_bytes(), &text);
            buffers::give(text);
        }
        Ok(())
    }

    /// A complete error page, which is not compressed; nothing of another reply's body comes after it.
    pub(crate) fn open_page(&mut self, status: u16) -> Writer {
        let page = self.prepare_page(status);
        if status == 406 {
            self.reply.fields.push(b"Vary", b"Accept-Encoding");
        }
        let mut writer = self.write_head(status, Some(page.len() as u64));
        writer.hold(self, &page);
        writer
    }

    /// Fields and body of an error page.
    fn prepare_page(&mut self, status: u16) -> SmallVec<[u8; response::ERROR_PAGE_LEN]> {
        self.reply.fields.clear();
        if !self.rules().negotiate_errors {
            self.reply.fields.push(b"Content-Type", response::ERROR_PAGE_TYPE);
            return response::error_page(status).into();
        }
        let accept = self.request.head.fields(self.request.bytes);
        let accept = accept.filter(|(name, _)| name.eq_ignore_ascii_case(b"accept")).map(|(_, value)| value);
        let wants_json = share::prefers_json(accept, &[b"application/json", PROBLEM]);
        self.reply.fields.push(b"Vary", b"Accept");
        if !wants_json {
            self.reply.fields.push(b"Content-Type", response::ERROR_PAGE_TYPE);
            return response::error_page(status).into();
        }
        self.reply.fields.push(b"Content-Type", PROBLEM);
        SmallVec::from_slice(response::problem(status).as_bytes())
    }

    /// The head of all that is in the reply's fields.
    pub(crate) fn write_head(&mut self, status: u16, length: Option<u64>) -> Writer {
        let framing = Framing::choose(status, self.request.head.version_minor(), length);
        self.begin_reply(status, framing);
        if let Some(trace) = &self.trace {
            self.reply.fields.set(TRACEPARENT, &trace.header());
        }
        let mut head = buffers::take();
        clock::with_date(|date| {
            let trailer = self.trailer(framing, date);
            response::append_head(&mut head, status, self.reply.fields.iter(), &trailer);
        });
        Writer::new(framing, self.is_head(), head)
    }

    /// The head that switches the connection to another protocol, of all that is in the reply's fields.
    pub(crate) fn open_switch(&mut self) -> Writer {
        self.reply.status = Some(101);
        self.reply.close = true;
        let mut head = buffers::take();
        clock::with_date(|date| {
            let trailer =
                Trailer { connection: ConnectionField::Upgrade, ..self.trailer(Framing::NoBody, date) };
            response::append_head(&mut head, 101, self.reply.fields.iter(), &trailer);
        });
        Writer::new(Framing::NoBody, false, head)
    }

    /// The reply is decided: notes its status, and whether the connection can outlive it.
    fn begin_reply(&mut self, status: u16, framing: Framing) {
        self.reply.status = Some(status);
        self.reply.framing = Some(framing);
        // Clients take 1xx for an announcement: the end tells them that there is nothing else to come.
        self.reply.close |= framing == Framing::UntilClose || (100..200).contains(&status);
        self.settle_connection();
    }

    /// What the server adds to a head, unless the reply has its own.
    fn trailer<'d>(&self, framing: Framing, date: &'d response::HttpDate) -> Trailer<'d> {
        let version = self.request.head.version_minor();
        // A request that was not understood gets an explicit word about the connection in any case.
        let version = if self.request.head.method(self.request.bytes).is_empty() { 1 } else { version };
        let has = |name: &[u8]| self.reply.fields.get(name).is_some();
        Trailer {
            server: (!has(b"Server")).then_some(self.rules().server.as_bytes()),
            date: (!has(b"Date")).then_some(date),
            framing,
            connection: ConnectionField::choose(version, !self.reply.close),
        }
    }

    /// A listener that was removed, or a body that will not be read to its end, closes the connection.
    fn settle_connection(&mut self) {
        self.reply.close |= self.connection.slot.is_closed() || !self.incoming.can_be_discarded(&self.rest);
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
            log.write(self.connection.event_loop.lane(), &mut self.variables());
        }
        if let Some(console) = crate::console::get() {
            console.write(self);
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
