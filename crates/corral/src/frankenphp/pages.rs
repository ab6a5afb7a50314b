//! `handle_errors`: the page in the place of an error's own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_manifest::caddyfile::Directive;

use super::words::{BlocksResult, block, name, pair, refuse, unknown, values};

/// A text with placeholders for the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorPage {
    body: String,
    is_html: bool,
}

/// Files that a file server can answer with.
pub(super) const STATUSES: [(u16, &str); 3] =
    [(403, "Forbidden"), (404, "Not Found"), (405, "Method Not Allowed")];

pub(super) fn read(directive: &Directive) -> BlocksResult<ErrorPage> {
    let mut page = None;
    let mut is_html = false;
    for option in block(directive) {
        match name(option) {
            "header" => {
                let (field, value) = pair(option)?;
                if !field.eq_ignore_ascii_case("content-type") {
                    return refuse(option, "\"header\" can only set Content-Type here");
                }
                is_html = value.starts_with("text/html");
            }
            "respond" => match values(option) {
                [body] => page = Some(body.clone()),
                [body, status] if status == "{err.status_code}" => page = Some(body.clone()),
                _ => return refuse(option, "\"respond\" takes a text and {err.status_code} here"),
            },
            _ => return unknown(option, &["header", "respond"]),
        }
    }
    match page {
        Some(body) => Ok(ErrorPage { body, is_html }),
        None => refuse(directive, "\"handle_errors\" needs \"respond\""),
    }
}

impl ErrorPage {
    /// Writes a file for each status into a folder, and says what their names are.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<Vec<(u16, PathBuf)>> {
        let write = |(status, reason): (u16, &str)| {
            let path = folder.join(format!("{status}.{}", if self.is_html { "html" } else { "txt" }));
            fs::write(&path, self.for_status(status, reason))
                .with_context(|| format!("write {}", path.display()))?;
            Ok((status, path))
        };
        STATUSES.into_iter().map(write).collect()
    }

    fn for_status(&self, status: u16, reason: &str) -> String {
        self.body.replace("{err.status_code}", &status.to_string()).replace("{err.status_text}", reason)
    }
}
