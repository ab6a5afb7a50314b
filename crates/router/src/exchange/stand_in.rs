//! `errors`: an action in the place of an error, or of an answer that names what is to be sent.

use corral_config::route::ErrorActions;

use super::response::ResponseWriter;
use crate::request::routing::route_progress::StandIn;

impl<'c> ResponseWriter<'_, 'c> {
    /// Notes the action that stands in for this error, if there is one; then nothing else is sent. An error of that
    /// action has none, so that this comes to an end.
    pub(super) fn finds_stand_in(&mut self, status: u16) -> bool {
        self.finds_stand_in_among(status, |_| true)
    }

    /// The same, of those actions that are `meant`.
    fn finds_stand_in_among(&mut self, status: u16, meant: impl Fn(&ErrorActions) -> bool) -> bool {
        if self.reply.status.is_some() || self.route.error.is_some() {
            return false;
        }
        let find = |errors: &'c ErrorActions| errors.find(status).filter(|_| meant(errors));
        let closed = self.route.closed.take().and_then(find);
        let Some(action) = closed.or_else(|| self.route.leave_to(|options| find(options.errors.as_deref()?)))
        else {
            return false;
        };
        self.reply.fields.clear();
        self.route.stand_in = Some(StandIn::Action(action));
        self.route.error = Some(status);
        self.route.kept_status = Some(status);
        true
    }

    /// The same for an error that an application has answered with, or for an answer that names what is to be sent in
    /// its place: it is to be dropped.
    pub(crate) fn intercepts<'f>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> bool {
        self.note_upstream_head(status);
        let is_caught =
            (400..600).contains(&status) && self.finds_stand_in_among(status, |errors| errors.intercept);
        if is_caught && status == 401 {
            self.keep_challenges(fields);
            return true;
        }
        is_caught || self.finds_redirect(fields)
    }

    /// A page in the place of a 401 asks for the credentials that were asked for: there is none without (RFC 9110
    /// section 15.5.2).
    fn keep_challenges<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) {
        let asked = fields.filter(|(name, _)| name.eq_ignore_ascii_case(b"www-authenticate"));
        self.reply.challenges = asked.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect();
    }
}
