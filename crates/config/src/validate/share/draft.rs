//! A share whose options are read: its defaults, and whether its paths make sense.

use super::confinement::{HasConfinement, check_beginnings};
use crate::pattern::PatternSet;
use crate::route::{Action, ActionKind, ActionOptions, CacheRule, Confinement, Listing, PathChanges, Share};
use crate::template::{Rewrite, Template};
use crate::validate::context::Context;

/// The share of one file.
pub(in crate::validate) fn of_file(cx: &mut Context<'_>, path: Template) -> Share {
    ShareDraft { paths: vec![path], ..ShareDraft::default() }.into_share(cx)
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
#[derive(Default)]
pub(in crate::validate) struct ShareDraft {
    pub(in crate::validate) paths: Vec<Template>,
    pub(in crate::validate) index: Vec<String>,
    pub(in crate::validate) clean_urls: bool,
    pub(in crate::validate) types: Option<PatternSet>,
    /// The path of the page of a single-page application.
    pub(in crate::validate) spa: Option<Template>,
    pub(in crate::validate) fallback: Option<Action>,
    pub(in crate::validate) confinement: Confinement,
    pub(in crate::validate) listing: Option<Listing>,
    pub(in crate::validate) cache_control: Vec<CacheRule>,
}

impl HasConfinement for ShareDraft {
    fn confinement(&mut self) -> &mut Confinement {
        &mut self.confinement
    }
}

impl ShareDraft {
    pub(in crate::validate) fn into_share(self, cx: &mut Context<'_>) -> Share {
        let Self { paths, mut index, clean_urls, types, spa, fallback, confinement, listing, cache_control } =
            self;
        check_beginnings(cx, "share", &paths, &confinement);
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
    let changes = PathChanges { rewrite: Some(Rewrite::new(page)), ..PathChanges::default() };
    let options = ActionOptions { path: Some(Box::new(changes)), ..ActionOptions::default() };
    Action { kind: ActionKind::Share(share.clone()), options }
}
