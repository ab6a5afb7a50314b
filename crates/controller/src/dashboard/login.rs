//! `/dashboard/session` and `/dashboard/tokens`: a browser begins a session with a token that it shows once, and has a
//! cookie from then on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::json::{self, Bytes, Value};
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};

use super::sessions::TOKEN_LIFETIME;
use crate::access::{ControlAccess, Credential};
use crate::access_level::AccessLevel;
use crate::api_request::ApiRequest;
use crate::query;
use crate::reply::{ApiReply, object};

/// Answers a request to `/dashboard/session`. `files` are the files that are to be changed in place of the API.
pub(crate) async fn session(access: &ControlAccess, call: &ApiRequest<'_>, files: Option<&str>) -> ApiReply {
    match *call.method {
        Method::POST => begin(access, call).await,
        Method::DELETE => end(access, call),
        _ if call.grant.level == AccessLevel::None => unauthorized("No session has begun, or it has ended."),
        _ => ApiReply::value(object([
            ("access", Value::from(call.grant.level.word())),
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
            ("files", files.map_or(Value::Null, Value::from)),
        ]))
        .uncached(),
    }
}

/// Answers a request to `/dashboard/tokens`: a token for a browser of a client that may do everything.
pub(crate) async fn issue(access: &ControlAccess, call: &ApiRequest<'_>) -> ApiReply {
    // Sessions that begin others would have no end.
    if matches!(call.grant.credential, Credential::Session(_)) {
        let detail = "A session does not begin others. Show the control token, or use `corral dashboard`.";
        return ApiReply::error_with_detail(StatusCode::FORBIDDEN, "Forbidden.", detail);
    }
    let level = match query::text(call.target, "access").as_ref().map(Option::as_deref) {
        Ok(None | Some("full")) => AccessLevel::Full,
        Ok(Some("read")) => AccessLevel::Read,
        Ok(Some(_)) => {
            return ApiReply::invalid_query("The \"access\" query parameter must be \"full\" or \"read\".");
        }
        Err(detail) => return ApiReply::invalid_query(detail),
    };
    let token = access.issue(level, call.owner().await.into(), Instant::now());
    let expires = Value::from(TOKEN_LIFETIME.as_secs());
    ApiReply::value(object([("token", Value::from(&*token)), ("expires_in", expires)])).uncached()
}

async fn begin(access: &ControlAccess, call: &ApiRequest<'_>) -> ApiReply {
    // Where so many are wrong, none is looked at: it would tell them apart too fast.
    let Some(_place) = access.place_for_guess() else {
        let detail = "Too many wrong tokens were shown; try again in a second.";
        return ApiReply::error_with_detail(StatusCode::TOO_MANY_REQUESTS, "Too many requests.", detail);
    };
    let shown = match shown(call.body) {
        Ok(shown) => shown,
        Err(refusal) => return *refusal,
    };
    let now = Instant::now();
    let Some((level, owner)) = access.redeem(&shown, now) else {
        tokio::time::sleep(GUESSING_PAUSE).await;
        return unauthorized(
            "The token is wrong, was used already or is too old. `corral dashboard` makes a new link.",
        );
    };
    let owner = match owner {
        Some(owner) => owner,
        None => Arc::from(call.owner_with_token().await),
    };
    match access.begin_session(level, owner, now) {
        Some(secret) => {
            let reply = ApiReply::value(object([("access", Value::from(level.word()))])).uncached();
            set_cookie(reply, &call.grant.cookie.begin(&secret, call.grant.is_over_tls))
        }
        None => {
            let detail = "There are too many sessions; one of them has to end first.";
            ApiReply::error_with_detail(StatusCode::SERVICE_UNAVAILABLE, "Too many sessions.", detail)
        }
    }
}

/// The token in a body.
fn shown(body: &[u8]) -> Result<Bytes, Box<ApiReply>> {
    let body = json::parse_text(body).map_err(|error| ApiReply::invalid_json(&error))?;
    body.member("token").and_then(Value::as_bytes).cloned().ok_or_else(|| {
        let detail = "The body must be an object with a \"token\".";
        Box::new(ApiReply::error_with_detail(StatusCode::BAD_REQUEST, "Invalid request body.", detail))
    })
}

fn end(access: &ControlAccess, call: &ApiRequest<'_>) -> ApiReply {
    let Credential::Session(session) = &call.grant.credential else {
        return unauthorized("No session has begun, or it has ended.");
    };
    access.end_session(session);
    set_cookie(ApiReply::success("Ok").uncached(), &call.grant.cookie.end(call.grant.is_over_tls))
}

fn set_cookie(reply: ApiReply, cookie: &str) -> ApiReply {
    match HeaderValue::try_from(cookie) {
        Ok(field) => reply.with_field(header::SET_COOKIE, field),
        Err(_) => reply,
    }
}

fn unauthorized(detail: &str) -> ApiReply {
    ApiReply::error_with_detail(StatusCode::UNAUTHORIZED, "Unauthorized.", detail).uncached()
}

/// How long the answer to a wrong token takes.
const GUESSING_PAUSE: Duration = Duration::from_secs(1);
