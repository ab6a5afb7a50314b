//! The `return` action: a status, as an error page, with a Location, or with a body.

use corral_config::route::Return;
use corral_config::template::Template;

use crate::exchange::response::ResponseWriter;
use crate::reply::html::is_markup;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::variables::encoded::{HtmlValues, append_location};

/// Answers with an error page, or a reply of which the configuration says all.
pub(crate) async fn answer(response: &mut ResponseWriter<'_, '_>, answer: &Return) -> Result<(), Gone> {
    if answer.body.is_none() && (400..600).contains(&answer.status) {
        return send_error(response, answer.status).await;
    }
    response.forget_kept_status();
    if let Some(template) = &answer.location {
        let (mut scratch, mut location) = (buffers::take(), buffers::take());
        let rendered = append_location(template, response.variables(), &mut scratch, &mut location);
        buffers::give(scratch);
        if let Err(exception) = rendered {
            return response.fail_script(&exception).await;
        }
        // An empty value leads nowhere, unless the configuration says just that.
        if !location.is_empty() || template.is_constant().is_some() {
            response.reply.fields.push(b"Location", &location);
        }
        buffers::give(location);
    }
    match &answer.body {
        Some(body) => send_text(response, answer, body).await,
        None => response.send_empty(answer.status).await,
    }
}

async fn send_text(
    response: &mut ResponseWriter<'_, '_>,
    answer: &Return,
    body: &Template,
) -> Result<(), Gone> {
    let mut text = buffers::take();
    let content_type = answer.content_type.as_deref().unwrap_or(PLAIN_TEXT);
    let rendered = match is_markup(content_type) {
        true => body.render(&mut HtmlValues(response.variables()), &mut text),
        false => body.render(&mut response.variables(), &mut text),
    };
    if let Err(exception) = rendered {
        return response.fail_script(&exception).await;
    }
    response.reply.fields.push(b"Content-Type", content_type.as_bytes());
    let sent = response.open(answer.status, Some(text.len() as u64)).finish(response, &text).await;
    buffers::give(text);
    sent
}

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// Sends an error. One that was asked for in the place of another is sent as it is.
async fn send_error(response: &mut ResponseWriter<'_, '_>, status: u16) -> Result<(), Gone> {
    if response.answers_error() {
        return response.open_page(status).finish(response, b"").await;
    }
    response.send_error(status).await
}
