//! One request from its head to the end of its reply.

use std::io::IoSlice;
use std::pin::pin;
use std::time::Instant;

use corral_config::route::{Facts, Return};
use corral_http::request::Head;
use corral_http::response::{self, Connection as ConnectionField, Framing, PageBody, Trailer};

use crate::accept::SlotSettings;
use crate::body::{BodyError, Incoming};
use crate::connection::{Connection, Next, Refusal, Work};
use crate::routing::{self, Target};
use crate::rules::Rules;
use crate::variables::RequestVariables;
use crate::{application, buffers, clock, share};

/// A piece up to this size is copied behind the head.
const MAX_JOINED: usize = 4096;

/// The client's connection is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// A request while it is answered.
pub(crate) struct Transaction<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) settings: &'c SlotSettings,
    pub(crate) request: Request<'c>,
    /// What the client has sent behind the head.
    pub(crate) rest: Vec<u8>,
    pub(crate) incoming: Incoming,
    pub(crate) reply: Reply,
}

/// The request's head.
#[derive(Clone, Copy)]
pub(crate) struct Request<'c> {
    pub(crate) head: &'c Head,
    pub(crate) bytes: &'c [u8],
    pub(crate) started: Instant,
}

/// What has become of the reply so far.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// 0 while nothing was sent.
    pub(crate) status: u16,
    /// Bytes sent after the head.
    pub(crate) n_body_bytes: u64,
    /// The connection ends with this reply.
    pub(crate) close: bool,
    /// The client is likely to send on, though nobody reads it.
    linger: bool,
}

/// Answers the request whose head is complete in `work`.
pub(crate) async fn run(connection: &mut Connection, work: &mut Work, settings: SlotSettings) -> Next {
    connection.event_loop.counters.requests.add(1);
    let started = connection.now();
    let Work { input, head } = work;
    let mut rest = buffers::take();
    rest.extend_from_slice(&input[head.len()..]);
    input.truncate(head.len());
    let rules = &settings.generation.shared.rules;
    let (incoming, refused) = match Incoming::new(head.framing(), head.expects_continue(), rules) {
        Ok(incoming) => (incoming, None),
        Err(error) => (Incoming::none(), Some(error)),
    };
    let request = Request { head, bytes: input, started };
    let mut transaction = Transaction {
        connection,
        settings: &settings,
        request,
        rest,
        incoming,
        reply: Reply { close: !head.keep_alive(), ..Reply::default() },
    };
    let answered = match refused {
        Some(error) => transaction.refuse_body(&error).await,
        None => transaction.answer().await,
    };
    let next = transaction.finish(answered).await;
    let rest = std::mem::take(&mut transaction.rest);
    drop(transaction);
    buffers::give(std::mem::replace(input, rest));
    next
}

/// Answers what is no request: an error page, as far as the client can be reached, and a log entry.
pub(crate) async fn refuse(
    connection: &mut Connection,
    work: &mut Work,
    settings: &SlotSettings,
    refusal: Refusal,
) {
    connection.event_loop.counters.requests.add(1);
    let status = match refusal {
        Refusal::Malformed(error) => error.status(),
        Refusal::TimedOut => 408,
        Refusal::Cut => 400,
    };
    tracing::info!("request refused with {status}: {refusal}");
    let started = connection.now();
    let request = Request { head: &work.head, bytes: &work.input, started };
    let mut transaction = Transaction {
        connection,
        settings,
        request,
        rest: Vec::new(),
        incoming: Incoming::none(),
        reply: Reply { close: true, ..Reply::default() },
    };
    // Nothing follows, whether or not the client still listens.
    let _ = transaction.send_error(status).await;
    transaction.log();
}

impl<'c> Transaction<'c> {
    pub(crate) fn rules(&self) -> &'c Rules {
        &self.settings.generation.shared.rules
    }

    pub(crate) fn facts(&self) -> Facts<'c> {
        let Request { head, bytes, .. } = self.request;
        Facts { method: head.method(bytes), host: head.host(bytes), path: head.path(bytes) }
    }

    pub(crate) fn is_head(&self) -> bool {
        self.facts().method == b"HEAD"
    }

    pub(crate) fn variables(&self) -> RequestVariables<'c> {
        RequestVariables::new(self.request, self.connection.peer)
    }

    /// Follows the configuration to what answers the request.
    async fn answer(&mut self) -> Result<(), Gone> {
        let config = &self.settings.generation.config;
        let mut variables = self.variables();
        let mut target = routing::follow(config, &self.settings.pass, &self.facts(), &mut variables);
        loop {
            let share = match target {
                Target::Application { app, target } => return application::answer(self, app, target).await,
                Target::Return(answer) => return self.send_return(answer).await,
                Target::Nothing(status) => return self.send_error(status).await,
                Target::Share(share) => share,
            };
            let status = match share::answer(self, share).await? {
                share::Outcome::Sent => return Ok(()),
                share::Outcome::Missed(status) => status,
            };
            target = match &share.fallback {
                Some(action) => routing::follow_action(config, action, &self.facts(), &mut variables),
                None => Target::Nothing(status),
            };
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
            self.reply.status = error.status();
            return Err(Gone);
        }
        self.refuse_body(error).await
    }

    /// `return`: an error page, or an empty reply with a Location.
    async fn send_return(&mut self, answer: &Return) -> Result<(), Gone> {
        if (400..600).contains(&answer.status) {
            return self.send_error(answer.status).await;
        }
        let mut location = Vec::new();
        if let Some(template) = &answer.location {
            let mut text = Vec::new();
            template.render(&mut self.variables(), &mut text);
            corral_http::path::append_location(&text, &mut location);
        }
        let field = (&b"Location"[..], &location[..]);
        let fields = answer.location.is_some().then_some(field);
        self.send_empty(answer.status, fields).await
    }

    /// A reply with fields and no body.
    pub(crate) async fn send_empty<'f>(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Result<(), Gone> {
        let mut head = buffers::take();
        let framing = Framing::choose(status, self.request.head.version_minor(), Some(0));
        self.append_head(&mut head, status, fields, framing);
        let sent = self.send_head(head).await;
        sent.map(buffers::give)
    }

    /// An error page.
    pub(crate) async fn send_error(&mut self, status: u16) -> Result<(), Gone> {
        self.settle_connection();
        self.reply.status = status;
        let mut page = buffers::take();
        let body = if self.is_head() { PageBody::Omitted } else { PageBody::Sent };
        clock::with_date(|date| {
            let trailer = self.trailer(Framing::NoBody, Some(date));
            response::append_error(&mut page, status, &trailer, body);
        });
        if body == PageBody::Sent && response::permits_body(status) {
            self.reply.n_body_bytes = response::ERROR_PAGE_LEN as u64;
        }
        let sent = self.send(&mut [IoSlice::new(&page)]).await;
        buffers::give(page);
        sent
    }

    /// Appends a reply's head and remembers its status.
    pub(crate) fn append_head<'f>(
        &mut self,
        out: &mut Vec<u8>,
        status: u16,
        fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
        framing: Framing,
    ) {
        self.begin_reply(status, framing);
        response::append_status_line(out, status);
        for (name, value) in fields {
            response::append_field(out, name, value);
        }
        clock::with_date(|date| response::append_trailer(out, &self.trailer(framing, Some(date))));
    }

    /// The reply is decided: notes its status, and whether the connection can outlive it.
    pub(crate) fn begin_reply(&mut self, status: u16, framing: Framing) {
        self.reply.status = status;
        self.reply.close |= framing == Framing::UntilClose;
        self.settle_connection();
    }

    /// What the server adds to a head.
    pub(crate) fn trailer<'d>(&self, framing: Framing, date: Option<&'d response::HttpDate>) -> Trailer<'d> {
        let version = self.request.head.version_minor();
        // A request that was not understood gets an explicit word about the connection in any case.
        let version = if self.request.head.method(self.request.bytes).is_empty() { 1 } else { version };
        Trailer {
            server: Some(self.rules().server.as_bytes()),
            date,
            framing,
            connection: ConnectionField::choose(version, !self.reply.close),
        }
    }

    /// A listener that was removed, or a body that will not be read to its end, closes the connection.
    fn settle_connection(&mut self) {
        self.reply.close |= self.connection.slot.is_closed() || !self.incoming.can_be_discarded(&self.rest);
    }

    /// Sends a head alone and returns its buffer.
    pub(crate) async fn send_head(&mut self, head: Vec<u8>) -> Result<Vec<u8>, Gone> {
        self.send(&mut [IoSlice::new(&head)]).await?;
        Ok(head)
    }

    /// Sends a head and a piece of the body behind it: joined when that is cheaper than telling the kernel
    /// of two pieces.
    pub(crate) async fn send_both(&mut self, head: &mut Vec<u8>, piece: &[u8]) -> Result<(), Gone> {
        if piece.len() > MAX_JOINED {
            return self.send(&mut [IoSlice::new(head), IoSlice::new(piece)]).await;
        }
        head.extend_from_slice(piece);
        self.send(&mut [IoSlice::new(head)]).await
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
        if let Some(log) = &self.settings.generation.shared.access_log {
            log.write(&mut self.variables().with_reply(&self.reply));
        }
        if let Some(console) = crate::console::get() {
            console.write(self);
        }
    }
}
