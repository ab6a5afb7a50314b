//! A page of a folder as HTML and as JSON.

use std::io::Write;

use corral_http::path::append_encoded_path;
use corral_http::response::format_date;
use corral_sys::folder::{EntryKind, FolderEntry};

use super::ListingPage;
use crate::reply::html::escape;

/// For people: a table with links that work wherever the page was asked for.
pub(super) fn html(path: &[u8], page: &ListingPage) -> Vec<u8> {
    let mut out = Vec::with_capacity(512 + 160 * page.entries.len());
    let mut title = Vec::new();
    append_escaped(&mut title, path);
    for piece in [HTML_START, &title, HTML_TITLE_END, &title, HTML_TABLE] {
        out.extend_from_slice(piece);
    }
    if path != b"/" {
        out.extend_from_slice(b"<tr><td><a href=\"../\">../</a><td><td>\n");
    }
    for (name, entry) in &page.entries {
        append_row(&mut out, path, name, entry);
    }
    out.extend_from_slice(b"</table>\n");
    if let Some(next) = &page.next {
        out.extend_from_slice(b"<p><a rel=\"next\" href=\"?after=");
        append_parameter(&mut out, next);
        out.extend_from_slice(b"\">More</a>\n");
    }
    out
}

fn append_row(out: &mut Vec<u8>, path: &[u8], name: &[u8], entry: &FolderEntry) {
    out.extend_from_slice(b"<tr><td><a href=\"");
    append_escaped(out, &link(path, name, entry));
    out.extend_from_slice(b"\">");
    append_escaped(out, name);
    if entry.kind == EntryKind::Folder {
        out.push(b'/');
    }
    out.extend_from_slice(b"</a><td>");
    if entry.kind != EntryKind::Link {
        out.extend_from_slice(&format_date(entry.modified.max(0).unsigned_abs()));
    }
    out.extend_from_slice(b"<td>");
    if entry.kind == EntryKind::File {
        out.extend_from_slice(itoa::Buffer::new().format(entry.size).as_bytes());
    }
    out.push(b'\n');
}

/// For programs: `{"path": …, "entries": [{"name", "href", "type", "size", "modified"}], "next": …}`. Names that are
/// not UTF-8 are shown as well as can be; `href` always leads to the file.
pub(super) fn json(path: &[u8], page: &ListingPage) -> Vec<u8> {
    let mut out = b"{\"path\":".to_vec();
    append_quoted(&mut out, path);
    out.extend_from_slice(b",\"entries\":[");
    for (position, (name, entry)) in page.entries.iter().enumerate() {
        out.extend_from_slice(if position > 0 { b",\n{\"name\":" } else { b"\n{\"name\":" });
        append_quoted(&mut out, name);
        out.extend_from_slice(b",\"href\":");
        append_quoted(&mut out, &link(path, name, entry));
        append_facts(&mut out, entry);
    }
    out.extend_from_slice(b"\n],\"next\":");
    match &page.next {
        Some(next) => {
            out.extend_from_slice(b"\"?after=");
            append_parameter(&mut out, next);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b"}\n");
    out
}

fn append_facts(out: &mut Vec<u8>, entry: &FolderEntry) {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Folder => "directory",
        EntryKind::Link | EntryKind::Other => "link",
    };
    let mut write =
        |text: std::fmt::Arguments<'_>| out.write_fmt(text).expect("writing to memory cannot fail");
    write(format_args!(",\"type\":\"{kind}\""));
    if entry.kind == EntryKind::File {
        write(format_args!(",\"size\":{}", entry.size));
    }
    if entry.kind != EntryKind::Link {
        write(format_args!(",\"modified\":{}", entry.modified));
    }
    out.push(b'}');
}

/// The path of an entry, percent-encoded.
fn link(path: &[u8], name: &[u8], entry: &FolderEntry) -> Vec<u8> {
    let mut link = Vec::with_capacity(path.len() + name.len() + 2);
    append_encoded_path(path, &mut link);
    if !path.ends_with(b"/") {
        link.push(b'/');
    }
    append_encoded_path(name, &mut link);
    if entry.kind == EntryKind::Folder {
        link.push(b'/');
    }
    link
}

/// A value of a query, everything but letters and digits percent-encoded.
fn append_parameter(out: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte);
        } else {
            write!(out, "%{byte:02X}").expect("writing to memory cannot fail");
        }
    }
}

fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(escape(&String::from_utf8_lossy(text)).as_bytes());
}

fn append_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            '\0'..='\u{1f}' | '\u{7f}' => {
                write!(out, "\\u{:04x}", character as u32).expect("writing to memory cannot fail");
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

const HTML_START: &[u8] = b"<!DOCTYPE html><meta charset=\"utf-8\"><title>Index of ";
const HTML_TITLE_END: &[u8] = b"</title><h1>Index of ";
const HTML_TABLE: &[u8] = b"</h1>\n<table><tr><th>Name<th>Last modified<th>Size\n";
