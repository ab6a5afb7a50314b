//! `/control/certificates/NAME/renew`: an automatic certificate is ordered now. The reply does not wait for it;
//! `/status` says what has come of it.

use corral_acme::RenewError;
use corral_config::json::Bytes;
use hyper::StatusCode;

use crate::reply::ApiReply;
use crate::state::Controller;

pub(crate) fn answer(controller: &Controller, path: &[Bytes]) -> ApiReply {
    let name = path.first().and_then(Bytes::to_str).map(str::to_ascii_lowercase);
    let renewed = name.ok_or(RenewError::Unknown).and_then(|name| controller.engine().renew(&name));
    match renewed {
        Ok(()) => ApiReply::success("Ok"),
        Err(RenewError::Unknown) => ApiReply::error(StatusCode::NOT_FOUND, "Certificate doesn't exist."),
        Err(error @ (RenewError::UnderWay | RenewError::NeedsDns)) => {
            let detail = error.to_string();
            ApiReply::error_with_detail(StatusCode::CONFLICT, "Failed to renew certificate.", &detail)
        }
    }
}
