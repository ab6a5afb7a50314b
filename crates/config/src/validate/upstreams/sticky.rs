//! `sticky` of an upstream: the cookie by which clients stay with a server.

use corral_syntax::{is_host_name, is_token};

use super::super::context::Context;
use super::super::rewrites::same_site;
use super::super::scalars::{INT_MAX, integer, is_true};
use super::super::schema::{self, BOOL, Field, INTEGER, Member, STRING, optional, required};
use super::super::strings::name;
use crate::upstream::{SameSite, Sticky};

/// Reads it.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Box<Sticky>> {
    let mut sticky = Sticky::default();
    schema::read_nested(cx, field, &[STICKY], &mut sticky);
    if sticky.same_site == Some(SameSite::None) && sticky.secure == Some(false) {
        cx.at(b"secure", |cx| {
            cx.problem("Browsers drop a cookie whose \"same_site\" is \"none\" if it is not \"secure\".");
        });
    }
    (!sticky.cookie.is_empty()).then(|| Box::new(sticky))
}

const STICKY: &[Member<Sticky>] = &[
    required("cookie", STRING)
        .means("the name of a cookie by which a client [stays with the server](#sticky) that has answered it first")
        .read(|cx, field, sticky| {
            let name = name(cx, field).unwrap_or_default();
            if !is_token(name.as_bytes()) {
                cx.problem("The \"cookie\" string must be the name of a cookie: letters, digits, \"-\" and \"_\".");
            }
            sticky.cookie = name;
        }),
    optional("secret", STRING)
        .default("a random one")
        .means(
            "a key of 16 or more characters for the cookie's values. Set it where they must outlive a restart, or \
             several machines serve the same clients",
        )
        .read(|cx, field, sticky| {
            let secret = name(cx, field);
            if secret.as_ref().is_some_and(|secret| secret.len() < LEAST_SECRET) {
                cx.problem(format!("The \"secret\" string must have at least {LEAST_SECRET} characters."));
            }
            sticky.secret = secret;
        }),
    optional("domain", STRING).default("none").means("`Domain` of the cookie").read(|cx, field, sticky| {
        sticky.domain = name(cx, field);
        let bare = sticky.domain.as_deref().map(|domain| domain.strip_prefix('.').unwrap_or(domain));
        if bare.is_some_and(|domain| !is_host_name(&domain.to_ascii_lowercase())) {
            cx.problem("The \"domain\" string must be the name of a host.");
        }
    }),
    optional("path", STRING).default("`\"/\"`").means("its `Path`").read(|cx, field, sticky| {
        let path = name(cx, field).unwrap_or_default();
        let is_fit = |byte: u8| byte.is_ascii_graphic() && byte != b';';
        if !path.starts_with('/') || !path.bytes().all(is_fit) {
            cx.problem("The \"path\" string must begin with \"/\" and be encoded like a URI, without \";\".");
        }
        sticky.path = path;
    }),
    optional("max_age", INTEGER)
        .default("none")
        .means("its `Max-Age` in seconds; without it the cookie ends with the browser's session")
        .read(|cx, field, sticky| {
            sticky.max_age = integer(cx, field, 1..=INT_MAX).and_then(|seconds| u32::try_from(seconds).ok());
        }),
    optional("secure", BOOL)
        .default("over TLS")
        .means("whether it is `Secure`: by default where the client has come by `https`")
        .read(|_, field, sticky| sticky.secure = Some(is_true(field))),
    optional("httponly", BOOL)
        .default("`true`")
        .means("whether it is `HttpOnly`")
        .read(|_, field, sticky| sticky.httponly = is_true(field)),
    optional("same_site", STRING)
        .default("none sent")
        .means("its `SameSite`: `strict`, `lax` or `none`")
        .read(|cx, field, sticky| sticky.same_site = same_site(cx, field)),
];

const LEAST_SECRET: usize = 16;
