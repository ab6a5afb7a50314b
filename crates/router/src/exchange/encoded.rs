//! Opens a reply whose body is changed on its way, if the configuration and the request want it so: unpacked, its texts
//! replaced, compressed.

use corral_config::responses::Substitution;
use corral_config::template::Exception;
use corral_http::encoding::{Accepted, ContentCoding};
use corral_http::request::KnownField;

use super::filter::{BodyFilter, FilterSteps};
use super::response::ResponseWriter;
use super::writer::BodyWriter;
use crate::reply::compression::{
    CompressionChoice, Effort, Encoder, add_vary, change_fields, has_own_body, is_compressible, lose_identity,
};
use crate::reply::html::is_markup;
use crate::reply::substituting::Substituter;
use crate::reply::unpacking::Unpacker;
use crate::variables::encoded::HtmlValues;
use crate::variables::script;

impl<'c> ResponseWriter<'_, 'c> {
    /// Decides how the reply goes out whose fields are complete, and makes its head.
    pub(super) fn open_encoded(&mut self, status: u16, length: Option<u64>) -> BodyWriter {
        let mut steps = match self.change_body(status, length) {
            Ok(steps) => steps,
            Err(exception) => {
                script::report(&exception);
                return self.open_bare_page(500);
            }
        };
        match self.decide_coding(status, length) {
            CompressionChoice::Plain(_) => {}
            CompressionChoice::NotAcceptable => return self.open_page(406),
            CompressionChoice::Compressed(chosen, _) => {
                match Encoder::new(chosen.coding, chosen.level, Effort::Streamed) {
                    Ok(encoder) => {
                        change_fields(&mut self.reply.fields, chosen.coding);
                        steps.encoder = Some(encoder);
                    }
                    Err(error) => {
                        tracing::error!("start a compressor for \"{}\": {error}", chosen.coding.name());
                    }
                }
            }
        }
        if steps.is_empty() {
            return self.write_head(status, length);
        }
        let is_live = self.reply.fields.get(b"Content-Type").is_some_and(is_event_stream);
        self.write_head(status, None).filtered(BodyFilter::new(steps, length, is_live))
    }

    fn decide_coding(&mut self, status: u16, length: Option<u64>) -> CompressionChoice {
        let Some(compression) = &self.request.request_settings().compression else {
            return CompressionChoice::Plain(0);
        };
        let fields = &mut self.reply.fields;
        if self.reply.coding_is_settled || length == Some(0) || !is_compressible(compression, status, fields)
        {
            return CompressionChoice::Plain(0);
        }
        add_vary(fields, b"Accept-Encoding");
        match compression.decide(&self.request.received) {
            CompressionChoice::Compressed(chosen, weight)
                if length.is_some_and(|length| length < chosen.min_length) =>
            {
                CompressionChoice::Plain(weight)
            }
            decision => decision,
        }
    }

    /// The texts that are replaced in bodies of this type, if there are any.
    fn substitution(&self, content_type: &[u8]) -> Option<&'c Substitution> {
        let substitution = self.route.says(|options| options.substitute.as_ref())?;
        let is_there = !substitution.rules.is_empty() && self.route.substitutes_in(content_type);
        is_there.then_some(substitution)
    }

    /// Whether texts are replaced in files of this type.
    pub(crate) fn substitutes(&self, content_type: Option<&[u8]>) -> bool {
        self.substitution(content_type.unwrap_or_default()).is_some()
    }

    /// `gunzip` and `substitute`: the steps that a body goes through, whose fields are changed with it.
    fn change_body(&mut self, status: u16, length: Option<u64>) -> Result<FilterSteps, Exception> {
        let mut steps = FilterSteps::default();
        if self.route.layers.is_empty() || !has_own_body(status) || length == Some(0) {
            return Ok(steps);
        }
        let fields = &self.reply.fields;
        let content_type = fields.get(b"Content-Type").unwrap_or_default();
        let substitution = self.substitution(content_type);
        if fields.get(b"Content-Encoding").is_some_and(is_gzip)
            && self.route.says(|options| options.gunzip) == Some(true)
        {
            let is_wanted = substitution.is_some() || !self.takes_gzip();
            let fields = &mut self.reply.fields;
            add_vary(fields, b"Accept-Encoding");
            if is_wanted {
                fields.remove_all(b"Content-Encoding");
                lose_identity(fields);
                steps.unpacker = Some(Unpacker::new());
            }
        }
        if let Some(substitution) = substitution
            && self.reply.fields.get(b"Content-Encoding").is_none()
        {
            steps.substituter = Some(self.substituter(substitution)?);
            lose_identity(&mut self.reply.fields);
            // The configuration is younger than the file, and variables have no age.
            self.reply.fields.remove_all(b"Last-Modified");
        }
        Ok(steps)
    }

    fn takes_gzip(&self) -> bool {
        let received = self.request.received;
        let values = received.head.values(received.bytes, KnownField::AcceptEncoding);
        Accepted::parse(values).weight(ContentCoding::Gzip) > 0
    }

    fn substituter(&self, substitution: &Substitution) -> Result<Substituter, Exception> {
        let content_type = self.reply.fields.get(b"Content-Type").unwrap_or_default();
        let is_markup = is_markup(&String::from_utf8_lossy(content_type));
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for rule in &substitution.rules {
            let mut text = Vec::new();
            match is_markup {
                true => rule.to.render(&mut HtmlValues(self.variables()), &mut text)?,
                false => rule.to.render(&mut self.variables(), &mut text)?,
            }
            from.push(rule.from.clone());
            to.push(text);
        }
        Ok(Substituter::new(substitution.finder.clone(), from, to))
    }
}

/// Server-sent events: each piece is for the client to see at once.
fn is_event_stream(content_type: &[u8]) -> bool {
    content_type.get(..17).is_some_and(|name| name.eq_ignore_ascii_case(b"text/event-stream"))
}

/// Whether a body is packed by gzip alone.
fn is_gzip(coding: &[u8]) -> bool {
    [&b"gzip"[..], b"x-gzip"].iter().any(|name| coding.eq_ignore_ascii_case(name))
}
