//! The `return` action: a status, as an error page, with a Location, or with a body.

use corral_config::route::Return;
use corral_config::template::Template;

use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::variables::encoded::{HtmlValues, append_location};

/// Answers with an error page, or a reply of which the configuration says all.
pub(crate) async fn answer(exchange: &mut Exchange<'_>, answer: &Return) -> Result<(), Gone> {
    if answer.body.is_none() && (400..600).contains(&answer.status) {
        return send_error(exchange, answer.status).await;
    }
    exchange.forget_kept_status();
    if let Some(template) = &answer.location {
        let (mut scratch, mut location) = (buffers::take(), buffers::take());
        let rendered = append_location(template, exchange.variables(), &mut scratch, &mut location);
        buffers::give(scratch);
        if let Err(exception) = rendered {
            return exchange.fail_script(&exception).await;
        }
        // An empty value leads nowhere, unless the configuration says just that.
        if !location.is_empty() || template.is_constant().is_some() {
            exchange.reply.fields.push(b"Location", &location);
        }
        buffers::give(location);
    }
    match &answer.body {
        Some(body) => send_text(exchange, answer, body).await,
        None => exchange.send_empty(answer.status).await,
    }
}

async fn send_text(exchange: &mut Exchange<'_>, answer: &Return, body: &Template) -> Result<(), Gone> {
    let mut text = buffers::take();
    let content_type = answer.content_type.as_deref().unwrap_or(PLAIN_TEXT);
    let rendered = match is_markup(content_type) {
        true => body.render(&mut HtmlValues(exchange.variables()), &mut text),
        false => body.render(&mut exchange.variables(), &mut text),
    };
    if let Err(exception) = rendered {
        return exchange.fail_script(&exception).await;
    }
    exchange.reply.fields.push(b"Content-Type", content_type.as_bytes());
    let sent = exchange.open(answer.status, Some(text.len() as u64)).finish(exchange, &text).await;
    buffers::give(text);
    sent
}

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// Sends an error. One that was asked for in the place of another is sent as it is.
async fn send_error(exchange: &mut Exchange<'_>, status: u16) -> Result<(), Gone> {
    if exchange.answers_error() {
        return exchange.open_page(status).finish(exchange, b"").await;
    }
    exchange.send_error(status).await
}

/// Whether browsers read elements and scripts in a body of this type.
fn is_markup(content_type: &str) -> bool {
    let is_html = content_type.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("text/html"));
    is_html || content_type.to_ascii_lowercase().contains("xml")
}
