//! What each path and method of the control API does (UNIT-COMPAT 3.3 and 3.5).
//!
//! Knows requests as method, target and body; connections belong to `server`.

use corral_config::json::edit::{self, EditError};
use corral_config::json::{self, Bytes, Value};
use hyper::{Method, StatusCode};

use crate::files;
use crate::main_link::MainError;
use crate::reply::{Reply, object};
use crate::state::{ChangeError, Controller, Storing};
use crate::status;

/// Answers one request. Must run to its end, because it may change the configuration.
pub(crate) async fn answer(controller: &Controller, method: &Method, target: &str, body: &[u8]) -> Reply {
    let Some(segments) = edit::segments(target.as_bytes()) else { return Reply::missing() };
    let Some((root, path)) = segments.split_first() else { return index(controller, method).await };
    if let Some(refusal) = files::refusal(controller, method, root, target) {
        return refusal;
    }
    match &**root {
        b"config" => config(controller, method, path, body).await,
        b"status" => status(controller, method, path).await,
        b"control" => control(controller, method, path).await,
        _ => Reply::missing(),
    }
}

/// `/`: everything there is.
async fn index(controller: &Controller, method: &Method) -> Reply {
    if !is_read(method) {
        return Reply::invalid_method();
    }
    match status_value(controller).await {
        Ok(status) => {
            let config = Value::clone(&controller.document());
            Reply::value(object([("config", config), ("status", status)]))
        }
        Err(reply) => reply,
    }
}

async fn config(controller: &Controller, method: &Method, path: &[Bytes], body: &[u8]) -> Reply {
    match *method {
        Method::GET | Method::HEAD => {
            let document = controller.document();
            edit::get(&document, path).map_or_else(|_| Reply::missing(), |value| Reply::value(value.clone()))
        }
        Method::DELETE => changed(controller.change(Storing::Store, |root| edit::delete(root, path)).await),
        Method::PUT | Method::POST => {
            let value = match json::parse(body) {
                Ok(value) => value,
                Err(error) => return Reply::invalid_json(&error),
            };
            let edit = if method == Method::PUT { edit::put } else { edit::post };
            changed(controller.change(Storing::Store, |root| edit(root, path, value)).await)
        }
        _ => Reply::method_not_allowed(),
    }
}

fn changed(result: Result<(), ChangeError>) -> Reply {
    match result {
        Ok(()) => Reply::success("Reconfiguration done."),
        Err(ChangeError::Edit(EditError::Missing)) => Reply::missing(),
        Err(ChangeError::Edit(EditError::NotAllowed)) => Reply::method_not_allowed(),
        Err(ChangeError::Edit(error @ EditError::TooDeep)) => {
            let detail = format!("With this change, {error}.");
            Reply::error_with_detail(StatusCode::BAD_REQUEST, "Invalid configuration.", &detail)
        }
        Err(ChangeError::Invalid(problems)) => Reply::invalid_configuration(&problems),
        Err(ChangeError::NotApplied(error)) => Reply::not_applied(&error.to_string()),
    }
}

async fn status(controller: &Controller, method: &Method, path: &[Bytes]) -> Reply {
    if !is_read(method) {
        return Reply::invalid_method();
    }
    let status = match status_value(controller).await {
        Ok(status) => status,
        Err(reply) => return reply,
    };
    match edit::get(&status, path) {
        Ok(value) => Reply::value(value.clone()),
        Err(_) => Reply::error(StatusCode::NOT_FOUND, "Invalid path."),
    }
}

async fn status_value(controller: &Controller) -> Result<Value, Reply> {
    match controller.main().status().await {
        Ok(Some(figures)) => Ok(status::value(&figures, controller.modules())),
        Ok(None) | Err(_) => Err(Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Failed to get status.")),
    }
}

/// `/control/applications/NAME/restart` is all there is.
async fn control(controller: &Controller, method: &Method, path: &[Bytes]) -> Reply {
    let [applications, name, restart] = path else { return Reply::missing() };
    if **applications != *b"applications" || **restart != *b"restart" {
        return Reply::missing();
    }
    if *method != Method::GET {
        return Reply::method_not_allowed();
    }
    let document = controller.document();
    let is_known = document
        .member("applications")
        .and_then(Value::as_object)
        .is_some_and(|apps| apps.contains_key(name));
    let Some(name) = name.to_str().filter(|_| is_known) else { return Reply::missing() };
    match controller.restart(name.to_owned()).await {
        Ok(()) => Reply::success("Ok"),
        Err(MainError::Refused(reason)) => {
            Reply::error_with_detail(StatusCode::INTERNAL_SERVER_ERROR, "Failed to restart app.", &reason)
        }
        Err(MainError::Link(_)) => Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Send restart failed."),
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
