//! `authenticate`: asks the methods of a place whether a request may go on, and answers those that may not.

mod certificate;
mod forward;
mod password;
mod token;

use std::fmt::Display;

use corral_config::authentication::{Authentication, Method};

use crate::authentication::{Authenticator, Means};
use crate::clock::Millis;
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::request::identity::Identity;

/// The outcome for a request.
pub(crate) enum Verdict {
    /// The request goes on.
    Passed,
    /// An error with this status is to be sent.
    Refused(u16),
    /// The server that was asked has answered it.
    Answered,
}

/// The word of one method.
enum Word {
    Passed(Identity),
    /// The request has nothing that this method could go by. The field asks for it, where there is one to ask by.
    Lacking(Option<String>),
    /// The request has something, but it is not enough.
    Refused(Refusal),
    /// Nobody knows: neither this request nor others can be let pass by any method.
    Unknown(u16),
    /// The client has its answer.
    Answered,
}

/// Credentials that are not enough.
struct Refusal {
    /// 401 where others may do, 403 where the client is known.
    status: u16,
    /// `WWW-Authenticate`.
    challenge: Option<String>,
    /// For the log, without the credentials.
    reason: String,
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
        match place.ask(exchange, method, means).await? {
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

/// A place where clients are asked who they are.
#[derive(Clone, Copy)]
struct Place<'c> {
    authentication: &'c Authentication,
    authenticator: &'c Authenticator,
}

impl<'c> Place<'c> {
    async fn ask(
        self,
        exchange: &mut Exchange<'c>,
        method: &'c Method,
        means: &'c Means,
    ) -> Result<Word, Gone> {
        match (method, means) {
            (Method::Basic(basic), Means::Passwords(file)) => {
                password::ask(self, exchange, basic, file).await
            }
            (Method::Jwt(jwt), Means::Keys(keys, rules)) => {
                token::ask(self, exchange, jwt, keys, rules).await
            }
            (Method::Forward(forward), Means::Permissions(permissions)) => {
                forward::ask(self, exchange, forward, permissions).await
            }
            (Method::Certificate(certificate), _) => Ok(certificate::ask(exchange, certificate)),
            // The means are made of the methods.
            _ => Ok(Word::Unknown(500)),
        }
    }

    /// Logs that a request was not let pass, once in a second.
    fn complain(self, exchange: &Exchange<'_>, reason: &dyn Display) {
        if let Some(unsaid) = self.authenticator.refusals.admit(Millis::of(exchange.now())) {
            let place = &self.authentication.place;
            let mut client = Vec::new();
            crate::request::ip_text::append(exchange.client.address.map(|client| client.ip()), &mut client);
            tracing::warn!("{place}: refused {}, {reason}{unsaid}", String::from_utf8_lossy(&client));
        }
    }

    /// Logs that nobody can be let pass, once in a second.
    fn fail(self, exchange: &Exchange<'_>, fault: &dyn Display) {
        if let Some(unsaid) = self.authenticator.failures.admit(Millis::of(exchange.now())) {
            tracing::error!("{}: nobody can be authenticated: {fault}{unsaid}", self.authentication.place);
        }
    }
}

/// The value of `Authorization`, if there is one, and just one.
fn authorization<'t>(exchange: &Exchange<'t>) -> Option<&'t [u8]> {
    let request = exchange.request;
    let mut fields = request.head.fields(request.bytes);
    let mut values = std::iter::from_fn(|| {
        fields.find(|(name, _)| name.eq_ignore_ascii_case(b"authorization")).map(|(_, value)| value)
    });
    let value = values.next()?;
    values.next().is_none().then_some(value)
}
