//! `authenticate` of listeners and actions (beyond Unit).

use std::path::PathBuf;
use std::time::Duration;

use super::advice;
use super::context::Context;
use super::destination::request_destination;
use super::label::Label;
use super::proxy;
use super::scalars::{MAX_SECONDS, is_true, seconds};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{header_name, member_name, name, path, patterns, string_array, text};
use crate::authentication::{
    ALGORITHMS, AuthRequest, Authentication, Basic, Certificate, Forward, Jwt, KeySource, Method,
    SignedLinkRules,
};
use crate::gateway::Servers;
use crate::json::{Bytes, Value};
use crate::pattern::{Flavor, PatternSet};
use crate::problem::{Problem, Stage};
use crate::route::Destination;
use crate::table::{Key, Table};
use crate::upstream::{Origin, ProxyOptions, Upstream, UpstreamTls};

/// The row of `authenticate`.
pub(super) const AUTHENTICATE: Label = optional("authenticate", OBJECT).means(
    "[what a client has to show](authentication.md): a password, a token, the word of another server, a \
    certificate or a signed link (beyond Unit)",
);

/// Reads `authenticate`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<Authentication>> {
    let mut methods = Vec::new();
    schema::read_nested(cx, field, &[METHODS], &mut methods);
    if field.value.as_object().is_some_and(crate::json::Object::is_empty) {
        cx.problem_with_advice(
            "The \"authenticate\" object must have at least one method.",
            "The methods are \"basic\", \"jwt\", \"forward\", \"client_certificate\" and \"signed_link\".",
        );
    }
    let place = cx.pointer().to_owned();
    (!methods.is_empty()).then(|| cx.tables.authentications.push(Authentication { place, methods }))
}

const METHODS: &[Member<Vec<Method>>] = &[
    optional("basic", OBJECT)
        .means("[user and password](authentication.md#passwords), by a file of users")
        .read(|cx, field, methods| methods.extend(basic(cx, field).map(Method::Basic))),
    optional("jwt", OBJECT)
        .means("[a signed token](authentication.md#tokens)")
        .read(|cx, field, methods| methods.extend(jwt(cx, field).map(|jwt| Method::Jwt(Box::new(jwt))))),
    optional("forward", OBJECT)
        .means("[another server](authentication.md#another-server), which is asked about each request")
        .read(|cx, field, methods| {
            methods.extend(forward(cx, field).map(|forward| Method::Forward(Box::new(forward))));
        }),
    optional("client_certificate", OBJECT)
        .means("[the certificate](authentication.md#certificates) that the client has shown")
        .read(|cx, field, methods| {
            let mut draft = Certificate::default();
            schema::read_nested(cx, field, &[CERTIFICATE], &mut draft);
            methods.push(Method::Certificate(draft));
        }),
    optional("signed_link", OBJECT)
        .means("[a signature](authentication.md#signed-links) in the link, which holds until a time")
        .read(|cx, field, methods| methods.extend(signed_link(cx, field).map(Method::SignedLink))),
];

fn signed_link(cx: &mut Context<'_>, field: Field<'_>) -> Option<SignedLinkRules> {
    let mut draft = SignedLinkDraft::default();
    schema::read_nested(cx, field, &[SIGNED_LINK], &mut draft);
    Some(SignedLinkRules { secrets: draft.secrets?, address: draft.address })
}

#[derive(Default)]
struct SignedLinkDraft {
    secrets: Option<PathBuf>,
    address: bool,
}

const SIGNED_LINK: &[Member<SignedLinkDraft>] = &[
    required("secrets", STRING)
        .means(
            "a file with a secret of 32 bytes or more in each line, 16 at most; a link is good that is signed with one \
             of them",
        )
        .read(|cx, field, draft| draft.secrets = file(cx, field)),
    optional("address", BOOL)
        .default("`false`")
        .means("whether the client's address is signed, too, so that a link is for one client alone")
        .read(|_, field, draft| draft.address = is_true(field)),
];

fn basic(cx: &mut Context<'_>, field: Field<'_>) -> Option<Basic> {
    let mut draft = BasicDraft::default();
    schema::read_nested(cx, field, &[BASIC], &mut draft);
    Some(Basic { file: draft.file?, realm: draft.realm.unwrap_or_else(|| REALM.to_owned()) })
}

#[derive(Default)]
struct BasicDraft {
    file: Option<PathBuf>,
    realm: Option<String>,
}

const BASIC: &[Member<BasicDraft>] = &[
    required("file", STRING)
        .means("the file of users, as `htpasswd -B` writes it; the daemon's own user must be able to read it")
        .read(|cx, field, draft| draft.file = file(cx, field)),
    optional("realm", STRING)
        .default("`\"Restricted\"`")
        .means("the name of the site that browsers show when they ask for the password")
        .read(|cx, field, draft| draft.realm = realm(cx, field)),
];

/// The path of a file, which does not depend on where the daemon was started.
fn file(cx: &mut Context<'_>, field: Field<'_>) -> Option<PathBuf> {
    let path = path(cx, field)?;
    if !path.is_absolute() {
        cx.problem(format!("The \"{}\" path must begin with \"/\".", field.name));
        return None;
    }
    Some(path)
}

/// A text that can be quoted in a header as it is.
fn realm(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let realm = name(cx, field)?;
    if realm.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        cx.problem("The \"realm\" string must not contain quotes, backslashes and control characters.");
        return None;
    }
    Some(realm)
}

#[derive(Default)]
struct JwtDraft {
    sources: Vec<KeySource>,
    tls: Option<UpstreamTls>,
    realm: Option<String>,
    algorithms: Vec<String>,
    leeway: Duration,
    issuers: Vec<String>,
    audiences: Vec<String>,
    claims: Vec<(String, PatternSet)>,
    user_claim: Option<String>,
    cookie: Option<Vec<u8>>,
    argument: Option<Vec<u8>>,
    refetch_interval: Option<Duration>,
}

fn jwt(cx: &mut Context<'_>, field: Field<'_>) -> Option<Jwt> {
    let n_problems = cx.n_problems();
    let mut draft = JwtDraft::default();
    schema::read_nested(cx, field, &[KEYS, RULES, PLACES], &mut draft);
    let n_sources = draft.sources.len();
    if n_sources != 1 {
        if cx.n_problems() == n_problems || n_sources > 1 {
            let detail = "The \"jwt\" object must have just one of \"secret\", \"key\" and \"jwks\".";
            cx.problem_with_advice(detail, "They are where the keys are that signatures are verified by.");
        }
        return None;
    }
    let mut keys = draft.sources.remove(0);
    if let KeySource::Url { tls, .. } = &mut keys {
        *tls = draft.tls.unwrap_or_default();
    }
    Some(Jwt {
        keys,
        realm: draft.realm.unwrap_or_else(|| REALM.to_owned()),
        algorithms: draft.algorithms,
        leeway: draft.leeway,
        issuers: draft.issuers,
        audiences: draft.audiences,
        claims: draft.claims,
        user_claim: draft.user_claim.unwrap_or_else(|| "sub".to_owned()),
        cookie: draft.cookie,
        argument: draft.argument,
        refetch_interval: draft.refetch_interval.unwrap_or(REFETCH_INTERVAL),
    })
}

const KEYS: &[Member<JwtDraft>] = &[
    optional("secret", STRING)
        .means("the file of a secret of 32 bytes or more, for HS256, HS384 and HS512")
        .read(|cx, field, draft| draft.sources.extend(file(cx, field).map(KeySource::Secret))),
    optional("key", STRING)
        .means("a file of public keys or certificates in PEM: RSA, P-256, P-384 or Ed25519")
        .read(|cx, field, draft| draft.sources.extend(file(cx, field).map(KeySource::Pem))),
    optional("jwks", STRING)
        .means("a set of keys in JSON (JWKS): a file, or an `http://` or `https://` URL")
        .read(|cx, field, draft| draft.sources.extend(key_set(cx, field))),
    optional("tls", OBJECT)
        .means("[how the server](proxy.md#options) of an `https://` URL has to prove its name")
        .read(|cx, field, draft| {
            let mut tls = UpstreamTls::default();
            schema::read_nested(cx, field, &[proxy::TLS], &mut tls);
            draft.tls = Some(tls);
        }),
    optional("refetch_interval", INTEGER)
        .default("10")
        .means("seconds between two fetches of a URL: a token with an unknown key has the set fetched again")
        .read(|cx, field, draft| draft.refetch_interval = seconds(cx, field, 1..=MAX_SECONDS)),
];

const RULES: &[Member<JwtDraft>] = &[
    optional("algorithms", STRING.or(ARRAY))
        .default("those of the key")
        .means("the only algorithms that are accepted; they must fit the key")
        .read(|cx, field, draft| draft.algorithms = one_or_many(cx, field, algorithm)),
    optional("leeway", INTEGER)
        .default("0")
        .means("seconds by which the clock of the issuer may differ")
        .read(|cx, field, draft| draft.leeway = seconds(cx, field, 0..=MAX_LEEWAY).unwrap_or_default()),
    optional("issuer", STRING.or(ARRAY))
        .default("any")
        .means("the claim `iss`: one of these")
        .read(|cx, field, draft| draft.issuers = one_or_many(cx, field, name)),
    optional("audience", STRING.or(ARRAY))
        .default("any")
        .means("the claim `aud`: it must have one of these")
        .read(|cx, field, draft| draft.audiences = one_or_many(cx, field, name)),
    optional("claims", OBJECT)
        .default("none")
        .means("claims by name, with [patterns](routes.md#conditions) for their values; a token without them gets 403")
        .read(|cx, field, draft| draft.claims = claims(cx, field)),
    optional("user_claim", STRING)
        .default("`\"sub\"`")
        .means("the claim that becomes `$remote_user`")
        .read(|cx, field, draft| draft.user_claim = name(cx, field)),
    optional("realm", STRING)
        .default("`\"Restricted\"`")
        .means("the name of the site in `WWW-Authenticate`")
        .read(|cx, field, draft| draft.realm = realm(cx, field)),
];

const PLACES: &[Member<JwtDraft>] = &[
    optional("cookie", STRING)
        .default("none")
        .means("the cookie of the token, for requests without `Authorization`")
        .read(|cx, field, draft| draft.cookie = name(cx, field).map(String::into_bytes)),
    optional("argument", STRING)
        .default("none")
        .means("the query parameter of the token, for requests without `Authorization` and cookie; other servers log \
            URLs")
        .read(|cx, field, draft| draft.argument = name(cx, field).map(String::into_bytes)),
];

/// A file, or the URL of a server, whose options follow.
fn key_set(cx: &mut Context<'_>, field: Field<'_>) -> Option<KeySource> {
    let text = field.value.as_bytes()?;
    if !text.to_string_lossy().contains("://") {
        return file(cx, field).map(KeySource::Set);
    }
    let url = name(cx, field)?;
    if split_url(&url).is_none() {
        cx.problem_with_advice(format!("The \"jwks\" URL is invalid: \"{url}\"."), advice::KEY_URL);
        return None;
    }
    Some(KeySource::Url { url, tls: UpstreamTls::default() })
}

fn algorithm(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = text(cx, field)?;
    if !ALGORITHMS.contains(&text.as_str()) {
        let detail = format!("The algorithm \"{text}\" is not one that tokens may be signed with.");
        let known = ALGORITHMS.join(", ");
        cx.problem_with_advice(detail, format!("These are: {known}."));
        return None;
    }
    Some(text)
}

fn claims(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, PatternSet)> {
    let members = field.value.as_object().into_iter().flatten();
    let claim = |(claim, value): (&Bytes, &Value)| {
        cx.at(claim, |cx| {
            let name = member_name(cx, claim)?;
            let set = patterns(cx, Field { name: "claims", value }, Flavor::Plain)?;
            Some((name, set))
        })
    };
    members.filter_map(claim).collect()
}

#[derive(Default)]
struct ForwardDraft {
    origin: Option<(Origin, String)>,
    pass: Option<AuthRequest>,
    uri: Option<String>,
    tls: UpstreamTls,
    timeout: Option<Duration>,
    copy_fields: Vec<String>,
    user_field: Option<String>,
    cache: Option<Duration>,
    cache_key: Option<Vec<String>>,
}

fn forward(cx: &mut Context<'_>, field: Field<'_>) -> Option<Forward> {
    let n_problems = cx.n_problems();
    let mut draft = ForwardDraft::default();
    schema::read_nested(cx, field, &[SERVERS, ANSWER], &mut draft);
    let timeout = draft.timeout.unwrap_or(TIMEOUT);
    let (asked, uri) = match (draft.origin, draft.pass) {
        (Some((origin, uri)), None) => {
            let mut options = ProxyOptions { tls: draft.tls, ..ProxyOptions::default() };
            options.timeouts.connect = timeout;
            let group = Upstream::single(origin.to_string(), origin, options);
            (AuthRequest::Servers(Servers::Proxy(cx.proxy(group))), uri)
        }
        (None, Some(asked)) => (asked, draft.uri.unwrap_or_else(|| "/".to_owned())),
        _ => {
            if cx.n_problems() == n_problems {
                let detail = "The \"forward\" object must have just one of \"url\" and \"pass\".";
                cx.problem_with_advice(detail, "They say which server is asked.");
            }
            return None;
        }
    };
    Some(Forward {
        asked,
        uri,
        timeout,
        copy_fields: draft.copy_fields,
        user_field: draft.user_field,
        cache: draft.cache.filter(|cache| !cache.is_zero()),
        cache_key: draft.cache_key.unwrap_or_else(|| CACHE_KEY.map(str::to_owned).to_vec()),
    })
}

const SERVERS: &[Member<ForwardDraft>] = &[
    optional("url", STRING).means("the server that is asked: `http://HOST:PORT/PATH` or `https://HOST:PORT/PATH`").read(
        |cx, field, draft| {
            let Some(url) = name(cx, field) else { return };
            draft.origin = split_url(&url);
            if draft.origin.is_none() {
                cx.problem_with_advice(
                    format!("The \"url\" value is invalid: \"{url}\"."),
                    advice::FORWARD_URL,
                );
            }
        },
    ),
    optional("pass", STRING)
        .means("or an application, `applications/NAME` or `applications/NAME/TARGET`, or [servers](proxy.md#groups), \
            `upstreams/NAME`")
        .read(|cx, field, draft| draft.pass = asked(cx, field)),
    optional("uri", STRING).default("`\"/\"`").means("beside `pass`: the path that is asked for").read(
        |cx, field, draft| {
            draft.uri = name(cx, field);
            if draft.uri.as_deref().is_some_and(|uri| !is_target(uri)) {
                cx.problem("The \"uri\" value must begin with \"/\" and have no blanks.");
            }
        },
    ),
    optional("tls", OBJECT)
        .means("[how the server](proxy.md#options) of an `https://` URL has to prove its name")
        .read(|cx, field, draft| schema::read_nested(cx, field, &[proxy::TLS], &mut draft.tls)),
    optional("timeout", INTEGER)
        .default("5")
        .means("seconds for its answer; then the client gets 504")
        .read(|cx, field, draft| draft.timeout = seconds(cx, field, 1..=MAX_SECONDS)),
];

fn asked(cx: &mut Context<'_>, field: Field<'_>) -> Option<AuthRequest> {
    let pass = request_destination(cx, field)?;
    match pass {
        Destination::Upstream(upstream) => Some(AuthRequest::Servers(Servers::Upstream(upstream))),
        Destination::Application { .. } => {
            Some(AuthRequest::Application(cx.inner_listener(field.value.as_bytes()?, pass)))
        }
        Destination::Route(_) | Destination::Control(_) | Destination::Template(_) => {
            cx.problem("The \"pass\" of \"forward\" must be \"applications/NAME\" or \"upstreams/NAME\".");
            None
        }
    }
}

const ANSWER: &[Member<ForwardDraft>] = &[
    optional("copy_fields", ARRAY)
        .default("none")
        .means(
            "headers of its answer that the request goes on with; the client's own of these names are removed",
        )
        .read(|cx, field, draft| draft.copy_fields = string_array(cx, field, header_name)),
    optional("user_field", STRING)
        .default("none")
        .means("the header of its answer that becomes `$remote_user`")
        .read(|cx, field, draft| draft.user_field = header_name(cx, field)),
    optional("cache", INTEGER)
        .default("0")
        .means("seconds for which a permission counts for further requests, whatever their path")
        .read(|cx, field, draft| draft.cache = seconds(cx, field, 0..=MAX_CACHE)),
    optional("cache_key", ARRAY)
        .default("`[\"Authorization\", \"Cookie\"]`")
        .means("request headers that have to be the same for that; without any of them nothing is remembered")
        .read(|cx, field, draft| draft.cache_key = Some(string_array(cx, field, header_name))),
];

/// The server and the target of a URL.
fn split_url(url: &str) -> Option<(Origin, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let path = rest.find('/').unwrap_or(rest.len());
    let (place, target) = rest.split_at(path);
    let target = if target.is_empty() { "/" } else { target };
    let port = if scheme == "https" { 443 } else { 80 };
    let parse = |text: String| Origin::parse_url(text.as_bytes());
    let origin =
        parse(format!("{scheme}://{place}")).or_else(|| parse(format!("{scheme}://{place}:{port}")))?;
    is_target(target).then(|| (origin, target.to_owned()))
}

/// Whether it can stand in a request's first line.
fn is_target(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// Upstreams that cannot be asked, because `forward` speaks HTTP/1 alone.
pub(super) fn wrong_servers(
    authentications: &Table<Authentication>,
    upstreams: &Table<Upstream>,
) -> Vec<Problem> {
    let problem = |place: &str, upstream: &Upstream| {
        let name = &upstream.name;
        Problem {
            pointer: format!("{place}/forward/pass"),
            detail: format!("The upstream \"{name}\" cannot be asked: it does not speak HTTP/1."),
            advice: "Name another one, whose servers speak HTTP/1.".to_owned(),
            suggestion: None,
            stage: Stage::Validation,
        }
    };
    let wrong = |authentication: &Authentication, method: &Method| match method {
        Method::Forward(forward) => match forward.asked {
            AuthRequest::Servers(Servers::Upstream(upstream)) => {
                let upstream = upstreams.get(upstream).filter(|upstream| !speaks_http1(upstream));
                upstream.map(|upstream| problem(&authentication.place, upstream))
            }
            AuthRequest::Servers(Servers::Proxy(_)) | AuthRequest::Application(_) => None,
        },
        _ => None,
    };
    let all = authentications.iter().flat_map(|one| one.methods.iter().map(move |method| (one, method)));
    all.filter_map(|(authentication, method)| wrong(authentication, method)).collect()
}

fn speaks_http1(upstream: &Upstream) -> bool {
    let options = &upstream.options;
    let all = upstream.servers.iter().all(|server| server.http2 != Some(true));
    options.gateway.is_none() && !options.http2 && all
}

const CERTIFICATE: &[Member<Certificate>] = &[
    optional("subject", STRING.or(ARRAY))
        .default("any")
        .means("[patterns](routes.md#conditions) for the subject, as `$tls_client_subject` has it: `\"*O=Example*\"`")
        .read(|cx, field, draft| draft.subject = patterns(cx, field, Flavor::Plain)),
    optional("common_name", STRING.or(ARRAY))
        .default("any")
        .means("patterns for the common name")
        .read(|cx, field, draft| draft.common_name = patterns(cx, field, Flavor::Plain)),
    optional("alternative_name", STRING.or(ARRAY))
        .default("any")
        .means("patterns for the alternative names (DNS, mail, URI), of which one must match")
        .read(|cx, field, draft| draft.alternative_name = patterns(cx, field, Flavor::Plain)),
];

/// One text, or an array of them.
fn one_or_many(
    cx: &mut Context<'_>,
    field: Field<'_>,
    read: fn(&mut Context<'_>, Field<'_>) -> Option<String>,
) -> Vec<String> {
    match field.value {
        Value::Array(_) => string_array(cx, field, read),
        _ => read(cx, field).into_iter().collect(),
    }
}

const REALM: &str = "Restricted";
const REFETCH_INTERVAL: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(5);
const CACHE_KEY: [&str; 2] = ["Authorization", "Cookie"];

/// Clocks that differ by more are wrong.
const MAX_LEEWAY: i64 = 3600;

/// The longest time for which a client that was shut out may go on.
const MAX_CACHE: i64 = 3600;
