//! The entries of a folder as a page for people or as JSON for programs. Beyond Unit: only where it is asked for.

mod page;

use std::collections::BinaryHeap;
use std::fs::File;
use std::io;

use corral_config::percent;
use corral_config::route::{Confinement, Listing};
use corral_sys::folder::{self, EntryKind, FolderEntry};

use crate::exchange::response::ResponseWriter;
use crate::reply::compression::add_vary;
use crate::reply::preference::prefers_json;
use crate::request::client::Gone;

/// A part of a folder, in the order of the names' bytes.
struct ListingPage {
    entries: Vec<(Vec<u8>, FolderEntry)>,
    /// The last name of this page, when there are more behind it.
    next: Option<Vec<u8>>,
}

/// The part of a folder that is shown.
struct ListingFilter {
    /// Names that start with a dot, too.
    hidden: bool,
    /// Links are shown as what they lead to.
    follow_links: bool,
    /// Links are shown at all.
    show_links: bool,
    page_size: usize,
    /// Only names behind this one; empty at first.
    after: Vec<u8>,
}

/// Sends a page of the folder. Reading it is left to a thread that may wait.
pub(super) async fn send(
    response: &mut ResponseWriter<'_, '_>,
    listing: &Listing,
    confinement: &Confinement,
    folder: File,
) -> Result<(), Gone> {
    let selection = ListingFilter {
        hidden: listing.hidden,
        // What a link of a confined folder leads to may be outside.
        follow_links: confinement.follow_symlinks && confinement.chroot.is_none(),
        show_links: confinement.follow_symlinks,
        page_size: listing.page_size,
        after: after(response.request.query().unwrap_or_default()),
    };
    let reading = tokio::task::spawn_blocking(move || read(&folder, &selection)).await;
    let page = match reading.map_err(io::Error::other).and_then(|page| page) {
        Ok(page) => page,
        Err(error) => {
            tracing::error!("list a folder: {error}");
            return response.send_error(500).await;
        }
    };
    let accept = response
        .request
        .received
        .head
        .fields(response.request.received.bytes)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"accept"));
    let wants_json = prefers_json(accept.map(|(_, value)| value), &[JSON]);
    let (content_type, body) = if wants_json {
        (JSON, page::json(response.request.path(), &page))
    } else {
        (&b"text/html; charset=utf-8"[..], page::html(response.request.path(), &page))
    };
    response.reply.fields.push(b"Content-Type", content_type);
    add_vary(&mut response.reply.fields, b"Accept");
    response.open(200, Some(body.len() as u64)).finish(response, &body).await
}

/// The value of the parameter `after`.
fn after(query: &[u8]) -> Vec<u8> {
    let value = query.split(|&byte| byte == b'&').find_map(|parameter| parameter.strip_prefix(b"after="));
    value.and_then(percent::decode).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Keeps no more names in memory than a page has, whatever the size of the folder.
fn read(folder: &File, selection: &ListingFilter) -> io::Result<ListingPage> {
    let mut least = BinaryHeap::new();
    let mut has_more = false;
    folder::names(folder, |name| {
        if name <= selection.after.as_slice() || name.starts_with(b".") && !selection.hidden {
            return;
        }
        if least.len() == selection.page_size {
            has_more = true;
            if least.peek().is_some_and(|greatest: &Vec<u8>| name >= greatest.as_slice()) {
                return;
            }
            least.pop();
        }
        least.push(name.to_vec());
    })?;
    let names = least.into_sorted_vec();
    let next = names.last().filter(|_| has_more).cloned();
    let entries = names.into_iter().filter_map(|name| {
        let entry = folder::entry(folder, &name, selection.follow_links).ok()?;
        let is_shown = match entry.kind {
            EntryKind::File | EntryKind::Folder => true,
            EntryKind::Link => selection.show_links,
            EntryKind::Other => false,
        };
        is_shown.then_some((name, entry))
    });
    Ok(ListingPage { entries: entries.collect(), next })
}

const JSON: &[u8] = b"application/json";

#[cfg(test)]
mod tests;
