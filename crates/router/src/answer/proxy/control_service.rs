//! Requests that the control process answers: metrics, and the dashboard with the control API.

use std::time::Duration;

use corral_config::control_service::{BearerToken, ControlDestination, ControlService};
use corral_config::upstream::Timeouts;
use corral_http::request::KnownField;
use corral_http::response;
use corral_ipc::message::ControlCall;

use super::http1_request::{Http1Request, OutgoingHead};
use super::receive::AttemptFailure;
use super::relay::{Relayed, ResponseRelay};
use super::request::{append_length, append_target, end_to_end_fields};
use super::upload::{Upload, UploadDestination};
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{ServerConnection, ServerFailure};

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
    let Some(share) = response.services.control.enter(service) else {
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
        Ok(connection) => connection,
        Err(error) => {
            tracing::error!("connect to the control process: {error}");
            return response.send_error(503).await;
        }
    };
    let answered = converse(response, service, &mut connection, &mut upload).await;
    tokio::task::spawn_local(share.await_end(connection, upload.is_sent()));
    answered
}

/// Sends the request, and passes the response on.
async fn converse(
    response: &mut ResponseWriter<'_, '_>,
    service: ControlService,
    connection: &mut ServerConnection,
    upload: &mut Upload,
) -> Result<(), Gone> {
    let timeouts = timeouts(service);
    let head = head(response.request, service, upload.length());
    let http1_request = Http1Request {
        connection,
        upload,
        timeouts: &timeouts,
        request: OutgoingHead::new(head),
        passes_interim: false,
    };
    let mut start = match http1_request.run(response).await {
        Ok(start) => start,
        Err(AttemptFailure::Gone) => return Err(Gone),
        Err(AttemptFailure::Body(error)) => return response.fail_body(&error).await,
        Err(AttemptFailure::Server(failure)) => {
            tracing::error!("ask the control process: {failure}");
            return response.send_error(status_of(&failure)).await;
        }
    };
    let mut relay = ResponseRelay { connection, upload, timeouts: &timeouts };
    let relayed = relay.run(response, &mut start).await;
    buffers::give(start.input);
    match relayed? {
        Relayed::Complete { .. } => Ok(()),
        Relayed::Refused(failure) => response.send_error(status_of(&failure)).await,
        Relayed::Cut(_) => Err(Gone),
    }
}

/// A change of the configuration is answered when it has been made or refused, for which main takes its time.
fn timeouts(service: ControlService) -> Timeouts {
    match service {
        ControlService::Metrics => Timeouts::default(),
        ControlService::Dashboard => Timeouts { response: LONGEST_CHANGE, ..Timeouts::default() },
    }
}

/// Longer than main waits for applications and the router together.
const LONGEST_CHANGE: Duration = Duration::from_mins(10);

/// The status of the reply. A control process that is started again, or has too much to do, closes the connection,
/// which is a matter of a moment.
fn status_of(failure: &ServerFailure) -> u16 {
    match failure {
        ServerFailure::Send(_) | ServerFailure::Receive(_) | ServerFailure::Closed | ServerFailure::Cut => {
            503
        }
        failure => failure.status(),
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

/// Appends those of the request's fields that are wanted.
fn append_fields(request: &RoutedRequest<'_>, out: &mut Vec<u8>, is_wanted: impl Fn(&[u8]) -> bool) {
    let (head, bytes) = (request.received.head, request.received.bytes);
    let host = head.value(bytes, KnownField::Host).unwrap_or(b"localhost");
    response::append_checked_field(out, b"Host", host);
    for (name, value) in end_to_end_fields(request) {
        let is_ours = [&b"host"[..], b"content-length"].iter().any(|ours| name.eq_ignore_ascii_case(ours));
        if is_wanted(name) && !is_ours {
            response::append_checked_field(out, name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Main waits for up to two minutes for an application and five for a router.
    #[test]
    fn changes_have_more_time_than_main_takes() {
        assert!(timeouts(ControlService::Dashboard).response > Duration::from_mins(7));
        assert_eq!(timeouts(ControlService::Metrics), Timeouts::default());
    }

    #[test]
    fn a_control_process_that_has_gone_will_be_back() {
        assert_eq!(status_of(&ServerFailure::Closed), 503);
        assert_eq!(status_of(&ServerFailure::Receive(io::ErrorKind::ConnectionReset.into())), 503);
        assert_eq!(status_of(&ServerFailure::ResponseTimedOut(LONGEST_CHANGE)), 504);
        assert_eq!(status_of(&ServerFailure::TooLarge(1)), 502);
    }
}
