//! The effect of each path and method of the control API (contract 3.3 and 3.5).
//!
//! Knows requests as method, target and body; connections belong to `server`.

use std::sync::Arc;

use corral_config::json::edit;
use corral_config::json::{self, Bytes, Value};
use corral_config::plan::AssetKind;
use corral_config::process_groups;
use corral_ipc::message::Status;
use corral_metrics::Format;
use hyper::{Method, StatusCode};

use crate::access::ControlAccess;
use crate::api_request::ApiRequest;
use crate::dashboard::{login, page, stream};
use crate::endpoints::{ApiResource, Endpoint, Otherwise};
use crate::hidden::configuration_for;
use crate::history::ChangeNote;
use crate::main_link::MainError;
use crate::query::{self, Query};
use crate::reply::{ApiReply, object};
use crate::state::{ChangeError, ChangeRequest, Controller, Effect, Storing};
use crate::uploads::Texts;
use crate::{config_history, exec, files, metrics, openapi, refusals, renewal, status, uploads, workers};

/// Answers one request. Must run to its end, because it may change the configuration.
pub(crate) async fn answer(
    controller: &Controller,
    access: &ControlAccess,
    call: &ApiRequest<'_>,
) -> ApiReply {
    let Some(segments) = edit::segments(call.target.as_bytes()) else { return ApiReply::missing() };
    let Some((endpoint, path)) = Endpoint::find(&segments) else { return ApiReply::missing() };
    if endpoint.operation(call.method).is_none() {
        return refuse(endpoint);
    }
    let parsed =
        Query::parse(call.target).and_then(|query| Ok((query, query::text(call.target, "comment")?)));
    let (query, comment) = match parsed {
        Ok(parsed) => parsed,
        Err(detail) => return ApiReply::invalid_query(&detail),
    };
    if endpoint.resource == ApiResource::Restart && *call.method == Method::GET && call.grant.is_from_browser
    {
        let detail = "A browser has sent the request, and a link must not restart anything: use POST.";
        return ApiReply::error_with_detail(StatusCode::METHOD_NOT_ALLOWED, "Method isn't allowed.", detail);
    }
    if let Some(refusal) = files::refusal(controller, call, endpoint.resource, query) {
        return refusal;
    }
    if !acts(endpoint.resource, call.method) || query.dry_run {
        return carry_out(controller, access, call, endpoint, query, path, ChangeNote::default()).await;
    }
    let author = call.author().await;
    let note = ChangeNote { author: &author, comment: comment.as_deref() };
    let reply = carry_out(controller, access, call, endpoint, query, path, note).await;
    if reply.status.is_success() {
        log_action(call, note);
    }
    reply
}

/// Whether a request changes something.
fn acts(resource: ApiResource, method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD) || resource == ApiResource::Restart
}

/// Says in the log what was done, and at whose wish.
fn log_action(call: &ApiRequest<'_>, note: ChangeNote<'_>) {
    let path = call.target.split(['?', '#']).next().unwrap_or_default();
    let path: String = path.chars().take(LONGEST_LOGGED).collect();
    let comment = note.comment.map(|comment| format!(" ({comment})")).unwrap_or_default();
    tracing::info!(target: "notice", "{}: {} {path}{comment}", note.author, call.method);
}

/// Characters of a path in the log.
const LONGEST_LOGGED: usize = 300;

async fn carry_out(
    controller: &Controller,
    access: &ControlAccess,
    call: &ApiRequest<'_>,
    endpoint: &Endpoint,
    query: Query,
    path: &[Bytes],
    note: ChangeNote<'_>,
) -> ApiReply {
    match endpoint.resource {
        ApiResource::Index => index(controller, call).await,
        ApiResource::Config => config(controller, call, query, path, note).await,
        ApiResource::History => config_history::answer(controller, call, query, path, note).await,
        ApiResource::Certificates => {
            uploads::answer(controller, AssetKind::Certificate, call, query, path).await
        }
        ApiResource::Scripts => uploads::answer(controller, AssetKind::Script, call, query, path).await,
        ApiResource::Status => status(controller, path).await,
        ApiResource::Metrics => metrics(controller, call).await,
        ApiResource::Restart => restart(controller, path).await,
        ApiResource::Run => run(controller, path).await,
        ApiResource::Exec => exec::answer(controller, call.uid(), path).await,
        ApiResource::Workers => workers::list(controller, path).await,
        ApiResource::EndWorker => workers::end(controller, path).await,
        ApiResource::Renew => renewal::answer(controller, path),
        ApiResource::OpenApi => ApiReply::value(openapi::document()),
        ApiResource::Page => page::answer(call),
        ApiResource::Session => login::session(access, call, controller.files_to_change()).await,
        ApiResource::Events => stream::answer(controller, call),
        ApiResource::SessionTokens => login::issue(access, call).await,
    }
}

fn refuse(endpoint: &Endpoint) -> ApiReply {
    match (endpoint.otherwise, endpoint.resource) {
        (Otherwise::InvalidMethod, _) => ApiReply::invalid_method(),
        (Otherwise::NotAllowed, _) => ApiReply::method_not_allowed(),
        (Otherwise::InvalidName, ApiResource::Scripts) => Texts::of(AssetKind::Script).invalid_name(),
        (Otherwise::InvalidName, _) => Texts::of(AssetKind::Certificate).invalid_name(),
    }
}

/// `/`: everything there is.
async fn index(controller: &Controller, call: &ApiRequest<'_>) -> ApiReply {
    match status_value(controller).await {
        Ok(status) => ApiReply::value(object([
            ("certificates", controller.uploads().list(AssetKind::Certificate)),
            ("js_modules", controller.uploads().list(AssetKind::Script)),
            ("config", configuration_for(call.grant.level, &controller.in_force().shown.value).into_owned()),
            ("status", status),
        ])),
        Err(reply) => reply,
    }
}

async fn config(
    controller: &Controller,
    call: &ApiRequest<'_>,
    query: Query,
    path: &[Bytes],
    note: ChangeNote<'_>,
) -> ApiReply {
    let is_too_long = path.iter().any(|segment| segment.len() > MAX_SEGMENT);
    let change = ChangeRequest {
        storing: Storing::Store,
        dry_run: query.dry_run,
        conditions: Some(&call.conditions),
        path,
        note,
        ..ChangeRequest::default()
    };
    match *call.method {
        Method::GET | Method::HEAD if is_too_long => ApiReply::missing(),
        Method::GET | Method::HEAD => read(controller, call, path),
        _ if is_too_long => {
            let detail = format!("A name in the path is longer than {MAX_SEGMENT} bytes.");
            ApiReply::error_with_detail(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Memory allocation failed.",
                &detail,
            )
        }
        Method::DELETE => {
            let change = ChangeRequest { effect: Effect::Remove, ..change };
            refusals::changed(controller.change(change, |root| edit::delete(root, path)).await)
        }
        _ => {
            let value = match json::parse_text(call.body) {
                Ok(value) => value,
                Err(error) => return ApiReply::invalid_json(&error),
            };
            let (edit, effect): (fn(&mut Value, &edit::Path, Value) -> _, _) = match *call.method {
                Method::PUT => (edit::put, Effect::Replace),
                _ => (edit::post, Effect::Append),
            };
            let insertions = controller.insertions();
            let edit = |root: &mut Value| edit(root, path, value.clone()).map(|()| insertions.restore(root));
            refusals::changed(controller.change(ChangeRequest { effect, ..change }, edit).await)
        }
    }
}

fn read(controller: &Controller, call: &ApiRequest<'_>, path: &[Bytes]) -> ApiReply {
    let in_force = controller.in_force();
    let seen = configuration_for(call.grant.level, &in_force.shown.value);
    let Ok(value) = edit::get(&seen, path) else { return ApiReply::missing() };
    if call.conditions.is_unchanged(&in_force.tag) {
        return ApiReply::not_modified().tagged(&in_force.tag);
    }
    ApiReply::value(value.clone()).tagged(&in_force.tag)
}

async fn status(controller: &Controller, path: &[Bytes]) -> ApiReply {
    match status_value(controller).await {
        Ok(status) => ApiReply::part(&status, path),
        Err(reply) => reply,
    }
}

async fn metrics(controller: &Controller, call: &ApiRequest<'_>) -> ApiReply {
    let figures = match figures(controller).await {
        Ok(figures) => figures,
        Err(reply) => return reply,
    };
    let format = Format::accepted_by(call.accept);
    let all = metrics::exposition(&figures, &controller.engine().status());
    let all = all.without(&metrics::left_out_labels(&controller.in_force().document));
    ApiReply::text(format.content_type(), all.into_body(format))
}

async fn status_value(controller: &Controller) -> Result<Value, ApiReply> {
    let figures = figures(controller).await?;
    Ok(status::value(&figures, controller.modules(), &controller.engine().status()))
}

async fn figures(controller: &Controller) -> Result<Arc<Status>, ApiReply> {
    controller
        .figures()
        .await
        .ok_or_else(|| ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, "Failed to get status."))
}

/// `/control/applications/NAME/restart`.
async fn restart(controller: &Controller, path: &[Bytes]) -> ApiReply {
    let in_force = controller.in_force();
    let applications = in_force.document.member("applications").and_then(Value::as_object);
    let found = path.first().and_then(|name| applications?.get_key_value(name));
    let named = found.and_then(|(name, application)| Some((name, name.to_str()?, application)));
    let Some((name, text, application)) = named else { return ApiReply::missing() };
    for group in process_groups(text, application) {
        match controller.restart(name, group).await {
            Ok(()) => {}
            Err(ChangeError::NotApplied(MainError::Refused(reason))) => {
                return ApiReply::error_with_detail(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Failed to restart app.",
                    &reason,
                );
            }
            Err(ChangeError::Superseded) => return ApiReply::superseded(),
            Err(_) => return ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, "Send restart failed."),
        }
    }
    ApiReply::success("Ok")
}

/// `/control/applications/NAME/run`.
async fn run(controller: &Controller, path: &[Bytes]) -> ApiReply {
    let Some(name) = controller.application_name(path) else { return ApiReply::missing() };
    match controller.main().run(name).await {
        Ok(()) => ApiReply::success("Ok"),
        Err(MainError::Refused(reason)) => {
            ApiReply::error_with_detail(StatusCode::CONFLICT, "Failed to run app.", &reason)
        }
        Err(MainError::Revoked | MainError::Link(_)) => {
            ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, "Send run failed.")
        }
    }
}

/// Longest name in a path, in bytes (contract 3.2).
const MAX_SEGMENT: usize = 256;
