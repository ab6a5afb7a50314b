//! The workers of one application, for viewers that look at it.

use corral_config::json::{Bytes, Value};
use hyper::StatusCode;

use crate::state::Controller;
use crate::workers;

/// The list as `/control/applications/NAME/workers` answers it; none where there is no such application, or nothing is
/// known.
pub(super) async fn workers_of(controller: &Controller, name: &str) -> Option<Value> {
    let reply = workers::list(controller, &[Bytes::from(name)]).await;
    (reply.status == StatusCode::OK).then_some(reply.body)
}
