//! `/config/history`: the configurations that were in force, and putting one of them in force again.

use corral_config::json::{Bytes, Value};
use hyper::{Method, StatusCode};

use crate::api_request::ApiRequest;
use crate::hidden::configuration_for;
use crate::history::ChangeNote;
use crate::query::Query;
use crate::refusals;
use crate::reply::ApiReply;
use crate::state::{ChangeRequest, Controller, Storing};

/// Answers a request whose method the path has. `path` is empty, or the number of one of them.
pub(crate) async fn answer(
    controller: &Controller,
    call: &ApiRequest<'_>,
    query: Query,
    path: &[Bytes],
    note: ChangeNote<'_>,
) -> ApiReply {
    let Some(id) = path.first() else { return ApiReply::value(controller.history().list()) };
    let entry = number(id).and_then(|id| controller.history().find(id));
    let Some(entry) = entry else { return ApiReply::missing() };
    let Some(mut configuration) = entry.configuration() else {
        return ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal error.");
    };
    if *call.method != Method::POST {
        let mut members = controller.history().describe(&entry);
        let seen = configuration_for(call.grant.level, &configuration).into_owned();
        members.insert(Bytes::from("config"), seen);
        return ApiReply::value(Value::Object(members));
    }
    let lost = controller.insertions().restore_at(&mut configuration, &entry.inserted);
    if !lost.is_empty() {
        return ApiReply::invalid_configuration(&lost);
    }
    let change = ChangeRequest {
        storing: Storing::Store,
        dry_run: query.dry_run,
        conditions: Some(&call.conditions),
        note,
        ..ChangeRequest::default()
    };
    let edit = |root: &mut Value| {
        root.clone_from(&configuration);
        Ok(())
    };
    refusals::changed(controller.change(change, edit).await)
}

/// A number that is written as the API writes it.
fn number(segment: &Bytes) -> Option<u32> {
    let text = segment.to_str()?;
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        for (text, expected) in [
            ("12", Some(12)),
            ("0", Some(0)),
            ("012", None),
            ("+1", None),
            ("-1", None),
            ("1.0", None),
            ("4294967296", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(number(&Bytes::from(text)), expected, "{text}");
        }
    }
}
