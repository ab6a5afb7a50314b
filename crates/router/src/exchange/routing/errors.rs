//! `errors`: an action in the place of an error.

use corral_config::route::ErrorActions;

use crate::exchange::Exchange;
use crate::request::routing::route_progress::StandIn;

impl<'c> Exchange<'c> {
    /// Notes the action that stands in for this error, if there is one; then nothing else is sent. An error of that
    /// action has none, so that this comes to an end.
    pub(crate) fn finds_stand_in(&mut self, status: u16) -> bool {
        self.finds_stand_in_among(status, |_| true)
    }

    /// The same, of those actions that are `meant`.
    fn finds_stand_in_among(&mut self, status: u16, meant: impl Fn(&ErrorActions) -> bool) -> bool {
        if self.reply.status.is_some() || self.way.error.is_some() {
            return false;
        }
        let find = |errors: &'c ErrorActions| errors.find(status).filter(|_| meant(errors));
        let closed = self.way.closed.take().and_then(find);
        let Some(action) = closed.or_else(|| self.way.leave_to(|options| find(options.errors.as_deref()?)))
        else {
            return false;
        };
        self.reply.fields.clear();
        self.way.stand_in = Some(StandIn::Action(action));
        self.way.error = Some(status);
        self.way.kept_status = Some(status);
        true
    }

    /// The same for an error that an application has answered with, or for an answer that names what is to be sent in
    /// its place: it is to be dropped.
    pub(crate) fn intercepts<'f>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> bool {
        let is_caught =
            (400..600).contains(&status) && self.finds_stand_in_among(status, |errors| errors.intercept);
        if is_caught && status == 401 {
            self.keep_challenges(fields);
            return true;
        }
        is_caught || self.finds_redirect(fields)
    }

    /// A page in the place of a 401 asks for the credentials that were asked for: there is none without (RFC 9110
    /// section
    /// 15.5.2).
    fn keep_challenges<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) {
        let asked = fields.filter(|(name, _)| name.eq_ignore_ascii_case(b"www-authenticate"));
        self.reply.challenges = asked.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect();
    }

    /// Takes what is to answer now in the place of an error or of another answer.
    pub(crate) fn take_stand_in(&mut self) -> Option<StandIn<'c>> {
        self.way.stand_in.take()
    }

    /// Whether another answer came before: its method and body were meant for that.
    pub(crate) fn answers_in_place(&self) -> bool {
        self.answers_error() || self.way.is_redirected
    }

    /// Whether an error is being answered: its page does not depend on method and conditions of the request.
    pub(crate) fn answers_error(&self) -> bool {
        self.way.error.is_some()
    }

    /// The status that an error's page is sent with: the first error, whatever came of the action in its place.
    pub(crate) fn first_error(&self, status: u16) -> u16 {
        self.way.error.unwrap_or(status)
    }

    /// A page in the place of an error keeps the error's status.
    pub(crate) fn kept_status(&self, status: u16) -> u16 {
        self.way.kept_status.filter(|_| status == 200).unwrap_or(status)
    }

    /// The configuration says which status it is to be.
    pub(crate) fn forget_kept_status(&mut self) {
        self.way.kept_status = None;
    }
}
