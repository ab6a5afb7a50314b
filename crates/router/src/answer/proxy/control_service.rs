//! Requests that the control process answers: metrics, and the dashboard with the control API.

use corral_config::control_service::{BearerToken, ControlDestination, ControlService};
use corral_config::upstream::Timeouts;
use corral_http::request::KnownField;
use corral_http::response;
use corral_http::upstream::{NamedFields, is_hop_by_hop};
use corral_ipc::message::ControlCall;

use super::http1_request::{Http1Request, OutgoingHead};
use super::receive::AttemptFailure;
use super::request::{append_length, append_target};
use super::subrequest::SubrequestResponse;
use super::upload::{Upload, UploadDestination};
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerConnection;

/// Answers with what the control process has to say.
pub(crate) async fn answer(
    response: &mut ResponseWriter<'_, '_>,
    destination: ControlDestination,
) -> Result<(), Gone> {
    if destination == ControlDestination::MetricsListener
        && let Some(status) = refusal(response.request)
    {
        if status == 401 {
            response.reply.challenges = vec!["Bearer realm=\"metrics\"".to_owned()];
        }
        return response.send_error(status).await;
    }
    let service = destination.service();
    let upload = match service {
        ControlService::Metrics => Ok(Upload::none()),
        ControlService::Dashboard => Upload::begin(response, UploadDestination::Process).await,
    };
    match upload {
        Ok(upload) => ask(response, service, upload).await,
        Err(error) => response.fail_body(&error).await,
    }
}

/// The status of a request that the listener of `settings.metrics` does not pass on.
fn refusal(request: &RoutedRequest<'_>) -> Option<u16> {
    let token = request.settings.generation.config.settings.metrics.token.as_ref();
    match token {
        Some(token) if !is_shown(token, request) => Some(401),
        _ if request.path() != b"/metrics" => Some(404),
        _ => None,
    }
}

/// Whether the request shows the token, once.
fn is_shown(token: &BearerToken, request: &RoutedRequest<'_>) -> bool {
    let (head, bytes) = (request.received.head, request.received.bytes);
    let mut values = head.values(bytes, KnownField::Authorization);
    let value = values.next();
    values.next().is_none() && value.is_some_and(|value| token.is_shown_by(value))
}

async fn ask(
    response: &mut ResponseWriter<'_, '_>,
    service: ControlService,
    mut upload: Upload,
) -> Result<(), Gone> {
    let Some(share) = response.services.control.enter() else {
        tracing::warn!("too many requests at a time for the control process");
        return response.send_error(503).await;
    };
    let client = response.request.client;
    let call = ControlCall {
        service,
        client: client.address.map(|address| address.ip().to_canonical()),
        is_secure: client.tls,
    };
    let mut connection = match share.connect(call) {
        Ok(socket) => ServerConnection::new(socket, None),
        Err(error) => {
            tracing::error!("connect to the control process: {error}");
            return response.send_error(503).await;
        }
    };
    let timeouts = Timeouts::default();
    let head = head(response.request, service, upload.length());
    let http1_request = Http1Request {
        connection: &mut connection,
        upload: &mut upload,
        timeouts: &timeouts,
        request: OutgoingHead::new(head),
        passes_interim: false,
    };
    match http1_request.run(response).await {
        Ok(start) => SubrequestResponse::without_server(connection, start).relay(response).await,
        Err(AttemptFailure::Gone) => Err(Gone),
        Err(AttemptFailure::Body(error)) => response.fail_body(&error).await,
        Err(AttemptFailure::Server(failure)) => {
            tracing::error!("ask the control process: {failure}");
            response.send_error(503).await
        }
    }
}

/// The request as the control process gets it: all of it for the API, and what matters to metrics.
fn head(request: &RoutedRequest<'_>, service: ControlService, length: Option<u64>) -> Vec<u8> {
    let mut head = buffers::take();
    head.extend_from_slice(request.method());
    head.push(b' ');
    match service {
        ControlService::Metrics => head.extend_from_slice(b"/metrics"),
        ControlService::Dashboard => append_target(request, &mut head),
    }
    head.extend_from_slice(b" HTTP/1.1\r\n");
    match service {
        ControlService::Metrics => {
            append_fields(request, &mut head, |name| name.eq_ignore_ascii_case(b"accept"));
        }
        ControlService::Dashboard => append_fields(request, &mut head, |_| true),
    }
    append_length(length, &mut head);
    response::append_field(&mut head, b"Connection", b"close");
    head.extend_from_slice(b"\r\n");
    head
}

fn append_fields(request: &RoutedRequest<'_>, out: &mut Vec<u8>, is_wanted: impl Fn(&[u8]) -> bool) {
    let (head, bytes) = (request.received.head, request.received.bytes);
    let host = head.value(bytes, KnownField::Host).unwrap_or(b"localhost");
    response::append_checked_field(out, b"Host", host);
    let named = NamedFields::of(head.values(bytes, KnownField::Connection));
    for (name, value) in request.fields() {
        let is_ours = [&b"host"[..], b"content-length"].iter().any(|ours| name.eq_ignore_ascii_case(ours));
        if is_wanted(name) && !is_ours && !is_hop_by_hop(name) && !named.has(name) {
            response::append_checked_field(out, name, value);
        }
    }
}
