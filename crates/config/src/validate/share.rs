//! `share` (contract 12) and what Corral adds to it: clean addresses, single-page applications, `listing` and
//! `cache_control`.

pub(super) mod confinement;
pub(super) mod draft;

use self::confinement::ConfinementTable;
use self::draft::ShareDraft;
use super::actions::options;
use super::context::Context;
use super::responses::content_rules;
use super::scalars::{integer, is_true};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional};
use super::strings::{one_or_more, patterns, template, text};
use crate::json::{Object, Value};
use crate::pattern::Flavor;
use crate::route::{ActionKind, ActionOptions, CacheRule, Listing};
use crate::template::Template;

/// Reads an action that shares files.
pub(super) fn read(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    let mut draft = ShareDraft::default();
    options::read_kind(
        cx,
        members,
        &[SHARE, ConfinementTable::<ShareDraft>::ROWS, BEYOND],
        &mut draft,
        options,
    );
    Some(ActionKind::Share(draft.into_share(cx)))
}

const SHARE: &[Member<ShareDraft>] = &[
    optional("share", STRING.or(ARRAY))
        .default("required")
        .means(
            "the path of the file, or several that are tried in order; write `$uri` where the request's path \
             belongs. A folder without it is refused",
        )
        .read(|cx, field, draft| draft.paths = share_paths(cx, field)),
    optional("index", STRING)
        .or_beyond_unit(ARRAY)
        .default("`\"index.html\"`")
        .means("shown for a folder; of several names the first that is there (beyond Unit)")
        .read(|cx, field, draft| draft.index = index_names(cx, field)),
    optional("types", STRING.or(ARRAY))
        .default("all")
        .means("only files whose MIME type matches these [patterns](routes.md#conditions)")
        .read(|cx, field, draft| draft.types = patterns(cx, field, Flavor::CaseInsensitive)),
    optional("fallback", OBJECT)
        .means("the action when no file is found, or the method is not GET or HEAD")
        .read(|cx, field, draft| draft.fallback = cx.action(field)),
];

const BEYOND: &[Member<ShareDraft>] = &[
    optional("clean_urls", BOOL)
        .default("`false`")
        .means(
            "`true`: `/about` is answered by `about.html`, and `/about.html` is redirected to it: see \
             [clean addresses](#clean-addresses) (beyond Unit)",
        )
        .read(|_, field, draft| draft.clean_urls = is_true(field)),
    optional("spa", BOOL.or(STRING))
        .default("`false`")
        .means(
            "the path of the page of a [single-page application](#single-page-applications), or `true` for the index \
             of `/`: it answers addresses that are not files (beyond Unit)",
        )
        .read(|cx, field, draft| draft.spa = spa_page(cx, field)),
    optional("listing", BOOL.or(OBJECT))
        .default("`false`")
        .means("`true`: a folder without an index is answered with [its entries](#listings) (beyond Unit)")
        .read(|cx, field, draft| draft.listing = listing(cx, field)),
    optional("cache_control", STRING.or(OBJECT))
        .means("the value of `Cache-Control`, or [values by pattern](#cache-control) (beyond Unit)")
        .read(|cx, field, draft| draft.cache_control = cache_rules(cx, field)),
];

fn share_paths(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Template> {
    let Some(elements) = field.value.as_array() else {
        return template(cx, field).into_iter().collect();
    };
    if elements.is_empty() {
        cx.problem("The \"share\" array must contain at least one element.");
    }
    let mut paths = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| match element {
            Value::String(_) => paths.extend(template(cx, Field { name: field.name, value: element })),
            _ => cx.problem("The \"share\" array must contain only string values."),
        });
    }
    paths
}

/// One name or several.
fn index_names(cx: &mut Context<'_>, field: Field<'_>) -> Vec<String> {
    let names = one_or_more(cx, field, text);
    match field.value.as_array().map(<[Value]>::len) {
        Some(0) => cx.problem("The \"index\" array must contain at least one element."),
        Some(n) if n > MAX_INDEX_NAMES => {
            cx.problem(format!(
                "The \"index\" array must contain at most {MAX_INDEX_NAMES} names, but not {n}."
            ));
        }
        _ => {}
    }
    names
}

/// Each name is looked for by a system call.
const MAX_INDEX_NAMES: usize = 16;

/// The path of the page.
fn spa_page(cx: &mut Context<'_>, field: Field<'_>) -> Option<Template> {
    if let Value::Bool(is_on) = field.value {
        return is_on.then(|| Template::parse(b"/").ok())?;
    }
    let page = template(cx, field)?;
    if page.script().is_none() && !page.begins_with(b"/") {
        cx.problem_with_advice(
            "The \"spa\" value must be a path that begins with \"/\".",
            "It is the address of the page, below the folder of \"share\": \"/index.html\".",
        );
        return None;
    }
    Some(page)
}

/// `true`, or an object with options.
fn listing(cx: &mut Context<'_>, field: Field<'_>) -> Option<Listing> {
    let mut listing = Listing { hidden: false, page_size: DEFAULT_PAGE_SIZE };
    if *field.value == Value::Bool(false) {
        return None;
    }
    schema::read_nested(cx, field, &[LISTING], &mut listing);
    Some(listing)
}

const LISTING: &[Member<Listing>] = &[
    optional("hidden", BOOL)
        .default("`false`")
        .means("show names that start with a dot")
        .read(|_, field, listing| listing.hidden = *field.value == Value::Bool(true)),
    optional("page_size", INTEGER)
        .default("1000")
        .means("entries of one page, up to 10000; further pages are asked for with `?after=NAME`")
        .read(|cx, field, listing| {
            let size = integer(cx, field, 1..=MAX_PAGE_SIZE).and_then(|size| usize::try_from(size).ok());
            listing.page_size = size.unwrap_or(DEFAULT_PAGE_SIZE);
        }),
];

const DEFAULT_PAGE_SIZE: usize = 1000;

/// A listing that is kept in memory for one request stays below some megabytes.
const MAX_PAGE_SIZE: i64 = 10_000;

/// One value for everything, or values by pattern.
pub(super) fn cache_rules(cx: &mut Context<'_>, field: Field<'_>) -> Vec<CacheRule> {
    content_rules(cx, field, cache_value)
}

fn cache_value(cx: &mut Context<'_>, field: Field<'_>) -> Option<Template> {
    let Value::String(text) = field.value else {
        schema::report_wrong_type(cx, field.name, STRING, field.value);
        return None;
    };
    if text.iter().any(u8::is_ascii_control) {
        cx.problem(format!("The \"{}\" value must not contain control characters.", field.name));
        return None;
    }
    template(cx, field)
}
