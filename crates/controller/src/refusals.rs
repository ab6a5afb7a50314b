//! The replies to changes of the configuration: those that were made, and why others were not.

use corral_config::json::edit::EditError;
use hyper::StatusCode;

use crate::reply::ApiReply;
use crate::state::{ChangeError, Changed};

/// The reply to a change.
pub(crate) fn changed(result: Result<Changed, ChangeError>) -> ApiReply {
    match result {
        Ok(Changed::Applied { tag, warnings }) => {
            let reply = ApiReply::success("Reconfiguration done.").tagged(&tag);
            if warnings.is_empty() { reply } else { reply.with_warning(&warnings.join("; ")) }
        }
        Ok(Changed::Valid) => ApiReply::success("The configuration is valid; nothing has been changed."),
        Err(error) => not_changed(&error),
    }
}

/// The reply to a change that was not made.
pub(crate) fn not_changed(error: &ChangeError) -> ApiReply {
    match error {
        ChangeError::Condition => ApiReply::error_with_detail(
            StatusCode::PRECONDITION_FAILED,
            "Precondition failed.",
            "The configuration is not the one that \"If-Match\" or \"If-None-Match\" asks for; read it again.",
        ),
        ChangeError::Edit(EditError::Missing) => ApiReply::missing(),
        ChangeError::Edit(EditError::NotAllowed) => ApiReply::method_not_allowed(),
        ChangeError::Edit(error @ EditError::TooDeep) => {
            let detail = format!("With this change, {error}.");
            ApiReply::error_with_detail(StatusCode::BAD_REQUEST, "Invalid configuration.", &detail)
        }
        ChangeError::Invalid(problems) => ApiReply::invalid_configuration(problems),
        ChangeError::Superseded => ApiReply::superseded(),
        ChangeError::NotApplied(error) => ApiReply::not_applied(&error.to_string()),
    }
}
