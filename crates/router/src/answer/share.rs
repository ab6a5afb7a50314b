//! The `share` action: answers with a file (contract 12), or beyond it with the entries of a folder.

pub(crate) mod folders;
mod listing;
mod lookup;
mod representation;
mod send;

use std::fs::File;

use corral_config::route::{Share, Undecided};
use corral_config::template::PathFault;
use corral_http::path;

use self::lookup::{FileFinding, FileLookup};
use self::representation::FileRepresentation;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::files::CacheTime;
use crate::request::client::Gone;
use crate::storage::buffers;

/// Result of a share.
pub(crate) enum ShareOutcome {
    Sent,
    /// No file; the status if there is no fallback.
    Missed(u16),
}

/// Looks for a file and sends it.
pub(crate) async fn answer(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
) -> Result<ShareOutcome, Gone> {
    if !matches!(response.request.method(), b"GET" | b"HEAD") && !response.answers_in_place() {
        return Ok(ShareOutcome::Missed(405));
    }
    let mut outcome = ShareOutcome::Missed(404);
    let mut path = buffers::take_line();
    let mut chroot = Vec::new();
    for template in &share.paths {
        path.clear();
        chroot.clear();
        let rendered =
            share.confinement.render(template, &mut response.variables(), (&mut path, &mut chroot));
        outcome = match rendered {
            Ok(()) => try_path(response, share, &mut path, &chroot).await?,
            Err(PathFault::Script(exception)) => sent(response.fail_script(&exception).await)?,
            Err(stray) => {
                tracing::info!("no file is shared: {stray}");
                ShareOutcome::Missed(404)
            }
        };
        if matches!(outcome, ShareOutcome::Sent) {
            break;
        }
    }
    buffers::give(path);
    Ok(outcome)
}

async fn try_path(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
    path: &mut Vec<u8>,
    chroot: &[u8],
) -> Result<ShareOutcome, Gone> {
    let requested_len = path.len();
    let answers_in_place = response.answers_in_place();
    let lookup =
        FileLookup { request: response.request, share, chroot, moment: moment(response), answers_in_place };
    match lookup.find(path) {
        FileFinding::File(file) => {
            let content_type = response.request.request_settings().mime_types.lookup(path);
            let cache_control = match cache_control(response, share, &path[requested_len..], content_type) {
                Ok(value) => value,
                Err(undecided) => return sent(response.fail_script(&undecided).await),
            };
            let place = (&lookup.place(path), lookup.moment);
            let reply = if response.substitutes(content_type) {
                FileRepresentation::changed(file, content_type, cache_control)
            } else {
                representation::choose(response.request, place, file, content_type, cache_control)
            };
            // The client may take long.
            buffers::give(std::mem::take(path));
            sent(send::file(response, reply).await)
        }
        FileFinding::Listing(folder) => list(response, share, folder).await,
        FileFinding::Moved(address) => sent(redirect(response, &address).await),
        FileFinding::Missed(status) => Ok(ShareOutcome::Missed(status)),
        FileFinding::Failed(status) => sent(response.send_error(status).await),
        FileFinding::Undecided(given_up) => sent(response.fail_script(&given_up).await),
    }
}

fn moment(response: &ResponseWriter<'_, '_>) -> CacheTime {
    CacheTime { now: response.now(), trust: response.request.request_settings().file_trust }
}

fn sent(result: Result<(), Gone>) -> Result<ShareOutcome, Gone> {
    result.map(|()| ShareOutcome::Sent)
}

async fn list(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
    folder: File,
) -> Result<ShareOutcome, Gone> {
    match &share.listing {
        Some(listing) => sent(listing::send(response, listing, &share.confinement, folder).await),
        None => Ok(ShareOutcome::Missed(404)),
    }
}

/// The value of Cache-Control for a file: by the first rule for its path or its type, or by `expires`. `found` is what
/// was found behind the path.
fn cache_control(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
    found: &[u8],
    content_type: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, Undecided> {
    if share.cache_control.is_empty() && !response.has_expiry() {
        return Ok(None);
    }
    let mut path = buffers::take_line();
    path.extend_from_slice(response.request.path());
    path.extend_from_slice(found);
    let mime_type = content_type.unwrap_or_default();
    for rule in &share.cache_control {
        if rule.applies(&path, mime_type)? {
            path.clear();
            rule.value.render(&mut response.variables(), &mut path)?;
            return Ok(Some(path));
        }
    }
    let value = response.expiry(&path, mime_type)?.map(|value| value.as_bytes().to_vec());
    buffers::give(path);
    Ok(value)
}

/// Whether a client that asks for this path, which has no file, is shown the page of a single-page application: a
/// browser that goes to an address, and not a page that loads a file which is gone.
pub(crate) fn wants_page(request: &RoutedRequest<'_>) -> bool {
    if !matches!(request.method(), b"GET" | b"HEAD") {
        return false;
    }
    let is_file = request.path().rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.contains(&b'.'));
    !is_file || request.accepts_pages()
}

/// Redirects to the path with the slash that it lacks.
pub(crate) async fn redirect_to_folder(response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
    let folder = [response.request.asked_path(), b"/"].concat();
    redirect(response, &folder).await
}

/// Redirects to a path, with the query.
async fn redirect(response: &mut ResponseWriter<'_, '_>, address: &[u8]) -> Result<(), Gone> {
    let mut location = Vec::new();
    path::append_encoded_path(address, &mut location);
    if let Some(query) = response.request.query() {
        location.push(b'?');
        path::append_query(query, &mut location);
    }
    response.reply.fields.push(b"Location", &location);
    response.send_empty(301).await
}
