//! `request_headers`: the request's fields as applications and other servers see them. Conditions and
//! variables see them as the client has sent them.

use corral_config::route::HeaderChange;
use corral_config::template::Exception;

use super::Routing;
use crate::reply::disarm;
use crate::request::routing::route_progress::FieldChange;

impl<'c> Routing<'_, 'c> {
    /// Works the new values out.
    pub(super) fn change_request(&mut self, changes: &'c [HeaderChange]) -> Result<(), Exception> {
        for HeaderChange { name, value } in changes {
            let value = match value {
                None => None,
                Some(template) => {
                    let mut text = Vec::new();
                    template.render(&mut self.variables(), &mut text)?;
                    disarm(&mut text);
                    // A value that variables leave empty removes the header.
                    (!text.is_empty() || template.is_constant().is_some()).then_some(text)
                }
            };
            self.request.change_field(FieldChange { name: name.as_bytes(), value });
        }
        Ok(())
    }

    /// `substitute`: texts are found in bodies that are neither packed nor parts of others. What is surely of another
    /// type may come in parts.
    #[cold]
    pub(super) fn ask_for_whole_text(&mut self) {
        let known = self.request.request_settings().mime_types.lookup(self.request.path());
        let may_be_text = known.is_none_or(|mime_type| self.route.substitutes_in(mime_type));
        self.request.change_field(FieldChange { name: b"Accept-Encoding", value: None });
        if may_be_text {
            self.request.change_field(FieldChange { name: b"Range", value: None });
        }
    }
}
