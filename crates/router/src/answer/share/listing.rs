//! The entries of a folder as a page for people or as JSON for programs. Beyond Unit: only where it is asked for.

mod page;

use std::collections::BinaryHeap;
use std::fs::File;
use std::io;

use corral_config::percent;
use corral_config::route::{Confinement, Listing};
use corral_http::{list, trim};
use corral_sys::folder::{self, Entry, Kind};

use crate::reply::compression::add_vary;
use crate::request::client::Gone;
use crate::transaction::Transaction;

/// A part of a folder, in the order of the names' bytes.
struct Page {
    entries: Vec<(Vec<u8>, Entry)>,
    /// The last name of this page, when there are more behind it.
    next: Option<Vec<u8>>,
}

/// What is shown of a folder.
struct Selection {
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
    tx: &mut Transaction<'_>,
    listing: &Listing,
    confinement: &Confinement,
    folder: File,
) -> Result<(), Gone> {
    let selection = Selection {
        hidden: listing.hidden,
        // What a link of a confined folder leads to may be outside.
        follow_links: confinement.follow_symlinks && confinement.chroot.is_none(),
        show_links: confinement.follow_symlinks,
        page_size: listing.page_size,
        after: after(tx.request.head.query(tx.request.bytes).unwrap_or_default()),
    };
    let reading = tokio::task::spawn_blocking(move || read(&folder, &selection)).await;
    let page = match reading.map_err(io::Error::other).and_then(|page| page) {
        Ok(page) => page,
        Err(error) => {
            tracing::error!("list a folder: {error}");
            return tx.send_error(500).await;
        }
    };
    let accept =
        tx.request.head.fields(tx.request.bytes).filter(|(name, _)| name.eq_ignore_ascii_case(b"accept"));
    let wants_json = prefers_json(accept.map(|(_, value)| value), &[JSON]);
    let (content_type, body) = if wants_json {
        (JSON, page::json(tx.path(), &page))
    } else {
        (&b"text/html; charset=utf-8"[..], page::html(tx.path(), &page))
    };
    tx.reply.fields.push(b"Content-Type", content_type);
    add_vary(&mut tx.reply.fields, b"Accept");
    tx.open(200, Some(body.len() as u64)).finish(tx, &body).await
}

/// The value of the parameter `after`.
fn after(query: &[u8]) -> Vec<u8> {
    let value = query.split(|&byte| byte == b'&').find_map(|parameter| parameter.strip_prefix(b"after="));
    value.and_then(percent::decode).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Keeps no more names in memory than a page has, whatever the size of the folder.
fn read(folder: &File, selection: &Selection) -> io::Result<Page> {
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
            Kind::File | Kind::Folder => true,
            Kind::Link => selection.show_links,
            Kind::Other => false,
        };
        is_shown.then_some((name, entry))
    });
    Ok(Page { entries: entries.collect(), next })
}

const JSON: &[u8] = b"application/json";

/// Whether JSON by one of these names is wanted more than HTML, which is what those get who want both or say
/// nothing.
pub(crate) fn prefers_json<'v>(accept: impl Iterator<Item = &'v [u8]>, names: &[&[u8]]) -> bool {
    let mut weights = Weights::default();
    for range in accept.flat_map(list) {
        let mut parts = range.split(|&byte| byte == b';').map(trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(weight).unwrap_or(1.0);
        match name.as_slice() {
            b"text/html" | b"application/xhtml+xml" => {
                weights.html = Some(weights.html.unwrap_or(0.0).max(weight));
            }
            name if names.contains(&name) => {
                weights.json = Some(weights.json.unwrap_or(0.0).max(weight));
            }
            b"text/*" => weights.text = weight,
            b"application/*" => weights.application = weight,
            _ => {}
        }
    }
    weights.json.unwrap_or(weights.application) > weights.html.unwrap_or(weights.text)
}

#[derive(Default)]
struct Weights {
    html: Option<f32>,
    json: Option<f32>,
    text: f32,
    application: f32,
}

fn weight(parameter: &[u8]) -> Option<f32> {
    let value = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
