//! Opens a reply, through an encoder if the configuration and the request want it so.

use super::response::ResponseWriter;
use super::writer::BodyWriter;
use crate::reply::compression::{
    CompressionChoice, Effort, Encoder, add_vary, change_fields, is_compressible,
};

impl ResponseWriter<'_, '_> {
    /// Decides how the reply goes out whose fields are complete, and makes its head.
    pub(super) fn open_encoded(&mut self, status: u16, length: Option<u64>) -> BodyWriter {
        let chosen = match self.decide_coding(status, length) {
            CompressionChoice::Plain(_) => return self.write_head(status, length),
            CompressionChoice::NotAcceptable => return self.open_page(406),
            CompressionChoice::Compressed(chosen, _) => chosen,
        };
        match Encoder::new(chosen.coding, chosen.level, Effort::Streamed) {
            Ok(encoder) => {
                let fields = &mut self.reply.fields;
                change_fields(fields, chosen.coding);
                let is_live = fields.get(b"Content-Type").is_some_and(is_event_stream);
                self.write_head(status, None).encoded(encoder, length, is_live)
            }
            Err(error) => {
                tracing::error!("start a compressor for \"{}\": {error}", chosen.coding.name());
                self.write_head(status, length)
            }
        }
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
}

/// Server-sent events: each piece is for the client to see at once.
fn is_event_stream(content_type: &[u8]) -> bool {
    content_type.get(..17).is_some_and(|name| name.eq_ignore_ascii_case(b"text/event-stream"))
}
