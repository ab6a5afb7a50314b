//! The `return` action: a status, as an error page, with a Location, or with a body.

use corral_config::route::{Facts, Return};
use corral_config::template::{Exception, Script, Template, Variable, Variables};

use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::variables::RequestVariables;

/// Answers with an error page, or a reply of which the configuration says all.
pub(crate) async fn answer(exchange: &mut Exchange<'_>, answer: &Return) -> Result<(), Gone> {
    if answer.body.is_none() && (400..600).contains(&answer.status) {
        return send_error(exchange, answer.status).await;
    }
    exchange.forget_kept_status();
    if let Some(template) = &answer.location {
        let mut text = buffers::take();
        let rendered = template.render(&mut Encoded(exchange.variables()), &mut text);
        if let Err(exception) = rendered {
            return exchange.fail_script(&exception).await;
        }
        let mut location = buffers::take();
        corral_http::path::append_location(&text, &mut location);
        exchange.reply.fields.push(b"Location", &location);
        buffers::give(location);
        buffers::give(text);
    }
    match &answer.body {
        Some(body) => send_text(exchange, answer, body).await,
        None => exchange.send_empty(answer.status).await,
    }
}

async fn send_text(exchange: &mut Exchange<'_>, answer: &Return, body: &Template) -> Result<(), Gone> {
    let mut text = buffers::take();
    if let Err(exception) = body.render(&mut exchange.variables(), &mut text) {
        return exchange.fail_script(&exception).await;
    }
    let content_type = answer.content_type.as_deref().unwrap_or(PLAIN_TEXT);
    exchange.reply.fields.push(b"Content-Type", content_type.as_bytes());
    let sent = exchange.open(answer.status, Some(text.len() as u64)).finish(exchange, &text).await;
    buffers::give(text);
    sent
}

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// What was asked for in the place of another error is sent as it is.
async fn send_error(exchange: &mut Exchange<'_>, status: u16) -> Result<(), Gone> {
    if exchange.answers_error() {
        return exchange.open_page(status).finish(exchange, b"").await;
    }
    exchange.send_error(status).await
}

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
