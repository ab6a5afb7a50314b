//! The replies to changes of the configuration that were not made.

use corral_config::json::edit::EditError;
use hyper::StatusCode;

use crate::reply::Reply;
use crate::state::ChangeError;

/// The reply to a change that was not made.
pub(crate) fn not_changed(error: &ChangeError) -> Reply {
    match error {
        ChangeError::Condition => Reply::error_with_detail(
            StatusCode::PRECONDITION_FAILED,
            "Precondition failed.",
            "The configuration is not the one that \"If-Match\" or \"If-None-Match\" asks for; read it again.",
        ),
        ChangeError::Edit(EditError::Missing) => Reply::missing(),
        ChangeError::Edit(EditError::NotAllowed) => Reply::method_not_allowed(),
        ChangeError::Edit(error @ EditError::TooDeep) => {
            let detail = format!("With this change, {error}.");
            Reply::error_with_detail(StatusCode::BAD_REQUEST, "Invalid configuration.", &detail)
        }
        ChangeError::Invalid(problems) => Reply::invalid_configuration(problems),
        ChangeError::Superseded => Reply::superseded(),
        ChangeError::NotApplied(error) => Reply::not_applied(&error.to_string()),
    }
}
