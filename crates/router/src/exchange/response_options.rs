//! Options of actions about responses, where a response is opened: `expires`, `charset` and `limit_rate`.

use std::time::Instant;

use corral_config::pattern::GivenUp;
use corral_config::responses::{Charset, Expires};

use super::pace::Pace;
use super::response::ResponseWriter;
use crate::reply::charset;

impl<'c> ResponseWriter<'_, 'c> {
    /// Whether `expires` says something of what answers. An error in the place of a page is nothing to keep.
    pub(crate) fn has_expiry(&self) -> bool {
        self.expires().is_some() && !self.answers_error()
    }

    /// The value of Cache-Control by `expires` for content of this path and type. It is asked for once.
    pub(crate) fn expiry(&mut self, path: &[u8], mime_type: &[u8]) -> Result<Option<&'c str>, GivenUp> {
        let expires = self.expires().filter(|_| !self.answers_error());
        self.reply.expiry_is_settled |= expires.is_some();
        expires.map_or(Ok(None), |expires| expires.value(path, mime_type))
    }

    fn expires(&self) -> Option<&'c Expires> {
        self.route.says_of_content(|options| options.expires.as_ref())
    }

    /// Adds Cache-Control by `expires` to a reply that says nothing of it.
    pub(super) fn add_expiry(&mut self, status: u16) -> Result<(), GivenUp> {
        if self.reply.expiry_is_settled || !(200..400).contains(&status) {
            return Ok(());
        }
        let Some(expires) = self.expires() else { return Ok(()) };
        let fields = &mut self.reply.fields;
        if fields.get(b"Cache-Control").is_some() || fields.get(b"Expires").is_some() {
            return Ok(());
        }
        let path = self.request.path();
        // A 304 has no type.
        let known = || self.request.request_settings().mime_types.lookup(path);
        let mime_type = fields.get(b"Content-Type").or_else(known).unwrap_or_default();
        if let Some(value) = expires.value(path, mime_type)? {
            fields.push(b"Cache-Control", value.as_bytes());
        }
        Ok(())
    }

    /// Adds the character set to a type that does not say its own.
    pub(super) fn add_charset(&mut self) {
        if let Some(Charset::Named(name)) = self.route.says(|options| options.charset.as_ref()) {
            charset::add(&mut self.reply.fields, name);
        }
    }

    /// The pace of the body. Errors are as short as they are soon over.
    pub(super) fn pace(&self, status: u16) -> Option<Box<Pace>> {
        let limit = self.route.says(|options| options.limit_rate)?;
        let is_limited = limit.rate > 0 && (200..300).contains(&status) && !self.request.is_head();
        is_limited.then(|| Box::new(Pace::new(limit, Instant::now())))
    }
}
