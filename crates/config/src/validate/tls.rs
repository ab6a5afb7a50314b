//! `tls` of a listener (contract 7).

use super::bounds;
use super::context::Context;
use super::scalars;
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings;
use super::{acme, advice};
use crate::json::Value;
use crate::tls::{
    AcmeSettings, ClientAuth, Policy, SessionSettings, TicketKey, Tickets, TlsSettings, Verify,
};

/// Reads `tls`; `None` when something is wrong with it.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<TlsSettings> {
    let mut draft = TlsDraft::default();
    schema::read_nested(cx, field, &[TLS], &mut draft);
    let TlsDraft { certificates, acme, reject_unknown, policy, session, client } = draft;
    let members = field.value.as_object();
    let has_source = members.is_some_and(|members| members.contains_key(b"certificate".as_slice()));
    if acme.is_none() && !has_source {
        cx.problem_with_advice("Required parameter \"certificate\" is missing.", advice::CERTIFICATE);
        return None;
    }
    let certificates = if has_source { certificates? } else { Vec::new() };
    Some(TlsSettings { certificates, acme, reject_unknown, policy, session, client })
}

#[derive(Default)]
struct TlsDraft {
    certificates: Option<Vec<String>>,
    acme: Option<AcmeSettings>,
    reject_unknown: bool,
    policy: Policy,
    session: SessionSettings,
    client: Option<ClientAuth>,
}

const TLS: &[Member<TlsDraft>] = &[
    optional("certificate", STRING.or(ARRAY))
        .default("those of `acme`")
        .means("the name of an uploaded bundle, or several of them; required without `acme`")
        .read(|cx, field, draft| draft.certificates = bundles(cx, field)),
    optional("acme", BOOL.or(OBJECT))
        .default("`false`")
        .means("[automatic certificates](certificates.md) (beyond Unit)")
        .read(|cx, field, draft| draft.acme = acme::read(cx, field)),
    optional("reject_unknown", BOOL)
        .default("`false`")
        .means(
            "whether a client that names no host, or one that no certificate has, is refused; else it gets the first \
             bundle (beyond Unit)",
        )
        .read(|_, field, draft| draft.reject_unknown = scalars::is_true(field)),
    optional("conf_commands", OBJECT)
        .means("[protocol versions, cipher suites and groups](#conf_commands) in OpenSSL's terms")
        .read(|cx, field, draft| commands(cx, field, &mut draft.policy)),
    optional("session", OBJECT)
        .read(|cx, field, draft| schema::read_nested(cx, field, &[SESSION], &mut draft.session)),
    optional("client", OBJECT)
        .means("[certificates of clients](#certificates-of-clients) (beyond Unit)")
        .read(|cx, field, draft| draft.client = client(cx, field)),
];

/// Names of bundles, one or several.
fn bundles(cx: &mut Context<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let Value::Array(elements) = field.value else { return Some(vec![bundle(cx, field)?]) };
    if elements.is_empty() {
        cx.problem(format!("The \"{}\" array must contain at least one element.", field.name));
        return None;
    }
    let names = elements
        .iter()
        .enumerate()
        .map(|(idx, value)| cx.at_index(idx, |cx| bundle(cx, Field { value, ..field })));
    // All of them are looked at before the first that is wrong spoils the whole.
    names.collect::<Vec<_>>().into_iter().collect()
}

fn bundle(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    if !matches!(field.value, Value::String(_)) {
        cx.problem(format!("The \"{}\" array must contain only string values.", field.name));
        return None;
    }
    let name = strings::text(cx, field)?;
    cx.listener_certificate(&name);
    Some(name)
}

/// Each command is tried on the policy as far as it has come. What is wrong is noticed by Unit when it puts
/// the configuration in force, and so answered in the same way here.
fn commands(cx: &mut Context<'_>, field: Field<'_>, policy: &mut Policy) {
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let name = name.to_string_lossy();
            let Value::String(text) = value else {
                return schema::report_wrong_type(cx, &name, STRING, value);
            };
            if let Err(error) = policy.obey(&name, &text.to_string_lossy()) {
                cx.late_problem(error.to_string());
            }
        });
    }
    if let Err(error) = policy.check() {
        cx.late_problem(error.to_string());
    }
}

const SESSION: &[Member<SessionSettings>] = &[
    optional("cache_size", INTEGER)
        .at_most(bounds::TLS_SESSIONS)
        .default("0")
        .means("sessions that the server remembers, so that clients come back without a full handshake")
        .read(|cx, field, session| {
            session.cache_size = scalars::size(cx, field, 0..=scalars::INT_MAX).unwrap_or_default();
        }),
    optional("timeout", INTEGER)
        .default("300")
        .means("seconds for which a session can be resumed")
        .read(timeout),
    optional("tickets", BOOL.or(STRING).or(ARRAY))
        .default("`false`")
        .means("`true`, a key, or an array of keys: sessions that clients keep, encrypted")
        .read(|cx, field, session| session.tickets = tickets(cx, field)),
];

fn timeout(cx: &mut Context<'_>, field: Field<'_>, session: &mut SessionSettings) {
    if field.value.as_number().is_some_and(|number| number.as_i64() <= 0) {
        cx.problem("The \"timeout\" number must be greater than zero.");
    } else if let Some(timeout) = scalars::seconds(cx, field, 1..=scalars::INT_MAX) {
        session.timeout = timeout;
    }
}

fn tickets(cx: &mut Context<'_>, field: Field<'_>) -> Tickets {
    let keys: Vec<_> = match field.value {
        Value::Bool(true) => return Tickets::Random,
        Value::Array(elements) => {
            let keys = elements.iter().enumerate();
            keys.filter_map(|(idx, value)| cx.at_index(idx, |cx| ticket_key(cx, value))).collect()
        }
        Value::String(_) => ticket_key(cx, field.value).into_iter().collect(),
        _ => return Tickets::Off,
    };
    if keys.is_empty() { Tickets::Off } else { Tickets::Keys(keys) }
}

fn ticket_key(cx: &mut Context<'_>, value: &Value) -> Option<TicketKey> {
    let Value::String(text) = value else {
        cx.problem("The \"key\" array must contain only string values.");
        return None;
    };
    match TicketKey::parse(text) {
        Ok(key) => Some(key),
        Err(error) => {
            cx.problem(error.to_string());
            None
        }
    }
}

fn client(cx: &mut Context<'_>, field: Field<'_>) -> Option<ClientAuth> {
    let mut draft = ClientDraft::default();
    schema::read_nested(cx, field, &[CLIENT], &mut draft);
    let ClientDraft { ca, crl, depth, verify } = draft;
    Some(ClientAuth { ca: ca?, crl: crl.unwrap_or_default(), depth, verify })
}

#[derive(Default)]
struct ClientDraft {
    ca: Option<Vec<String>>,
    crl: Option<Vec<String>>,
    depth: Option<usize>,
    verify: Verify,
}

/// Longer chains are never followed.
const MOST_INTERMEDIATES: i64 = 6;

const CLIENT: &[Member<ClientDraft>] = &[
    required("ca", STRING.or(ARRAY))
        .means("bundles whose certificates are the authorities")
        .read(|cx, field, draft| draft.ca = bundles(cx, field)),
    optional("crl", STRING.or(ARRAY))
        .default("none")
        .means("bundles with [lists of revoked certificates](#revoked-certificates) (CRL)")
        .read(|cx, field, draft| draft.crl = bundles(cx, field)),
    optional("depth", INTEGER)
        .default("6")
        .means("how many certificates there may be between the client's and that of an authority")
        .read(|cx, field, draft| draft.depth = scalars::size(cx, field, 0..=MOST_INTERMEDIATES)),
    optional("verify", STRING)
        .default("`\"required\"`")
        .means("`required`: a client without a certificate is refused; `optional`: it is served")
        .read(|cx, field, draft| match field.value.as_bytes().map(|text| &**text) {
            Some(b"required") => draft.verify = Verify::Required,
            Some(b"optional") => draft.verify = Verify::Optional,
            _ => cx.problem("The \"verify\" value must be either \"required\" or \"optional\"."),
        }),
];
