//! How a reply is opened: its status, its fields and the head with which it leaves.

use corral_config::route::{HeaderChange, Undecided};
use corral_http::response::ReplyFraming;
use smallvec::SmallVec;

use super::carrier::{ConnectionUse, ReplyHead};
use super::response::ResponseWriter;
use super::writer::BodyWriter;
use super::{cors, https_only, request_id};
use crate::clock;
use crate::observe::telemetry::TRACEPARENT;
use crate::reply::{disarm, secure};
use crate::storage::buffers;
use crate::variables::encoded::append_location;
use crate::variables::script;

/// The status that says by `Upgrade` what else is spoken here (RFC 9110 section 15.5.22).
pub(crate) const UPGRADE_REQUIRED: u16 = 426;

impl ResponseWriter<'_, '_> {
    /// The one way out: applies what the configuration has to say about the reply's fields, and makes a head of
    /// them. `length` is that of the body, if it is known.
    pub(crate) fn open(&mut self, status: u16, length: Option<u64>) -> BodyWriter {
        let status = self.route.final_status(status);
        // What templates of fields see is the reply as it would be without them.
        self.reply.framing = Some(self.client.carrier.framing(status, length));
        if let Err(undecided) = self.change_fields(status) {
            script::report(&undecided);
            return self.open_bare_page(500);
        }
        self.open_encoded(status, length)
    }

    /// `headers`, `expires` and `response_headers` of the actions on the way. Templates see the reply as it was before
    /// the latter, and its status.
    pub(super) fn change_fields(&mut self, status: u16) -> Result<(), Undecided> {
        self.restore_fields(status);
        if self.route.layers.is_empty() {
            return Ok(());
        }
        if self.route.layers.iter().any(|layer| layer.options.secure) {
            // A listener that insists on TLS says so itself, in its own words.
            let is_for_all = self.request.settings.listener().https_only.is_some();
            secure::add(&mut self.reply.fields, self.request.client.tls && !is_for_all);
        }
        self.add_expiry(status)?;
        let changes: SmallVec<[&HeaderChange; 8]> = self.route.changes(status).collect();
        if changes.is_empty() {
            return Ok(());
        }
        self.reply.status = Some(status);
        let mut text = buffers::take();
        let mut ends = SmallVec::<[usize; 8]>::new();
        for HeaderChange { name, value } in changes.iter().copied() {
            let Some(value) = value else { continue };
            if name.eq_ignore_ascii_case("Location") {
                let mut scratch = buffers::take();
                append_location(value, self.variables(), &mut scratch, &mut text)?;
                buffers::give(scratch);
            } else {
                value.render(&mut self.variables(), &mut text)?;
            }
            ends.push(text.len());
        }
        disarm(&mut text);
        let mut ends = ends.into_iter();
        let mut start = 0;
        for HeaderChange { name, value } in changes {
            // A value that variables leave empty removes the field; one that is written so is sent.
            let is_written = value.as_ref().is_some_and(|value| value.is_constant().is_some());
            match value.as_ref().and_then(|_| ends.next()) {
                Some(end) if start < end || is_written => {
                    self.reply.fields.set(name.as_bytes(), &text[start..end]);
                    start = end;
                }
                _ => self.reply.fields.remove(name.as_bytes()),
            }
        }
        buffers::give(text);
        Ok(())
    }

    /// The head of all that is in the reply's fields.
    pub(crate) fn write_head(&mut self, status: u16, length: Option<u64>) -> BodyWriter {
        let framing = self.client.carrier.framing(status, length);
        self.begin_reply(status, framing);
        if let Some(trace) = &self.request.trace {
            self.reply.fields.set(TRACEPARENT, &trace.header());
        }
        if let Some(seconds) = self.reply.retry_after {
            self.reply.fields.set(b"Retry-After", itoa::Buffer::new().format(seconds).as_bytes());
        }
        if let Some(quota) = self.reply.quota.take() {
            quota.tell(|name, value| self.reply.fields.set(name, value));
        }
        if matches!(status, 401 | 403) {
            let challenges = std::mem::take(&mut self.reply.challenges);
            challenges.iter().for_each(|one| self.reply.fields.push(b"WWW-Authenticate", one.as_bytes()));
        }
        if status == UPGRADE_REQUIRED && self.reply.fields.get(b"Upgrade").is_some() {
            self.reply.fields.push(b"Connection", b"Upgrade");
        }
        cors::share_with_origin(self.request, self.route, &mut self.reply.fields);
        self.add_charset();
        let is_head = self.request.is_head();
        let then = if self.reply.close { ConnectionUse::Nothing } else { ConnectionUse::More };
        self.hold_head(status, framing, !is_head, then);
        BodyWriter::new(framing, is_head).closing(self.reply.close).paced(self.pace(status))
    }

    /// The head that switches the connection to another protocol, of all that is in the reply's fields.
    pub(crate) fn open_switch(&mut self) -> BodyWriter {
        self.reply.status = Some(101);
        self.reply.close = true;
        self.hold_head(101, ReplyFraming::NoBody, false, ConnectionUse::Switched);
        BodyWriter::new(ReplyFraming::NoBody, false)
    }

    /// With what the server adds, unless the reply has its own.
    fn hold_head(&mut self, status: u16, framing: ReplyFraming, has_body: bool, then: ConnectionUse) {
        https_only::secure_transport(self.request, &mut self.reply.fields);
        let settings = self.request.request_settings();
        if let Some(rule) = &settings.request_id {
            request_id::tell(self.request, rule, &mut self.reply.fields);
        }
        let server = settings.server.as_bytes();
        let Self { client, reply, .. } = self;
        let fields = &reply.fields;
        let has = |name: &[u8]| fields.get(name).is_some();
        let server = (!has(b"Server")).then_some(server);
        clock::with_date(|date| {
            let date = (!has(b"Date")).then_some(date);
            client.carrier.begin(&ReplyHead { status, fields, server, date, framing, has_body, then });
        });
    }

    /// The reply is decided: notes its status, and whether the connection can outlive it.
    fn begin_reply(&mut self, status: u16, framing: ReplyFraming) {
        self.reply.status = Some(status);
        self.reply.framing = Some(framing);
        // Clients take 1xx for an announcement: the end tells them that there is nothing else to come.
        self.reply.close |= framing == ReplyFraming::UntilClose || (100..200).contains(&status);
        self.reply.close |= self.client.carrier.is_last();
    }
}
