//! `settings.http.request_id`: a request keeps the value that it came with, or gets a new one; applications, other
//! servers and the client are told the same one that `$request_id` is.

use corral_config::settings::{KeptIds, RequestIdSettings};

use super::request::RoutedRequest;
use crate::reply::ReplyFields;
use crate::request::routing::route_progress::FieldChange;

/// The longest value that is kept.
const MAX_LEN: usize = 128;

/// Decides what the request is known by, before anything asks for it.
#[cold]
pub(super) fn settle<'c>(request: &mut RoutedRequest<'c>, rule: &'c RequestIdSettings, is_trusted: bool) {
    let name = rule.header.as_bytes();
    let is_kept = match rule.keep {
        KeptIds::Never => false,
        KeptIds::Trusted => is_trusted,
        KeptIds::Always => true,
    };
    let sent = if is_kept { sole_value(request, name) } else { None };
    let id = request.settle_id(sent.filter(|id| is_well_formed(id))).to_vec();
    request.change_field(FieldChange { name, value: Some(id) });
}

/// Tells the client.
#[cold]
pub(super) fn tell(request: &RoutedRequest<'_>, rule: &RequestIdSettings, fields: &mut ReplyFields) {
    if rule.respond {
        fields.remove_all(rule.header.as_bytes());
        fields.push(rule.header.as_bytes(), request.id());
    }
}

/// The value of the only field of this name.
fn sole_value<'c>(request: &RoutedRequest<'c>, name: &'c [u8]) -> Option<&'c [u8]> {
    let mut values = request.values(name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Whether it is a name that can stand in logs and headers everywhere.
fn is_well_formed(id: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_LEN).contains(&id.len()) && id.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_of_some_length_are_kept() {
        for kept in ["a", "0f-3_x.Y", &"z".repeat(128)] {
            assert!(is_well_formed(kept.as_bytes()), "{kept}");
        }
        for refused in ["", "a b", "a\tb", "a,b", "a\"", "é", "a/b", "a\0", &"z".repeat(129)] {
            assert!(!is_well_formed(refused.as_bytes()), "{refused:?}");
        }
    }
}
