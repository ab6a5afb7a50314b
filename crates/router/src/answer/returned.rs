//! The `return` action: a status, as an error page or with a Location.

use corral_config::route::{Facts, Return};
use corral_config::template::{Exception, Script, Variable, Variables};

use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::variables::RequestVariables;

/// Answers with an error page, or an empty reply with a Location.
pub(crate) async fn answer(exchange: &mut Exchange<'_>, answer: &Return) -> Result<(), Gone> {
    if (400..600).contains(&answer.status) {
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
    exchange.send_empty(answer.status).await
}

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
