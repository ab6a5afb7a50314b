//! `authenticate`: asks the methods of a place whether a request may go on, and answers those that may not.

mod certificate;
mod forward;
mod password;
mod place;
mod token;
mod word;

use corral_config::authentication::Method;

use self::place::Place;
use self::word::Word;
use crate::authentication::Means;
use crate::exchange::Exchange;
use crate::request::client::Gone;

/// The outcome for a request.
pub(crate) enum Verdict {
    /// The request goes on.
    Passed,
    /// An error with this status is to be sent.
    Refused(u16),
    /// The server that was asked has answered it.
    Answered,
}

/// Asks one method after the other until one lets the request pass. A server is asked last, as its refusal is an answer.
pub(crate) async fn ask(exchange: &mut Exchange<'_>, place: usize) -> Result<Verdict, Gone> {
    let generation = &exchange.settings.generation;
    let found = generation.config.authentications.get(place).zip(generation.shared.authenticators.get(place));
    let Some((authentication, authenticator)) = found else { return Ok(Verdict::Refused(500)) };
    let place = Place { authentication, authenticator };
    let is_forward = |means: &Means| matches!(means, Means::Permissions(_));
    let methods = || authentication.methods.iter().zip(&authenticator.means);
    let own = methods().filter(|(_, means)| !is_forward(means));
    let mut refused = Refused::default();
    for (method, means) in own.chain(methods().filter(|(_, means)| is_forward(means))) {
        match ask_method(place, exchange, method, means).await? {
            Word::Passed(identity) => {
                exchange.identity = Some(Box::new(identity));
                return Ok(Verdict::Passed);
            }
            Word::Answered => return Ok(Verdict::Answered),
            Word::Unknown(status) => return Ok(Verdict::Refused(status)),
            Word::Lacking(challenge) => refused.challenges.extend(challenge),
            Word::Refused(refusal) => {
                place.complain(exchange, &refusal.reason);
                refused.is_known |= refusal.status == 403;
                refused.challenges.extend(refusal.challenge);
            }
        }
    }
    let status = if refused.is_known || refused.challenges.is_empty() { 403 } else { 401 };
    exchange.reply.challenges = refused.challenges;
    Ok(Verdict::Refused(status))
}

/// The refusals of the methods so far.
#[derive(Default)]
struct Refused {
    challenges: Vec<String>,
    /// The client is known, and may not go on all the same.
    is_known: bool,
}

/// Asks one method.
async fn ask_method<'c>(
    place: Place<'c>,
    exchange: &mut Exchange<'c>,
    method: &'c Method,
    means: &'c Means,
) -> Result<Word, Gone> {
    match (method, means) {
        (Method::Basic(basic), Means::Passwords(file)) => password::ask(place, exchange, basic, file).await,
        (Method::Jwt(jwt), Means::Keys(keys, rules)) => token::ask(place, exchange, jwt, keys, rules).await,
        (Method::Forward(forward), Means::Permissions(permissions)) => {
            forward::ask(place, exchange, forward, permissions).await
        }
        (Method::Certificate(certificate), _) => Ok(certificate::ask(exchange, certificate)),
        // The means are made of the methods.
        _ => Ok(Word::Unknown(500)),
    }
}
