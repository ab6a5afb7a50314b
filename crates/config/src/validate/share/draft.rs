//! A share whose options are read: its defaults, and whether its paths make sense.

use crate::pattern::PatternSet;
use crate::route::{Action, ActionKind, ActionOptions, CacheRule, Confinement, Listing, Share};
use crate::template::{Rewrite, Template};
use crate::validate::context::Context;

/// The share of one file.
pub(in crate::validate) fn of_file(cx: &mut Context<'_>, path: Template) -> Share {
    ShareDraft { paths: vec![path], ..ShareDraft::default() }.into_share(cx)
}

/// A client that says where a path begins would be served any file that the router can read.
fn check_beginnings(cx: &mut Context<'_>, paths: &[Template], confinement: &Confinement) {
    if confinement.chroot.as_ref().is_some_and(Template::begins_with_client_value) {
        cx.problem("The \"chroot\" value must not begin with what the client sends: begin it with a folder.");
    }
    if confinement.chroot.is_none() && paths.iter().any(Template::begins_with_client_value) {
        cx.problem(
            "The \"share\" value must not begin with what the client sends: begin it with a folder, or set \"chroot\".",
        );
    }
}

/// A folder that is shared itself has each request redirected to the same path with another slash, without end.
fn check_folders(cx: &mut Context<'_>, paths: &[Template]) {
    let Some(is_folder) = cx.known.is_folder.filter(|_| !cx.known.is_lenient) else { return };
    for path in paths.iter().filter_map(Template::is_constant) {
        if !path.is_empty() && !path.ends_with(b"/") && is_folder(path) {
            let path = String::from_utf8_lossy(path);
            cx.problem_with_advice(
                format!("The \"share\" is the folder \"{path}\" itself: each request would be redirected, without \
                    end."),
                format!("\"{path}$uri\" serves its files."),
            );
        }
    }
}

/// The options as far as they are read.
pub(super) struct ShareDraft {
    pub(super) paths: Vec<Template>,
    pub(super) index: Vec<String>,
    pub(super) clean_urls: bool,
    pub(super) types: Option<PatternSet>,
    /// The path of the page of a single-page application.
    pub(super) spa: Option<Template>,
    pub(super) fallback: Option<Action>,
    pub(super) confinement: Confinement,
    pub(super) listing: Option<Listing>,
    pub(super) cache_control: Vec<CacheRule>,
}

impl Default for ShareDraft {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            index: Vec::new(),
            clean_urls: false,
            types: None,
            spa: None,
            fallback: None,
            confinement: Confinement { chroot: None, follow_symlinks: true, traverse_mounts: true },
            listing: None,
            cache_control: Vec::new(),
        }
    }
}

impl ShareDraft {
    pub(super) fn into_share(self, cx: &mut Context<'_>) -> Share {
        let Self { paths, mut index, clean_urls, types, spa, fallback, confinement, listing, cache_control } =
            self;
        check_beginnings(cx, &paths, &confinement);
        check_folders(cx, &paths);
        if index.is_empty() {
            index.push("index.html".to_owned());
        }
        let share = Share {
            paths,
            index,
            clean_urls,
            types,
            spa: None,
            fallback: None,
            confinement,
            listing,
            cache_control,
        };
        let spa = spa.map(|page| Box::new(page_action(page, &share)));
        Share { spa, fallback: fallback.map(Box::new), ..share }
    }
}

/// The same share with one path, whatever is asked for.
fn page_action(page: Template, share: &Share) -> Action {
    let options = ActionOptions { rewrite: Some(Rewrite::new(page)), ..ActionOptions::default() };
    Action { kind: ActionKind::Share(share.clone()), options }
}
