//! `rewrite_location` and `rewrite_cookies` of requests to servers.

use corral_syntax::is_host_name;

use super::context::Context;
use super::scalars::is_true;
use super::schema::{self, BOOL, Field, Member, OBJECT, STRING, optional};
use super::strings::{parse_template, text};
use crate::json::Value;
use crate::upstream::{AttributeRewrite, CookieRewrite, LocationRewrite, SameSite};

/// Reads `rewrite_location`: a switch, or beginnings of URLs with what they become.
pub(super) fn location(cx: &mut Context<'_>, field: Field<'_>) -> Option<LocationRewrite> {
    let Some(members) = field.value.as_object() else {
        return is_true(field).then_some(LocationRewrite::Own);
    };
    let mut prefixes = Vec::new();
    for (from, to) in members {
        cx.at(from, |cx| {
            let Value::String(to) = to else {
                return schema::report_wrong_type(cx, &from.to_string_lossy(), STRING, to);
            };
            match from.to_str().filter(|from| !from.is_empty()) {
                Some(from) => {
                    let to = parse_template(cx, field.name, to);
                    prefixes.extend(to.map(|to| (from.to_owned(), to)));
                }
                None => cx.problem("The beginning of a URL that is to be replaced must not be empty."),
            }
        });
    }
    prefixes.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    (!prefixes.is_empty()).then_some(LocationRewrite::Prefixes(prefixes))
}

/// Reads `rewrite_cookies`.
pub(super) fn cookies(cx: &mut Context<'_>, field: Field<'_>) -> Option<CookieRewrite> {
    let mut draft = CookieRewrite::default();
    schema::read_nested(cx, field, &[COOKIES], &mut draft);
    (draft != CookieRewrite::default()).then_some(draft)
}

const COOKIES: &[Member<CookieRewrite>] = &[
    optional("domain", STRING.or(OBJECT))
        .means("the `Domain` of all cookies that have one, empty for none; or an object: each old one with the new one")
        .read(|cx, field, draft| draft.domain = attribute(cx, field, is_domain)),
    optional("path", STRING.or(OBJECT))
        .means("the `Path` of all cookies that have one; or an object: beginnings of paths with what they become")
        .read(|cx, field, draft| draft.path = attribute(cx, field, is_path)),
    optional("secure", BOOL)
        .default("as it is")
        .means("whether cookies are `Secure`")
        .read(|_, field, draft| draft.secure = Some(is_true(field))),
    optional("httponly", BOOL)
        .default("as it is")
        .means("whether cookies are `HttpOnly`")
        .read(|_, field, draft| draft.httponly = Some(is_true(field))),
    optional("same_site", STRING)
        .default("as it is")
        .means("the `SameSite` of cookies: `strict`, `lax` or `none`")
        .read(|cx, field, draft| draft.same_site = same_site(cx, field)),
];

fn attribute(cx: &mut Context<'_>, field: Field<'_>, is_fit: fn(&str) -> bool) -> Option<AttributeRewrite> {
    let Some(members) = field.value.as_object() else {
        return value(cx, field, is_fit).map(AttributeRewrite::All);
    };
    let mut each = Vec::new();
    for (from, to) in members {
        cx.at(from, |cx| match to {
            Value::String(_) => {
                let to = value(cx, Field { value: to, ..field }, is_fit);
                each.extend(to.map(|to| (from.to_string_lossy().into_owned(), to)));
            }
            _ => schema::report_wrong_type(cx, &from.to_string_lossy(), STRING, to),
        });
    }
    each.sort_by_key(|(from, _): &(String, String)| std::cmp::Reverse(from.len()));
    (!each.is_empty()).then_some(AttributeRewrite::Each(each))
}

fn value(cx: &mut Context<'_>, field: Field<'_>, is_fit: fn(&str) -> bool) -> Option<String> {
    let value = text(cx, field)?;
    if !is_fit(&value) {
        cx.problem(format!("The \"{}\" value cannot be an attribute of a cookie.", field.name));
        return None;
    }
    Some(value)
}

fn is_domain(domain: &str) -> bool {
    domain.is_empty() || is_host_name(&domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase())
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';')
}

/// Reads `same_site`.
pub(super) fn same_site(cx: &mut Context<'_>, field: Field<'_>) -> Option<SameSite> {
    let text = field.value.as_bytes()?;
    let known = SameSite::NAMES.iter().find(|(name, _)| **text == *name.as_bytes());
    if known.is_none() {
        cx.problem_with_suggestion(
            "The \"same_site\" value must be \"strict\", \"lax\", or \"none\".",
            &text.to_string_lossy(),
            SameSite::NAMES.iter().map(|(name, _)| *name),
        );
    }
    known.map(|(_, same_site)| *same_site)
}
