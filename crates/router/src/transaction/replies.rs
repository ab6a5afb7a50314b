//! How a reply is made: its status, its fields and the head with which it leaves.

use std::fmt::Display;

use corral_config::route::{Facts, HeaderChange, Return};
use corral_config::template::{Exception, Script, Variable, Variables};
use corral_http::response::{self, Connection as ConnectionField, Framing, Trailer};
use smallvec::SmallVec;

use super::{Transaction, disarm};
use crate::answer::share;
use crate::desk::{self, Desk};
use crate::event_loop::clock;
use crate::observe::telemetry::TRACEPARENT;
use crate::reply::explanation;
use crate::reply::outgoing;
use crate::reply::writer::Writer;
use crate::request::client::Gone;
use crate::request::script;
use crate::request::variables::RequestVariables;
use crate::storage::buffers;

/// The type of error pages for programs (RFC 9457).
const PROBLEM: &[u8] = b"application/problem+json";

/// The body of an error page.
type Page = SmallVec<[u8; response::ERROR_PAGE_LEN]>;

/// Values for a Location: a host of a client's is a part of it, whatever is in it.
struct Encoded<'t>(RequestVariables<'t>);

impl Variables for Encoded<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        match variable {
            Variable::Host => corral_http::path::append_encoded_host(Facts::host(&self.0), out),
            _ => self.0.append(variable, out),
        }
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        self.0.evaluate(script, out)
    }
}

impl Transaction<'_> {
    /// `return`: an error page, or an empty reply with a Location.
    pub(super) async fn send_return(&mut self, answer: &Return) -> Result<(), Gone> {
        if (400..600).contains(&answer.status) {
            return self.send_returned_error(answer.status).await;
        }
        self.forget_kept_status();
        if let Some(template) = &answer.location {
            let mut text = buffers::take();
            let rendered = template.render(&mut Encoded(self.variables()), &mut text);
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

    /// A template or a pattern of the configuration could not be worked out for this request.
    pub(crate) async fn fail_script(&mut self, fault: &impl Display) -> Result<(), Gone> {
        script::report(fault);
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
        if let Some(desk) = desk::explaining() {
            return Box::pin(self.explain(desk, status)).await;
        }
        self.open_page(status).finish(self, b"").await
    }

    /// An error page for whoever works on the site.
    async fn explain(&mut self, desk: &Desk, status: u16) -> Result<(), Gone> {
        let page = explanation::explain(desk, status, self.path()).await;
        self.reply.fields.clear();
        self.reply.fields.push(b"Content-Type", b"text/html; charset=utf-8");
        self.write_head(status, Some(page.len() as u64)).finish(self, &page).await
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
        // What templates of fields see is the reply as it would be without them.
        self.reply.framing = Some(Framing::choose(status, self.request.head.version_minor(), length));
        if let Err(exception) = self.change_fields(status) {
            script::report(&exception);
            return self.open_bare_page(500);
        }
        outgoing::open(self, status, length)
    }

    /// `response_headers` of the last action, whose templates see the reply as it was before and its status.
    fn change_fields(&mut self, status: u16) -> Result<(), Exception> {
        let Some(action) = self.way.action else { return Ok(()) };
        let changes = &action.options.response_headers;
        if changes.is_empty() {
            return Ok(());
        }
        let changes = || changes.iter().filter(|change| change.is_for(status));
        self.reply.status = Some(status);
        let mut text = buffers::take();
        let mut ends = SmallVec::<[usize; 8]>::new();
        for value in changes().filter_map(|change| change.value.as_ref()) {
            value.render(&mut self.variables(), &mut text)?;
            ends.push(text.len());
        }
        disarm(&mut text);
        let mut ends = ends.into_iter();
        let mut start = 0;
        for HeaderChange { name, value } in changes() {
            match value.as_ref().and_then(|_| ends.next()) {
                Some(end) => {
                    self.reply.fields.set(name.as_bytes(), &text[start..end]);
                    start = end;
                }
                None => self.reply.fields.remove(name.as_bytes()),
            }
        }
        buffers::give(text);
        Ok(())
    }

    /// A complete error page, which is not compressed; nothing of another reply's body comes after it.
    pub(crate) fn open_page(&mut self, status: u16) -> Writer {
        let page = self.prepare_page(status);
        self.reply.framing = Some(Framing::Length(page.len() as u64));
        if let Err(exception) = self.change_fields(status) {
            script::report(&exception);
        }
        self.write_page(status, &page)
    }

    /// The same where what the configuration says of the fields cannot be worked out.
    fn open_bare_page(&mut self, status: u16) -> Writer {
        let page = self.prepare_page(status);
        self.write_page(status, &page)
    }

    fn write_page(&mut self, status: u16, page: &[u8]) -> Writer {
        let mut writer = self.write_head(status, Some(page.len() as u64));
        writer.hold(self, page);
        writer
    }

    /// Fields and body of an error page.
    fn prepare_page(&mut self, status: u16) -> Page {
        self.reply.fields.clear();
        match status {
            406 => self.reply.fields.push(b"Vary", b"Accept-Encoding"),
            426 => self.reply.fields.push(b"Sec-WebSocket-Version", b"13"),
            _ => {}
        }
        if !self.rules().negotiate_errors {
            self.reply.fields.push(b"Content-Type", response::ERROR_PAGE_TYPE);
            return html(status);
        }
        let accept = self.request.head.fields(self.request.bytes);
        let accept = accept.filter(|(name, _)| name.eq_ignore_ascii_case(b"accept")).map(|(_, value)| value);
        let wants_json = share::prefers_json(accept, &[b"application/json", PROBLEM]);
        self.reply.fields.push(b"Vary", b"Accept");
        if !wants_json {
            self.reply.fields.push(b"Content-Type", response::ERROR_PAGE_TYPE);
            return html(status);
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
        if let Some(seconds) = self.reply.retry_after {
            self.reply.fields.set(b"Retry-After", seconds);
        }
        let mut head = buffers::take();
        clock::with_date(|date| {
            let trailer = self.trailer(framing, date);
            self.append_head(status, &trailer, &mut head);
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
            self.append_head(101, &trailer, &mut head);
        });
        Writer::new(Framing::NoBody, false, head)
    }

    fn append_head(&self, status: u16, trailer: &Trailer<'_>, head: &mut Vec<u8>) {
        response::append_status_line(head, status);
        self.reply.fields.append_to(head);
        response::append_trailer(head, trailer);
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
        self.reply.close |= self.connection.slot.is_closed() || !self.incoming.comes_uninvited(&self.rest);
    }
}

/// The page for people.
fn html(status: u16) -> Page {
    match status {
        response::PLAIN_ON_TLS => SmallVec::from_slice(response::PLAIN_ON_TLS_PAGE),
        _ => response::error_page(status).into(),
    }
}
