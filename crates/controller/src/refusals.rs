//! The replies to changes of the configuration that were not made.

use corral_config::json::edit::EditError;
use hyper::StatusCode;

use crate::reply::ApiReply;
use crate::state::ChangeError;

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
