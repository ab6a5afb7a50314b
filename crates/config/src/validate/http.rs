//! The options of applications that serve HTTP themselves: `http` (beyond Unit), `external` and `go` (contract 22.5).

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::entry::{EntryDraft, HasEntry, Php};
use super::scalars::{MAX_SECONDS, count, seconds};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{argument, name, path, string_array, text};
use crate::gateway::EntryPoint;
use crate::json::Value;
use crate::plan::{CgiTarget, HttpSpec, JavaSpec, ProgramKind, ProgramSocket, Ready, RuntimeSpec};

/// Programs that serve HTTP.
pub(super) const HTTP: AppType<HttpDraft> =
    AppType { tables: &[PROGRAM, CONCURRENCY_OPTION, SOCKET], finish };

/// Programs that were written for Unit.
pub(super) const EXTERNAL: AppType<HttpDraft> =
    AppType { tables: &[PROGRAM, CONCURRENCY_OPTION], finish: finish_external };

/// The members that concern the program, as far as they were read.
#[derive(Default)]
pub(super) struct HttpDraft {
    kind: ProgramKind,
    executable: Option<PathBuf>,
    arguments: Vec<String>,
    socket: SocketKind,
    variable: Option<String>,
    ready: ReadyDraft,
    pub(super) concurrency: Option<NonZeroU32>,
    pub(super) entry: EntryDraft<Php>,
    pub(super) targets: Vec<(String, EntryPoint)>,
}

impl HasEntry for HttpDraft {
    type Kind = Php;

    fn entry(&mut self) -> &mut EntryDraft<Php> {
        &mut self.entry
    }
}

impl HttpDraft {
    /// The same of a program that speaks FastCGI on its standard input.
    pub(super) fn of_fastcgi(self, targets: Vec<CgiTarget>) -> Self {
        let concurrency = self.concurrency.or(Some(NonZeroU32::MIN));
        Self { kind: ProgramKind::FastCgi(targets), socket: SocketKind::Standard, concurrency, ..self }
    }

    /// Whether it is to be asked by HTTP when it is ready.
    pub(super) fn asks_for_path(&self) -> bool {
        self.ready.path.is_some()
    }

    /// The kind of programs that start scripts.
    pub(super) fn of_scripts(targets: Vec<CgiTarget>, concurrency: NonZeroU32) -> Self {
        Self {
            kind: ProgramKind::Cgi(targets),
            executable: Some(PathBuf::new()),
            socket: SocketKind::Standard,
            concurrency: Some(concurrency),
            ..Self::default()
        }
    }

    /// The draft of a program which makes its socket, and runs as many requests at once as it has threads.
    pub(super) fn of_java(java: JavaSpec, ready: ReadyDraft, threads: NonZeroU32) -> Self {
        Self {
            kind: ProgramKind::Java(java),
            executable: Some("java".into()),
            socket: SocketKind::Unix,
            ready,
            concurrency: Some(threads),
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum SocketKind {
    #[default]
    Inherited,
    Standard,
    Unix,
    Port,
    AnyPort,
}

#[derive(Default)]
pub(super) struct ReadyDraft {
    path: Option<String>,
    notify: bool,
    timeout: Option<Duration>,
}

pub(super) const PROGRAM: &[Member<HttpDraft>] = &[
    required("executable", STRING)
        .means(
            "the program: a path, absolute or relative to `working_directory`; of `http` and `fastcgi` also a \
             name that is looked for in the application's `PATH`. Scripts are welcome",
        )
        .read(|cx, field, draft| draft.executable = path(cx, field)),
    optional("arguments", ARRAY)
        .default("none")
        .means("its arguments")
        .read(|cx, field, draft| draft.arguments = string_array(cx, field, argument)),
    optional("ready", STRING.or(OBJECT))
        .default("`\"connect\"`")
        .means("when it gets requests: [as soon as it is ready](http.md#when-it-is-ready)")
        .read(|cx, field, draft| draft.ready = ready(cx, field)),
];

const CONCURRENCY_OPTION: &[Member<HttpDraft>] = &[optional("concurrency", INTEGER)
    .at_most(bounds::PROGRAM_REQUESTS)
    .default("128")
    .means(
        "requests that one process has at the same time; further ones wait until it, or another one, has \
             ended one",
    )
    .read(|cx, field, draft| draft.concurrency = count(cx, field))];

/// Where it serves: programs for Unit know by themselves.
const SOCKET: &[Member<HttpDraft>] = &[
    optional("socket", STRING)
        .default("`\"inherited\"`")
        .means("how the program learns [where to serve](#where-it-serves)")
        .read(|cx, field, draft| draft.socket = socket(cx, field).unwrap_or_default()),
    optional("socket_variable", STRING)
        .default("`SOCKET_PATH`, `PORT`")
        .means("the variable that says so, for `\"unix\"`, `\"port\"` and `\"any_port\"`")
        .read(|cx, field, draft| draft.variable = variable(cx, field)),
];

const READY: &[Member<ReadyDraft>] = &[
    optional("path", STRING).read(|cx, field, ready| ready.path = target(cx, field)),
    optional("notify", BOOL).read(|_, field, ready| ready.notify = *field.value == Value::Bool(true)),
    optional("timeout", INTEGER).read(|cx, field, ready| ready.timeout = seconds(cx, field, 1..=MAX_SECONDS)),
];

/// Checks what concerns several members, and makes the specification.
pub(super) fn finish(
    cx: &mut Context<'_>,
    app: ApplicationType<'_>,
    draft: HttpDraft,
) -> Option<RuntimeSpec> {
    if matches!(draft.socket, SocketKind::Port | SocketKind::AnyPort) && app.isolation.namespaces.network {
        let detail = "The \"socket\" must not be \"port\" with a \"network\" namespace: no other process could reach \
                      the port. \"inherited\" and \"unix\" can be reached.";
        cx.at(b"socket", |cx| cx.problem(detail));
    }
    if draft.socket == SocketKind::Inherited && app.members.contains_key(b"socket_variable".as_slice()) {
        let detail = "The \"socket_variable\" option needs the \"socket\" to be \"unix\" or \"port\".";
        cx.at(b"socket_variable", |cx| cx.problem(detail));
    }
    let ReadyDraft { path, notify, timeout } = draft.ready;
    let named = |default: &str| draft.variable.clone().unwrap_or_else(|| default.to_owned());
    Some(RuntimeSpec::Http(HttpSpec {
        kind: draft.kind,
        executable: draft.executable?,
        arguments: draft.arguments,
        socket: match draft.socket {
            SocketKind::Inherited => ProgramSocket::Inherited,
            SocketKind::Standard => ProgramSocket::Standard,
            SocketKind::Unix => ProgramSocket::Unix { variable: named(SOCKET_VARIABLE) },
            kind => {
                ProgramSocket::Port { variable: named(PORT_VARIABLE), or_any: kind == SocketKind::AnyPort }
            }
        },
        ready: match path {
            Some(path) => Ready::Path(path),
            None if notify => Ready::Notify,
            None => Ready::Connect,
        },
        ready_timeout: timeout.unwrap_or(READY_TIMEOUT),
        concurrency: draft.concurrency.unwrap_or(CONCURRENCY),
    }))
}

/// As `finish`, for a program that was written for Unit, which looks for no executable in `PATH`.
fn finish_external(
    cx: &mut Context<'_>,
    app: ApplicationType<'_>,
    mut draft: HttpDraft,
) -> Option<RuntimeSpec> {
    let is_name = |path: &PathBuf| !path.as_os_str().as_encoded_bytes().contains(&b'/');
    draft.kind = ProgramKind::External;
    draft.executable =
        draft.executable.map(|path| if is_name(&path) { Path::new(".").join(path) } else { path });
    finish(cx, app, draft)
}

fn socket(cx: &mut Context<'_>, field: Field<'_>) -> Option<SocketKind> {
    match &**field.value.as_bytes()? {
        b"inherited" => Some(SocketKind::Inherited),
        b"unix" => Some(SocketKind::Unix),
        b"port" => Some(SocketKind::Port),
        b"any_port" => Some(SocketKind::AnyPort),
        other => {
            let written = String::from_utf8_lossy(other);
            let names = ["inherited", "unix", "port", "any_port"].into_iter();
            let detail = "The \"socket\" must be \"inherited\", \"unix\", \"port\" or \"any_port\".";
            cx.problem_with_suggestion(detail, &written, names);
            None
        }
    }
}

fn variable(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let name = name(cx, field)?;
    if name.contains('=') {
        cx.problem(format!("The \"{}\" string must not contain '=' character.", field.name));
        return None;
    }
    Some(name)
}

pub(super) fn ready(cx: &mut Context<'_>, field: Field<'_>) -> ReadyDraft {
    let mut ready = ReadyDraft::default();
    match field.value {
        Value::Object(members) => {
            schema::read_object(cx, members, &[READY], &mut ready);
            if ready.notify && members.contains_key(b"path".as_slice()) {
                let detail = "The \"path\" option is mutually exclusive with \"notify\".";
                cx.at(b"path", |cx| cx.problem(detail));
            }
        }
        Value::String(text) if **text == *b"connect" => {}
        Value::String(text) if **text == *b"notify" => ready.notify = true,
        other => {
            let written = other.as_bytes().map(|text| text.to_string_lossy().into_owned());
            let detail = "The \"ready\" string must be \"connect\" or \"notify\".";
            cx.problem_with_suggestion(
                detail,
                &written.unwrap_or_default(),
                ["connect", "notify"].into_iter(),
            );
        }
    }
    ready
}

/// A path as it can stand in a request line.
fn target(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = text(cx, field)?;
    if !text.starts_with('/') || text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        cx.problem(format!("The \"{}\" string must be a path of a URL that begins with \"/\".", field.name));
        return None;
    }
    Some(text)
}

const SOCKET_VARIABLE: &str = "SOCKET_PATH";
const PORT_VARIABLE: &str = "PORT";

/// Large frameworks take this long on small machines.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Programs that serve HTTP handle many requests at once, and keep what they cannot handle waiting.
const CONCURRENCY: NonZeroU32 = NonZeroU32::new(128).expect("it is not zero");
