//! Error pages, and replies without a body.

use std::fmt::Display;

use corral_http::request::is_loopback;
use corral_http::response::{self, ReplyFraming};
use smallvec::SmallVec;

use super::response::ResponseWriter;
use super::writer::BodyWriter;
use crate::dev_reload::{self, DevReload};
use crate::error_chain::Chain;
use crate::reply::explanation;
use crate::reply::preference::PROBLEM;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::variables::script;

/// The body of an error page.
type ErrorPageBody = SmallVec<[u8; response::ERROR_PAGE_LEN]>;

impl ResponseWriter<'_, '_> {
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
        let status = self.route.first_error(status);
        if let Some(dev) = dev_reload::explaining()
            && self.is_for_this_machine()
        {
            return Box::pin(self.explain(dev, status)).await;
        }
        self.open_page(status).finish(self, b"").await
    }

    /// The page of an error that an application has answered with nothing but fields, which stay.
    pub(crate) async fn send_page_for_empty(&mut self, status: u16) -> Result<(), Gone> {
        let status = self.route.final_status(status);
        self.reply.fields.push(b"Vary", b"Accept");
        let page = self.add_page(status);
        self.open_with(status, &page).finish(self, b"").await
    }

    /// Sends nothing: the connection is closed, or the stream reset. Logs have nginx's number for it.
    pub(crate) fn close_without_reply(&mut self) -> Gone {
        self.reply.status = Some(NO_REPLY);
        self.client.carrier.give_no_reply();
        Gone
    }

    /// A template or a pattern of the configuration could not be worked out for this request.
    pub(crate) async fn fail_script(&mut self, fault: &impl Display) -> Result<(), Gone> {
        script::report(fault);
        self.send_error(500).await
    }

    /// A body that could not be read: whatever follows it cannot be told from it.
    pub(crate) async fn fail_body(&mut self, error: &BodyError) -> Result<(), Gone> {
        if matches!(error, BodyError::Gone) {
            self.reply.status = Some(error.status());
            return Err(Gone);
        }
        self.refuse_body(error).await
    }

    /// A body that is not read.
    pub(crate) async fn refuse_body(&mut self, error: &BodyError) -> Result<(), Gone> {
        let status = error.status();
        match error {
            BodyError::Store(_) => tracing::error!("request refused with {status}: {}", Chain(error)),
            _ => tracing::info!("request refused with {status}: {}", Chain(error)),
        }
        self.reply.refuse(error.refusal());
        self.reply.close = true;
        self.reply.linger = true;
        self.send_error(status).await
    }

    /// Whether the request's host is a name that only this machine has: a page of another site, whose name was made
    /// to lead here (DNS rebinding), must not read a trace.
    fn is_for_this_machine(&self) -> bool {
        is_loopback(self.request.received.head.host(self.request.received.bytes))
    }

    /// An error page for developers.
    async fn explain(&mut self, dev: &DevReload, status: u16) -> Result<(), Gone> {
        let began = self.request.received.started;
        let page = explanation::explain(dev, status, self.request.path(), began).await;
        self.reply.fields.clear();
        self.reply.fields.push(b"Content-Type", b"text/html; charset=utf-8");
        self.write_head(status, Some(page.len() as u64)).finish(self, &page).await
    }

    /// A complete error page, which is not compressed; nothing of another reply's body comes after it.
    pub(crate) fn open_page(&mut self, status: u16) -> BodyWriter {
        let page = self.prepare_page(status);
        self.open_with(status, &page)
    }

    fn open_with(&mut self, status: u16, page: &[u8]) -> BodyWriter {
        self.reply.framing = Some(ReplyFraming::Length(page.len() as u64));
        if let Err(undecided) = self.change_fields(status) {
            script::report(&undecided);
        }
        self.write_page(status, page)
    }

    /// The same where what the configuration says of the fields cannot be worked out.
    pub(super) fn open_bare_page(&mut self, status: u16) -> BodyWriter {
        let page = self.prepare_page(status);
        self.write_page(status, &page)
    }

    fn write_page(&mut self, status: u16, page: &[u8]) -> BodyWriter {
        let mut writer = self.write_head(status, Some(page.len() as u64));
        writer.hold(self, page);
        writer
    }

    /// Fields and body of an error page.
    fn prepare_page(&mut self, status: u16) -> ErrorPageBody {
        self.reply.fields.clear();
        match status {
            406 => self.reply.fields.push(b"Vary", b"Accept-Encoding"),
            426 => {
                self.reply.fields.push(b"Upgrade", b"websocket");
                self.reply.fields.push(b"Sec-WebSocket-Version", b"13");
            }
            _ => {}
        }
        if self.request.request_settings().negotiate_errors {
            self.reply.fields.push(b"Vary", b"Accept");
        }
        self.add_page(status)
    }

    /// The body of an error page, with the field that says what it is.
    fn add_page(&mut self, status: u16) -> ErrorPageBody {
        let wants_json = self.request.request_settings().negotiate_errors && self.request.wants_problem();
        let (media_type, page) = if wants_json {
            (PROBLEM, SmallVec::from_slice(response::problem(status).as_bytes()))
        } else {
            (response::ERROR_PAGE_TYPE, html(status))
        };
        self.reply.fields.set(b"Content-Type", media_type);
        page
    }
}

/// The status in logs of a request that gets no reply.
const NO_REPLY: u16 = 444;

/// The page for people.
fn html(status: u16) -> ErrorPageBody {
    match status {
        response::PLAIN_ON_TLS => SmallVec::from_slice(response::PLAIN_ON_TLS_PAGE),
        _ => response::error_page(status).into(),
    }
}
