//! `request_headers`: the request's fields as applications and other servers see them. Conditions and
//! variables see them as the client has sent them.

use corral_cgi::variables::is_one_variable;
use corral_config::route::HeaderChange;
use corral_config::template::Exception;

use crate::exchange::Exchange;
use crate::reply::disarm;
use crate::request::routing::route_progress::FieldChange;

impl<'c> Exchange<'c> {
    /// Works the new values out. A later action overrides an earlier one.
    pub(super) fn change_request(&mut self, changes: &'c [HeaderChange]) -> Result<(), Exception> {
        for HeaderChange { name, value } in changes {
            let value = match value {
                None => None,
                Some(template) => {
                    let mut text = Vec::new();
                    template.render(&mut self.variables(), &mut text)?;
                    disarm(&mut text);
                    Some(text)
                }
            };
            let name = name.as_bytes();
            self.field_changes.retain(|change| !change.name.eq_ignore_ascii_case(name));
            self.field_changes.push(FieldChange { name, value });
        }
        Ok(())
    }

    /// The request's fields with the changes of `request_headers`: a new value stands in the place of all fields of
    /// its name, behind the others.
    pub(crate) fn request_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let kept = self.request.head.fields(self.request.bytes).filter(|(name, _)| !self.changes_field(name));
        let changes = self.field_changes.iter();
        kept.chain(changes.filter_map(|change| Some((change.name, change.value.as_deref()?))))
    }

    /// Whether the configuration has its own word on the fields of this name, or of one that scripts cannot tell from
    /// it.
    pub(crate) fn changes_field(&self, name: &[u8]) -> bool {
        self.field_changes.iter().any(|change| is_one_variable(change.name, name))
    }
}
