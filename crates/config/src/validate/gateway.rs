//! `fastcgi`, `scgi` and `uwsgi`: where the servers are, where their scripts are, and what they are told.

use std::path::PathBuf;
use std::time::Duration;

use super::context::{Context, nearest};
use super::proxy::number;
use super::scalars::{MAX_SECONDS, seconds};
use super::schema::{self, ARRAY, Field, INTEGER, Member, OBJECT, STRING, optional};
use super::strings::{member_name, parse_template, path, string_array, text};
use super::{actions, advice};
use crate::gateway::{Gateway, Protocol, Scripts, Servers};
use crate::json::{Bytes, Object, Value};
use crate::route::{ActionKind, ActionOptions, Destination};
use crate::template::Template;
use crate::upstream::{Origin, ProxyOptions, Upstream};

pub(super) fn read_fastcgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::FastCgi, FASTCGI)
}

pub(super) fn read_scgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::Scgi, SCGI)
}

pub(super) fn read_uwsgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::Uwsgi, UWSGI)
}

fn read(
    cx: &mut Context<'_>,
    members: &Object,
    common: &mut ActionOptions,
    protocol: Protocol,
    server: &[Member<Draft>],
) -> Option<ActionKind> {
    let mut draft = Draft::default();
    draft.options.gateway = Some(protocol);
    let timeouts = &mut draft.options.timeouts;
    (timeouts.send, timeouts.response, timeouts.read) = (TIMEOUT, TIMEOUT, TIMEOUT);
    let tables: &[&[Member<Draft>]] = match protocol {
        Protocol::FastCgi => &[server, OPTIONS, KEEPS],
        // Their connections end with each request.
        Protocol::Scgi | Protocol::Uwsgi => &[server, OPTIONS],
    };
    actions::read_kind(cx, members, tables, &mut draft, common);
    let scripts = scripts(cx, members, &mut draft);
    let servers = match draft.servers? {
        Named::Upstream(idx) => {
            report_options_of_upstream(cx, members);
            Servers::Upstream(idx)
        }
        Named::Origin(origin) => {
            let name = origin.url(Some(protocol));
            Servers::Proxy(cx.proxy(Upstream::single(name, origin, draft.options)))
        }
    };
    Some(ActionKind::Gateway(Gateway { servers, scripts, params: draft.params }))
}

/// As long as nginx waits.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Draft {
    servers: Option<Named>,
    root: Option<PathBuf>,
    script: Option<PathBuf>,
    index: Option<String>,
    split_path: Option<Vec<String>>,
    params: Vec<(String, Option<Template>)>,
    options: ProxyOptions,
}

/// The servers as an action names them.
enum Named {
    Upstream(usize),
    Origin(Origin),
}

const FASTCGI: &[Member<Draft>] = &[optional("fastcgi", STRING)
    .default("required")
    .means(
        "a server of FastCGI, `unix:PATH` or `HOST:PORT`, or `upstreams/NAME`: servers whose `protocol` is \
         `\"fastcgi\"`",
    )
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::FastCgi))];

const SCGI: &[Member<Draft>] = &[optional("scgi", STRING)
    .default("required")
    .means("in its place: the same for servers of SCGI")
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::Scgi))];

const UWSGI: &[Member<Draft>] = &[optional("uwsgi", STRING)
    .default("required")
    .means("in its place: the same for servers of uwsgi, the protocol of uWSGI")
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::Uwsgi))];

const OPTIONS: &[Member<Draft>] = &[
    optional("root", STRING)
        .means(
            "the folder of the scripts, for servers that run scripts. Without it the server gets every path \
             as `PATH_INFO`",
        )
        .read(|cx, field, draft| draft.root = path(cx, field)),
    optional("script", STRING)
        .means("every request runs this one, relative to `root`")
        .read(|cx, field, draft| draft.script = path(cx, field)),
    optional("index", STRING)
        .default("`index.php`")
        .means("the script for a folder")
        .read(|cx, field, draft| draft.index = text(cx, field)),
    optional("split_path", ARRAY)
        .default("`[\".php\"]`")
        .means(
            "how names of scripts end: a path is split behind the first segment that ends so, and its rest \
             becomes `PATH_INFO`. Compared byte for byte; nothing else is a script",
        )
        .read(|cx, field, draft| draft.split_path = Some(string_array(cx, field, extension))),
    optional("params", OBJECT)
        .means(
            "an object: variables for the server, as texts with variables, beside those of CGI or in their \
             place; `null` takes one away",
        )
        .read(|cx, field, draft| draft.params = params(cx, field)),
    optional("timeout", INTEGER)
        .default("60")
        .means("seconds without anything from the server, or without it taking anything, until it is given up (504)")
        .read(|cx, field, draft| {
            let limit = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(TIMEOUT);
            let timeouts = &mut draft.options.timeouts;
            (timeouts.send, timeouts.response, timeouts.read) = (limit, limit, limit);
        }),
];

const KEEPS: &[Member<Draft>] = &[optional("keep_alive", OBJECT).read(|cx, field, draft| {
    schema::read_nested(cx, field, &[KEEP_ALIVE], &mut draft.options);
})];

const KEEP_ALIVE: &[Member<ProxyOptions>] = &[
    optional("processes", INTEGER)
        .default("0")
        .means(
            "how many processes the server has. As many connections are kept at most, in all threads \
             together: each of them keeps a process for itself. 0: a new connection for each request",
        )
        .read(|cx, field, options| options.processes = number(cx, field).unwrap_or_default()),
    optional("idle_timeout", INTEGER)
        .default("60")
        .means("seconds for which a connection is kept that nobody uses")
        .read(|cx, field, options| {
            let keepalive = &mut options.keepalive;
            keepalive.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(keepalive.idle_timeout);
        }),
    optional("requests", INTEGER)
        .default("0")
        .means("requests on one connection; 0: no limit")
        .read(|cx, field, options| options.keepalive.requests = number(cx, field).unwrap_or_default()),
];

fn servers(cx: &mut Context<'_>, field: Field<'_>, protocol: Protocol) -> Option<Named> {
    let text = field.value.as_bytes()?;
    if text.starts_with(b"upstreams/") && !Template::is_dynamic(text) {
        return upstream(cx, field, protocol);
    }
    let origin = Origin::parse_bare(text);
    if origin.is_none() {
        let meant = meant(text);
        let detail = format!("The \"{protocol}\" address is invalid \"{text}\"");
        cx.problem_that_means(detail, advice::GATEWAY, meant);
    }
    origin.map(Named::Origin)
}

/// The upstream that a text names.
pub(super) fn named_upstream(cx: &mut Context<'_>, field: Field<'_>, advice: &str) -> Option<usize> {
    let known = cx.destinations;
    let text = field.value.as_bytes()?;
    if let Ok(Destination::Upstream(idx)) = known.resolve(text) {
        return Some(idx);
    }
    let written = text.to_string_lossy();
    let meant = cx.search(|| known.meant(&written, |text, known| nearest(text, known.iter())));
    cx.problem_that_means(format!("There is no upstream \"{text}\"."), advice, meant);
    None
}

/// An upstream whose servers speak the protocol.
fn upstream(cx: &mut Context<'_>, field: Field<'_>, protocol: Protocol) -> Option<Named> {
    let idx = named_upstream(cx, field, advice::GATEWAY)?;
    if cx.destinations.protocols.get(idx) != Some(&Some(protocol)) {
        cx.problem_with_advice(
            format!("The servers of this upstream do not speak {protocol}."),
            format!("The upstream says so: \"protocol\": \"{protocol}\"."),
        );
    }
    Some(Named::Upstream(idx))
}

/// The address that was probably meant: with a scheme in front of it, or a path as nginx and Apache have it.
fn meant(text: &Bytes) -> Option<String> {
    let text = text.to_str()?.trim();
    let (_, rest) = text.split_once("://").unwrap_or(("", text));
    let candidates = [rest.to_owned(), format!("unix:{rest}"), rest.trim_end_matches(['/', ';']).to_owned()];
    candidates.into_iter().find(|candidate| Origin::parse_bare(candidate.as_bytes()).is_some())
}

fn scripts(cx: &mut Context<'_>, members: &Object, draft: &mut Draft) -> Option<Scripts> {
    let Some(root) = draft.root.take() else {
        for name in ["script", "index", "split_path"] {
            if members.contains_key(name.as_bytes()) && !members.contains_key(b"root".as_slice()) {
                cx.at(name.as_bytes(), |cx| {
                    cx.problem(format!("The \"{name}\" option needs \"root\", the folder of the scripts."));
                });
            }
        }
        return None;
    };
    let script = draft.script.take();
    if script.is_some() {
        for name in ["index", "split_path"].into_iter().filter(|name| members.contains_key(name.as_bytes())) {
            cx.at(name.as_bytes(), |cx| {
                cx.problem(format!(
                    "The \"{name}\" option is of no use beside \"script\", which answers everything."
                ));
            });
        }
    }
    let script = script.map(|script| match script.strip_prefix("/") {
        Ok(relative) => relative.to_owned(),
        Err(_) => script,
    });
    Some(Scripts {
        root,
        script,
        index: draft.index.take().unwrap_or_else(|| "index.php".to_owned()),
        split_path: draft.split_path.take().unwrap_or_else(|| vec![".php".to_owned()]),
    })
}

/// What is said of the servers themselves belongs to those who are named, or two actions could contradict each other.
fn report_options_of_upstream(cx: &mut Context<'_>, members: &Object) {
    for (name, there) in [("timeout", "\"timeouts\""), ("keep_alive", "\"processes\" and \"keepalive\"")] {
        if members.contains_key(name.as_bytes()) {
            cx.at(name.as_bytes(), |cx| {
                cx.problem(format!("The \"{name}\" of an upstream is its own: see {there} there."));
            });
        }
    }
}

fn extension(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = text(cx, field)?;
    let is_end = text.len() > 1 && text.starts_with('.') && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_end || text.contains('/') {
        cx.problem("The \"split_path\" array must contain only ends of names like \".php\".");
        return None;
    }
    Some(text)
}

fn params(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, Option<Template>)> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| param(cx, name, value))).collect()
}

fn param(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<(String, Option<Template>)> {
    let text = member_name(cx, name)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=') {
        cx.problem("The name of a variable must consist of ASCII characters without \"=\" and blanks.");
        return None;
    }
    match value {
        Value::Null => Some((text, None)),
        Value::String(template) if template.contains(&0) => {
            cx.problem(format!("The \"{text}\" string must not contain null character."));
            None
        }
        Value::String(template) => Some((text, Some(parse_template(cx, name.to_str()?, template)?))),
        _ => {
            cx.problem_with_advice(
                "The \"params\" values must be either strings or null.",
                advice::for_type(STRING, value),
            );
            None
        }
    }
}
