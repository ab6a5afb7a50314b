//! The `share` action: answers with a file (contract 12), or beyond it with the entries of a folder.

pub(crate) mod folders;
mod listing;
mod representation;
mod send;

use std::fs::File;

use corral_config::route::{Share, Undecided};
use corral_config::template::{PathFault, Template};
use corral_http::path;
use corral_sys::process::is_descriptor_shortage;

use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::files::{self, CacheTime, ConfinedPath, FoundFile};
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
        outcome = match render(response, share, template, &mut path, &mut chroot) {
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

fn render(
    response: &ResponseWriter<'_, '_>,
    share: &Share,
    template: &Template,
    path: &mut Vec<u8>,
    chroot: &mut Vec<u8>,
) -> Result<(), PathFault> {
    template.render_path(&mut response.variables(), path)?;
    match &share.confinement.chroot {
        Some(template) => template.render_path(&mut response.variables(), chroot),
        None => Ok(()),
    }
}

async fn try_path(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
    path: &mut Vec<u8>,
    chroot: &[u8],
) -> Result<ShareOutcome, Gone> {
    let folder_len = path.len();
    let is_index = path.ends_with(b"/");
    if is_index {
        path.extend_from_slice(share.index.as_bytes());
    }
    let content_type = response.request.request_settings().mime_types.lookup(path);
    if let Some(types) = share.types.as_ref().filter(|_| !is_index) {
        match types.matches(content_type.unwrap_or_default()) {
            Ok(true) => {}
            Ok(false) => return Ok(ShareOutcome::Missed(403)),
            Err(given_up) => return sent(response.fail_script(&given_up).await),
        }
    }
    let place = place(share, path, chroot);
    let moment = moment(response);
    match files::open(&place, moment) {
        FoundFile::File(file) => {
            let cache_control = match cache_control(response, share, is_index, content_type) {
                Ok(value) => value,
                Err(undecided) => return sent(response.fail_script(&undecided).await),
            };
            let reply =
                representation::choose(response.request, (&place, moment), file, content_type, cache_control);
            // The client may take long.
            buffers::give(std::mem::take(path));
            sent(send::file(response, reply).await)
        }
        FoundFile::Directory(_) if !is_index && leads_on(response.request) => {
            sent(redirect_to_folder(response).await)
        }
        FoundFile::Directory(_) if !is_index => {
            log_circle(path);
            Ok(ShareOutcome::Missed(404))
        }
        FoundFile::Directory(folder) if folder_len == path.len() => list(response, share, folder).await,
        FoundFile::Directory(_) => Ok(ShareOutcome::Missed(404)),
        FoundFile::Nothing if is_index => {
            list_folder_of(response, share, &place.at(&path[..folder_len])).await
        }
        FoundFile::Nothing => Ok(ShareOutcome::Missed(404)),
        FoundFile::Refused(error) => {
            log_failure(path, &error);
            Ok(ShareOutcome::Missed(403))
        }
        FoundFile::Failed(error) => {
            log_failure(path, &error);
            sent(response.send_error(if is_descriptor_shortage(&error) { 503 } else { 500 }).await)
        }
    }
}

fn place<'p>(share: &Share, path: &'p [u8], chroot: &'p [u8]) -> ConfinedPath<'p> {
    let confinement = &share.confinement;
    ConfinedPath {
        path,
        chroot: confinement.chroot.is_some().then_some(chroot),
        follow_symlinks: confinement.follow_symlinks,
        traverse_mounts: confinement.traverse_mounts,
    }
}

fn moment(response: &ResponseWriter<'_, '_>) -> CacheTime {
    CacheTime { now: response.now(), trust: response.request.request_settings().file_trust }
}

fn sent(result: Result<(), Gone>) -> Result<ShareOutcome, Gone> {
    result.map(|()| ShareOutcome::Sent)
}

fn log_failure(path: &[u8], error: &std::io::Error) {
    tracing::error!("open \"{}\": {error}", String::from_utf8_lossy(path).escape_debug());
}

/// A folder whose index is not there.
async fn list_folder_of(
    response: &mut ResponseWriter<'_, '_>,
    share: &Share,
    place: &ConfinedPath<'_>,
) -> Result<ShareOutcome, Gone> {
    if share.listing.is_none() {
        return Ok(ShareOutcome::Missed(404));
    }
    match files::open(place, moment(response)) {
        FoundFile::Directory(folder) => list(response, share, folder).await,
        _ => Ok(ShareOutcome::Missed(404)),
    }
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

/// The value of Cache-Control for a file, by the first rule for its path or its type.
fn cache_control(
    response: &ResponseWriter<'_, '_>,
    share: &Share,
    is_index: bool,
    content_type: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, Undecided> {
    if share.cache_control.is_empty() {
        return Ok(None);
    }
    let mut path = buffers::take_line();
    path.extend_from_slice(response.request.path());
    if is_index {
        path.extend_from_slice(share.index.as_bytes());
    }
    for rule in &share.cache_control {
        if rule.applies(&path, content_type.unwrap_or_default())? {
            path.clear();
            rule.value.render(&mut response.variables(), &mut path)?;
            return Ok(Some(path));
        }
    }
    buffers::give(path);
    Ok(None)
}

/// Whether a slash behind the path asks for something else than the client has asked for.
pub(super) fn leads_on(request: &RoutedRequest<'_>) -> bool {
    let received = request.received.head.path(request.received.bytes);
    !request.path().ends_with(b"/") && received.strip_suffix(b"/") != Some(request.path())
}

fn log_circle(path: &[u8]) {
    let path = String::from_utf8_lossy(path);
    let (path, folder) = (path.escape_debug(), path.trim_end_matches('/').escape_debug());
    tracing::error!(
        "\"share\" is the folder \"{path}\" for a path that ends in a slash: \"{folder}$uri\" serves its files"
    );
}

/// Redirects to the path with the slash that it lacks.
pub(super) async fn redirect_to_folder(response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
    let mut location = Vec::new();
    path::append_encoded_path(response.request.path(), &mut location);
    location.push(b'/');
    if let Some(query) = response.request.query() {
        location.push(b'?');
        path::append_query(query, &mut location);
    }
    response.reply.fields.push(b"Location", &location);
    response.send_empty(301).await
}
