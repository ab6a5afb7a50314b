//! `/control/applications/NAME/exec`: what `corral exec` runs a command with. Main decides whether the user may know
//! it, by what the kernel says about the connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use corral_config::json::{Bytes, Value};
use hyper::StatusCode;

use crate::main_link::MainError;
use crate::reply::{ApiReply, object};
use crate::state::Controller;

pub(crate) async fn answer(controller: &Controller, uid: Option<u32>, path: &[Bytes]) -> ApiReply {
    let Some(name) = controller.application_name(path) else { return ApiReply::missing() };
    let Some(uid) = uid else {
        let detail = "This is answered on a Unix socket alone, where the kernel says which user asks.";
        return ApiReply::error_with_detail(StatusCode::FORBIDDEN, REFUSED, detail);
    };
    match controller.main().describe_exec(name, uid).await {
        Ok(context) => ApiReply::value(object([
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
            ("context", Value::from(STANDARD.encode(context).as_str())),
        ])),
        Err(MainError::Refused(reason)) => {
            ApiReply::error_with_detail(StatusCode::CONFLICT, REFUSED, &reason)
        }
        Err(MainError::Revoked | MainError::Link(_)) => {
            ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, REFUSED)
        }
    }
}

const REFUSED: &str = "No command can be run.";
