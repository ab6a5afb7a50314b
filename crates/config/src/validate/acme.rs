//! `tls.acme` of a listener (beyond Unit).

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::time::Duration;

use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use corral_syntax::is_host_name;

use super::advice;
use super::context::Context;
use super::scalars::{MAX_SECONDS, count, is_true, seconds};
use super::schema::{self, ARRAY, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{argument, name, one_or_more, string_array};
use crate::address::ListenAddress;
use crate::json::{Value, pointer};
use crate::listener::Listener;
use crate::problem::{Problem, Stage};
use crate::route::{ActionKind, Destination, Route};
use crate::table::{Key, Table};
use crate::tls::{
    AcmeIssuer, AcmeSettings, AllowRule, Challenge, DnsAlgorithm, DnsChallenge, DnsKey, DnsServer, DnsUpdate,
    ExternalAccount, OnDemand,
};

/// The directory of the authority that is asked unless another one is named.
const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Reads `acme`; names of routes are added by [`add_names`], when there are routes.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<AcmeSettings> {
    let mut draft = AcmeDraft::default();
    match field.value {
        Value::Object(_) => schema::read_nested(cx, field, &[ACME], &mut draft),
        _ if !is_true(field) => return None,
        _ => {}
    }
    let AcmeDraft { names, directory, ca, email, profile, eab, challenge, on_demand } = draft;
    let directory = directory.unwrap_or_else(|| DIRECTORY.to_owned());
    let challenge = challenge.unwrap_or(Challenge::Automatic);
    if let Some(name) = names.iter().find(|name| name.starts_with("*.")).filter(|_| !is_dns(&challenge)) {
        cx.problem_with_advice(
            format!("A certificate for \"{name}\" cannot be ordered with this \"challenge\"."),
            "Authorities prove such names by the DNS alone: set \"challenge\" to {\"dns\": …}, or name each host.",
        );
    }
    let issuer = AcmeIssuer { directory, ca, email, profile, eab };
    Some(AcmeSettings { names, issuer, challenge, on_demand })
}

#[derive(Default)]
struct AcmeDraft {
    names: Vec<String>,
    directory: Option<String>,
    ca: Option<String>,
    email: Option<String>,
    profile: Option<String>,
    eab: Option<ExternalAccount>,
    challenge: Option<Challenge>,
    on_demand: Option<OnDemand>,
}

const ACME: &[Member<AcmeDraft>] = &[
    optional("names", STRING.or(ARRAY))
        .default("those of the routes")
        .means("host names beside those that the listener's routes have as plain [`host`](routes.md#conditions); \
            `*.example.com` needs the challenge `dns`")
        .read(|cx, field, draft| {
            draft.names = one_or_more(cx, field, host_name);
            let mut known = HashSet::new();
            draft.names.retain(|name| known.insert(name.clone()));
        }),
    optional("email", STRING)
        .default("none")
        .means("where the authority sends warnings to")
        .read(|cx, field, draft| draft.email = formed(cx, field, "The form is \"USER@HOST\".", is_email)),
    optional("directory", STRING)
        .default("Let's Encrypt's")
        .means("the authority, as the URL of its ACME directory")
        .read(|cx, field, draft| {
            draft.directory = formed(cx, field, advice::DIRECTORY, |text| is_url(text, &["https"]));
        }),
    optional("ca", STRING)
        .default("the system's authorities")
        .means("the bundle of `/certificates` that the directory's own certificate is verified by")
        .read(|cx, field, draft| {
            draft.ca = name(cx, field);
            draft.ca.iter().for_each(|bundle| cx.certificate(bundle));
        }),
    optional("profile", STRING)
        .default("the authority's own")
        .means("which of the authority's kinds of certificates is ordered: Let's Encrypt has `classic`, `tlsserver` \
            and, for six days, `shortlived`")
        .read(|cx, field, draft| draft.profile = name(cx, field)),
    optional("eab", OBJECT)
        .read(|cx, field, draft| draft.eab = external_account(cx, field)),
    optional("challenge", STRING.or(OBJECT))
        .default("by the ports that are listened on")
        .means("[how names are proved](#challenges): `\"http\"`, `\"tls-alpn\"` or `{\"dns\": …}`, with [what puts a \
            record into the DNS](#by-the-dns)")
        .read(|cx, field, draft| draft.challenge = challenge(cx, field)),
    optional("on_demand", OBJECT)
        .default("no others")
        .means("[names that are not in the configuration](#on-demand): ordered when a client asks for one that a \
            rule allows")
        .read(|cx, field, draft| draft.on_demand = on_demand(cx, field)),
];

/// A host name in lower case, maybe with `*.` in front.
fn host_name(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = name(cx, field)?;
    let host = text.strip_suffix('.').unwrap_or(&text).to_ascii_lowercase();
    if is_certified_name(host.strip_prefix("*.").unwrap_or(&host)) {
        return Some(host);
    }
    cx.problem_with_advice(format!("The host name \"{text}\" is invalid."), advice::HOST_NAME);
    None
}

/// Whether a certificate can have the name: `_` is not at the end of a label.
fn is_certified_name(text: &str) -> bool {
    is_host_name(text) && text.split('.').all(|label| !label.starts_with('_') && !label.ends_with('_'))
}

/// Text of a form that the advice tells.
fn formed(
    cx: &mut Context<'_>,
    field: Field<'_>,
    advice: &'static str,
    has_form: impl FnOnce(&str) -> bool,
) -> Option<String> {
    let text = name(cx, field)?;
    if has_form(&text) {
        return Some(text);
    }
    cx.problem_with_advice(format!("The \"{}\" value is invalid: \"{text}\".", field.name), advice);
    None
}

fn is_email(text: &str) -> bool {
    let is_address = text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    is_address && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether it is a URL of one of these schemes, without a fragment.
fn is_url(text: &str, schemes: &[&str]) -> bool {
    let place = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)?.strip_prefix("://"));
    let has_host = place.is_some_and(|place| !place.is_empty() && !place.starts_with('/'));
    has_host && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// Whether it is `HOST:PORT`, with the brackets of an IPv6 address.
fn is_dns_server(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_address = host.starts_with('[') && host.ends_with(']') || !host.contains(':');
        !host.is_empty() && is_address && port.parse().is_ok_and(|port: u16| port > 0)
    })
}

#[derive(Default)]
struct EabDraft {
    kid: Option<String>,
    key: Option<Vec<u8>>,
}

fn external_account(cx: &mut Context<'_>, field: Field<'_>) -> Option<ExternalAccount> {
    let mut draft = EabDraft::default();
    schema::read_nested(cx, field, &[EAB], &mut draft);
    Some(ExternalAccount { kid: draft.kid?, key: draft.key? })
}

const EAB: &[Member<EabDraft>] = &[
    required("kid", STRING)
        .means("the identifier of an account that was made at the authority in another way, as some ask for")
        .read(|cx, field, draft| draft.kid = name(cx, field)),
    required("key", STRING)
        .means("beside `eab.kid`: its key, in Base64 for URLs, as the authority has said it")
        .read(|cx, field, draft| {
            let text = name(cx, field);
            draft.key =
                text.and_then(|text| decoded(cx, field, &URL_SAFE_NO_PAD, text.trim_end_matches('=')));
        }),
];

/// The bytes that a secret stands for, which the words of a problem must not have.
fn decoded(
    cx: &mut Context<'_>,
    field: Field<'_>,
    engine: &impl base64::Engine,
    text: &str,
) -> Option<Vec<u8>> {
    let bytes = engine.decode(text).ok().filter(|bytes| !bytes.is_empty());
    if bytes.is_none() {
        cx.problem(format!("The \"{}\" value is not Base64 text.", field.name));
    }
    bytes
}

fn is_dns(challenge: &Challenge) -> bool {
    matches!(challenge, Challenge::Dns(_))
}

fn challenge(cx: &mut Context<'_>, field: Field<'_>) -> Option<Challenge> {
    if let Value::Object(_) = field.value {
        let mut dns = None;
        schema::read_nested(cx, field, &[CHALLENGE], &mut dns);
        return dns.map(Challenge::Dns);
    }
    match field.value.as_bytes().map(|text| &**text) {
        Some(b"http") => Some(Challenge::Http),
        Some(b"tls-alpn") => Some(Challenge::TlsAlpn),
        _ => {
            cx.problem("The \"challenge\" value must be \"http\", \"tls-alpn\" or an object with \"dns\".");
            None
        }
    }
}

const CHALLENGE: &[Member<Option<DnsChallenge>>] =
    &[required("dns", OBJECT).read(|cx, field, dns| *dns = dns_challenge(cx, field))];

struct DnsDraft {
    program: Option<Vec<String>>,
    server: Option<String>,
    zone: Option<String>,
    key: Option<DnsKey>,
    resolver: Option<String>,
    timeout: Duration,
    delay: Duration,
}

fn dns_challenge(cx: &mut Context<'_>, field: Field<'_>) -> Option<DnsChallenge> {
    let n_problems = cx.n_problems();
    let mut draft = DnsDraft {
        program: None,
        server: None,
        zone: None,
        key: None,
        resolver: None,
        timeout: DNS_TIMEOUT,
        delay: Duration::ZERO,
    };
    schema::read_nested(cx, field, &[DNS], &mut draft);
    let DnsDraft { program, server, zone, key, resolver, timeout, delay } = draft;
    let by = match (program, server) {
        (Some(program), None) if !program.is_empty() => DnsUpdate::Program(program),
        (None, Some(address)) => DnsUpdate::Server(DnsServer { address, zone, key }),
        _ if cx.n_problems() > n_problems => return None,
        _ => {
            cx.problem_with_advice(
                "The \"dns\" object must have just one of \"program\" and \"server\".",
                "They say what changes the DNS.",
            );
            return None;
        }
    };
    Some(DnsChallenge { by, resolver, timeout, delay })
}

const DNS_TIMEOUT: Duration = Duration::from_secs(120);
const DNS_SERVER: &str = "The form is \"HOST:PORT\"; the port is mostly 53.";

const DNS: &[Member<DnsDraft>] = &[
    optional("program", ARRAY)
        .means("a program and its arguments; three more are `present` or `remove`, the record's name, and its value")
        .read(|cx, field, draft| {
            let program = string_array(cx, field, argument);
            if program.first().is_some_and(|path| !path.starts_with('/')) {
                cx.problem("The first element of \"program\" must be an absolute path.");
            }
            draft.program = Some(program);
        }),
    optional("server", STRING)
        .means("or a server that takes dynamic updates (RFC 2136): `HOST:PORT`")
        .read(|cx, field, draft| draft.server = formed(cx, field, DNS_SERVER, is_dns_server)),
    optional("zone", STRING)
        .default("the server is asked")
        .means("beside `server`: the zone that is changed")
        .read(|cx, field, draft| draft.zone = host_name(cx, field)),
    optional("key", OBJECT)
        .read(|cx, field, draft| draft.key = dns_key(cx, field)),
    optional("resolver", STRING)
        .default("that of the system")
        .means("the DNS server that is asked for the zone's servers: `HOST:PORT`")
        .read(|cx, field, draft| draft.resolver = formed(cx, field, DNS_SERVER, is_dns_server)),
    optional("timeout", INTEGER)
        .default("120")
        .means("seconds until the program has to end, and the zone's servers have to have the record; with 0, they \
            are not asked")
        .read(|cx, field, draft| draft.timeout = seconds(cx, field, 0..=MAX_SECONDS).unwrap_or(draft.timeout)),
    optional("delay", INTEGER)
        .default("0")
        .means("seconds to wait after that")
        .read(|cx, field, draft| draft.delay = seconds(cx, field, 0..=MAX_SECONDS).unwrap_or_default()),
];

#[derive(Default)]
struct KeyDraft {
    name: Option<String>,
    algorithm: DnsAlgorithm,
    secret: Option<Vec<u8>>,
}

fn dns_key(cx: &mut Context<'_>, field: Field<'_>) -> Option<DnsKey> {
    let mut draft = KeyDraft::default();
    schema::read_nested(cx, field, &[KEY], &mut draft);
    Some(DnsKey { name: draft.name?, algorithm: draft.algorithm, secret: draft.secret? })
}

const KEY: &[Member<KeyDraft>] = &[
    required("name", STRING)
        .means("beside `server`: the name of the key that signs updates (TSIG)")
        .read(|cx, field, draft| draft.name = host_name(cx, field)),
    required("secret", STRING).means("the key itself in Base64, as `tsig-keygen` writes it").read(
        |cx, field, draft| {
            let text = name(cx, field);
            draft.secret = text.and_then(|text| decoded(cx, field, &STANDARD, &text));
        },
    ),
    optional("algorithm", STRING)
        .default("`\"hmac-sha256\"`")
        .means("`hmac-sha256`, `hmac-sha384` or `hmac-sha512`")
        .read(|cx, field, draft| match field.value.as_bytes().map(|text| &**text) {
            Some(b"hmac-sha256") => draft.algorithm = DnsAlgorithm::HmacSha256,
            Some(b"hmac-sha384") => draft.algorithm = DnsAlgorithm::HmacSha384,
            Some(b"hmac-sha512") => draft.algorithm = DnsAlgorithm::HmacSha512,
            _ => cx.problem(
                "The \"algorithm\" value must be \"hmac-sha256\", \"hmac-sha384\" or \"hmac-sha512\".",
            ),
        }),
];

struct OnDemandDraft {
    allow: Option<Allow>,
    per_address: NonZeroU32,
    per_domain: NonZeroU32,
    allowed_for: Duration,
    refused_for: Duration,
}

/// `allow`.
enum Allow {
    Url(String),
    Names(Vec<String>),
}

fn on_demand(cx: &mut Context<'_>, field: Field<'_>) -> Option<OnDemand> {
    let mut draft = OnDemandDraft {
        allow: None,
        per_address: PER_ADDRESS,
        per_domain: PER_DOMAIN,
        allowed_for: ALLOWED_FOR,
        refused_for: REFUSED_FOR,
    };
    schema::read_nested(cx, field, &[ON_DEMAND], &mut draft);
    let OnDemandDraft { allow, per_address, per_domain, allowed_for, refused_for } = draft;
    let allow = match allow? {
        Allow::Url(url) => AllowRule::Url { url, allowed_for, refused_for },
        Allow::Names(names) => AllowRule::Names(names),
    };
    Some(OnDemand { allow, per_address: per_address.get(), per_domain: per_domain.get() })
}

const PER_ADDRESS: NonZeroU32 = NonZeroU32::new(10).unwrap();
const PER_DOMAIN: NonZeroU32 = NonZeroU32::new(50).unwrap();
const ALLOWED_FOR: Duration = Duration::from_hours(1);
const REFUSED_FOR: Duration = Duration::from_mins(5);

const ON_DEMAND: &[Member<OnDemandDraft>] = &[
    required("allow", STRING.or(ARRAY))
        .means(
            "a URL, which is asked with `?domain=NAME` and allows by status 200, or an array of host names, \
            `*.example.com` among them",
        )
        .read(|cx, field, draft| draft.allow = allow(cx, field)),
    optional("per_address", INTEGER)
        .default("10")
        .means("new names for one client's address in an hour")
        .read(|cx, field, draft| draft.per_address = count(cx, field).unwrap_or(draft.per_address)),
    optional("per_domain", INTEGER)
        .default("50")
        .means("new names below one registered domain in an hour")
        .read(|cx, field, draft| draft.per_domain = count(cx, field).unwrap_or(draft.per_domain)),
    optional("remember_allowed", INTEGER)
        .default("3600")
        .means("seconds for which a yes of the URL counts")
        .read(|cx, field, draft| {
            draft.allowed_for = seconds(cx, field, 0..=MAX_SECONDS).unwrap_or(draft.allowed_for);
        }),
    optional("remember_refused", INTEGER).default("300").means("seconds for which a no counts").read(
        |cx, field, draft| {
            draft.refused_for = seconds(cx, field, 0..=MAX_SECONDS).unwrap_or(draft.refused_for);
        },
    ),
];

fn allow(cx: &mut Context<'_>, field: Field<'_>) -> Option<Allow> {
    if let Value::Array(_) = field.value {
        return Some(Allow::Names(string_array(cx, field, host_name)));
    }
    formed(cx, field, advice::KEY_URL, |text| is_url(text, &["https", "http"])).map(Allow::Url)
}

/// Adds the host names that the routes of each listener have; problems of listeners that have none.
pub(super) fn add_names(listeners: &mut [Listener], routes: &Table<Route>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for listener in listeners {
        let Listener { address, pass, tls: Some(tls), .. } = listener else { continue };
        let Some(acme) = &mut tls.acme else { continue };
        let mut known: HashSet<_> = acme.names.iter().cloned().collect();
        let mut visited = HashSet::new();
        names_behind(pass, routes, &mut visited, &mut |host| {
            if known.insert(host.clone()) {
                acme.names.push(host);
            }
        });
        if acme.names.is_empty() && acme.on_demand.is_none() {
            problems.push(nameless(address));
        }
    }
    problems
}

/// Calls `add` with the plain hosts of a route and of those that it leads to.
fn names_behind(
    destination: &Destination,
    routes: &Table<Route>,
    visited: &mut HashSet<Key<Route>>,
    add: &mut impl FnMut(String),
) {
    let Destination::Route(key) = destination else { return };
    let Some(route) = routes.get(*key).filter(|_| visited.insert(*key)) else { return };
    for step in route.steps() {
        let hosts = step.conditions.host.iter().flat_map(|hosts| hosts.plain());
        let hosts = hosts.filter_map(|host| std::str::from_utf8(host).ok());
        // Others are not names that an authority knows: those of this machine or of a private network.
        hosts
            .filter(|host| is_certified_name(host) && host.contains('.'))
            .for_each(|host| add(host.to_owned()));
        if let ActionKind::Pass(destination) = &step.action.kind {
            names_behind(destination, routes, visited, add);
        }
    }
}

fn nameless(address: &ListenAddress) -> Problem {
    Problem {
        pointer: format!("{}/tls/acme", pointer::member("/listeners", address.to_string().as_bytes())),
        detail: "The listener has no host name to order a certificate for.".to_owned(),
        advice:
            "Name hosts in \"names\", or in \"match\"/\"host\" of a route's steps, without \"*\" and \"!\"."
                .to_owned(),
        suggestion: None,
        stage: Stage::Validation,
    }
}
