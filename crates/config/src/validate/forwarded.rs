//! `forwarded`, the old `client_ip`, and `proxy_protocol` of a listener (contract 8).

use super::context::Context;
use super::schema::{self, ARRAY, BOOL, Field, Member, STRING, optional, required};
use super::strings;
use crate::json::Value;
use crate::listener::Forwarded;
use crate::pattern::address::AddressPatternSet;

/// The type of an option that lists trusted peers.
const PEERS: schema::Types = STRING.or(ARRAY);

/// `forwarded`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Forwarded> {
    let draft = read_draft(cx, field, FORWARDED);
    let has =
        |name: &str| field.value.as_object().is_some_and(|members| members.contains_key(name.as_bytes()));
    if !has("client_ip") && !has("protocol") {
        cx.problem("The \"forwarded\" object must have either \"client_ip\" or \"protocol\" option set.");
    }
    draft.finish()
}

/// `client_ip`, as it was before there was `forwarded`.
pub(super) fn read_legacy(cx: &mut Context<'_>, field: Field<'_>) -> Option<Forwarded> {
    read_draft(cx, field, CLIENT_IP).finish()
}

/// `proxy_protocol`: the peers that begin a connection with such a header.
pub(super) fn read_proxy_protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<AddressPatternSet> {
    read_draft(cx, field, PROXY_PROTOCOL).source
}

#[derive(Default)]
struct ForwardedDraft {
    source: Option<AddressPatternSet>,
    client_ip: Option<String>,
    protocol: Option<String>,
    recursive: bool,
}

impl ForwardedDraft {
    fn finish(self) -> Option<Forwarded> {
        let Self { source, client_ip, protocol, recursive } = self;
        Some(Forwarded { source: source?, client_ip, protocol, recursive })
    }
}

fn read_draft(cx: &mut Context<'_>, field: Field<'_>, table: &[Member<ForwardedDraft>]) -> ForwardedDraft {
    let mut draft = ForwardedDraft::default();
    schema::read_nested(cx, field, &[table], &mut draft);
    draft
}

fn source(cx: &mut Context<'_>, field: Field<'_>, draft: &mut ForwardedDraft) {
    draft.source = strings::address_patterns(cx, field);
}

fn client_ip(cx: &mut Context<'_>, field: Field<'_>, draft: &mut ForwardedDraft) {
    draft.client_ip = strings::name(cx, field);
}

fn recursive(_: &mut Context<'_>, field: Field<'_>, draft: &mut ForwardedDraft) {
    draft.recursive = matches!(field.value, Value::Bool(true));
}

const FORWARDED: &[Member<ForwardedDraft>] = &[
    required("source", PEERS)
        .means("the trusted peers, as an address pattern or several; `[]` trusts none")
        .read(source),
    optional("client_ip", STRING).means("the header with the client's address").read(client_ip),
    optional("protocol", STRING)
        .means(
            "the header with the client's scheme: `https` and `on` mean TLS, `http` means none; of a list the \
             first word counts, and anything else is ignored",
        )
        .read(|cx, field, draft| draft.protocol = strings::name(cx, field)),
    optional("recursive", BOOL)
        .default("`false`")
        .means("addresses at the end of the list that are trusted themselves are skipped")
        .read(recursive),
];

const CLIENT_IP: &[Member<ForwardedDraft>] = &[
    required("source", PEERS).read(source),
    required("header", STRING).read(client_ip),
    optional("recursive", BOOL).read(recursive),
];

const PROXY_PROTOCOL: &[Member<ForwardedDraft>] = &[required("source", PEERS).read(source)];
