//! `basic`: a user and a password (RFC 7617).

use std::sync::Arc;

use corral_auth::credentials;
use corral_config::authentication::Basic;

use super::place::Place;
use super::word::{Refusal, Word, authorization};
use crate::authentication::passwords::{Full, PasswordFile, Unchecked};
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::request::identity::Identity;

pub(super) async fn ask(
    place: Place<'_>,
    exchange: &mut Exchange<'_>,
    basic: &Basic,
    file: &Arc<PasswordFile>,
) -> Result<Word, Gone> {
    let challenge = || Some(format!("Basic realm=\"{}\", charset=\"UTF-8\"", basic.realm));
    let Some(sent) = authorization(exchange).and_then(credentials::basic) else {
        return Ok(Word::Lacking(challenge()));
    };
    let user = sent.user.clone();
    let is_right = if file.remembers(&sent) {
        Ok(true)
    } else {
        let client = exchange.client.address.map(|client| client.ip().to_canonical());
        tokio::select! {
            biased;
            () = exchange.audience().left_waiting() => return Err(Gone),
            checked = file.check(client, sent) => checked,
        }
    };
    Ok(match is_right {
        Ok(true) => Identity::new(user, b"Basic").map_or(Word::Unknown(500), Word::Passed),
        Ok(false) => {
            let reason = format!("wrong user or password for \"{}\"", user.escape_ascii());
            Word::Refused(Refusal { status: 401, challenge: challenge(), reason })
        }
        Err(error) => {
            let status = match &error {
                Unchecked::File(fault) => {
                    let fault = format!("the file \"{}\" cannot be used: {fault}", file.path().display());
                    place.fail(exchange, &fault);
                    return Ok(Word::Unknown(500));
                }
                Unchecked::Full(Full::Greedy) => 429,
                Unchecked::Full(Full::Crowded) | Unchecked::Thread => 503,
            };
            place.complain(exchange, &error);
            exchange.reply.retry_after = Some(RETRY_AFTER);
            Word::Unknown(status)
        }
    })
}

/// Seconds after which a client may try again whose password could not be checked.
const RETRY_AFTER: u32 = 1;
