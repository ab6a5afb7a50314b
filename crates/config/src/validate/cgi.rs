//! The options of applications that are described requests as CGI does: programs of FastCGI, and scripts of CGI (beyond
//! Unit).

use std::num::NonZeroU32;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::entry::{AllowedExecutables, EntryDraft, EntryTable, HasEntry, Php, ScriptKind};
use super::scalars::count;
use super::schema::{self, INTEGER, Member, OBJECT, optional};
use super::{http, targets};
use crate::gateway::EntryPoint;
use crate::json::Object;
use crate::plan::{CgiTarget, RuntimeSpec};

/// Programs of FastCGI.
pub(super) const FASTCGI: AppType<http::HttpDraft> = AppType {
    tables: &[
        http::PROGRAM,
        EntryTable::<http::HttpDraft>::ENTRY,
        EntryTable::<http::HttpDraft>::PARAMS,
        ONE_AT_A_TIME,
    ],
    finish: finish_fastcgi,
};

/// Scripts of CGI.
pub(super) const CGI: AppType<CgiDraft> = AppType {
    tables: &[EntryTable::<CgiDraft>::ENTRY, EntryTable::<CgiDraft>::PARAMS, PROCESS_EACH],
    finish: finish_cgi,
};

/// The members that concern scripts, as far as they were read.
#[derive(Default)]
pub(super) struct CgiDraft {
    entry: EntryDraft<AllowedExecutables>,
    targets: Vec<(String, EntryPoint)>,
    concurrency: Option<NonZeroU32>,
}

impl HasEntry for CgiDraft {
    type Kind = AllowedExecutables;

    fn entry(&mut self) -> &mut EntryDraft<AllowedExecutables> {
        &mut self.entry
    }
}

const ONE_AT_A_TIME: &[Member<http::HttpDraft>] = &[
    optional("targets", OBJECT)
        .means(TARGETS)
        .read(|cx, field, draft| draft.targets = targets::read(cx, field, read_target::<Php>)),
    optional("concurrency", INTEGER).at_most(bounds::PROGRAM_REQUESTS)
        .default("1")
        .means(
            "requests that one process has at the same time, each on a connection of its own: more than one for \
             a program with as many threads or children",
        )
        .read(|cx, field, draft| draft.concurrency = count(cx, field)),
];

const PROCESS_EACH: &[Member<CgiDraft>] = &[
    optional("targets", OBJECT)
        .means(TARGETS)
        .read(|cx, field, draft| draft.targets = targets::read(cx, field, read_target::<AllowedExecutables>)),
    optional("concurrency", INTEGER)
        .at_most(bounds::SCRIPTS)
        .default("16")
        .means("scripts that run at the same time; further requests wait until one has ended")
        .read(|cx, field, draft| draft.concurrency = count(cx, field)),
];

const TARGETS: &str = "several sets of `root`, `script`, `index`, `split_path`, `params` under a name each, passed \
    to as `applications/NAME/TARGET`";

/// The options of an entry point, which make no sense beside `targets`.
const TWINS: &[&str] = &["root", "script", "index", "split_path", "params"];

fn read_target<K: ScriptKind>(
    cx: &mut Context<'_>,
    name: String,
    members: &Object,
) -> Option<(String, EntryPoint)> {
    let mut draft = EntryDraft::<K>::default();
    let tables = &[EntryTable::<EntryDraft<K>>::ENTRY, EntryTable::<EntryDraft<K>>::PARAMS];
    schema::read_object(cx, members, tables, &mut draft);
    Some((name, draft.finish(cx, members)))
}

fn finish_fastcgi(
    cx: &mut Context<'_>,
    app: ApplicationType<'_>,
    mut draft: http::HttpDraft,
) -> Option<RuntimeSpec> {
    if draft.asks_for_path() {
        let detail = "The \"path\" option is for programs that serve HTTP. One of FastCGI is ready when it accepts \
                      connections (\"connect\"), or says so (\"notify\").";
        cx.at(b"ready", |cx| cx.at(b"path", |cx| cx.problem(detail)));
    }
    let (entry, named) = (std::mem::take(&mut draft.entry), std::mem::take(&mut draft.targets));
    let targets = entries(cx, app.members, entry, named);
    http::finish(cx, app, draft.of_fastcgi(targets))
}

fn finish_cgi(cx: &mut Context<'_>, app: ApplicationType<'_>, draft: CgiDraft) -> Option<RuntimeSpec> {
    let targets = entries(cx, app.members, draft.entry, draft.targets);
    if targets.iter().any(|target| target.root.is_none()) {
        cx.problem_with_advice(
            "Required parameter \"root\" is missing.",
            "It is the folder of the scripts, of the application or in each of its \"targets\".",
        );
    }
    http::finish(cx, app, http::HttpDraft::of_scripts(targets, draft.concurrency.unwrap_or(SCRIPTS)))
}

/// Scripts that run at once where nothing is said.
const SCRIPTS: NonZeroU32 = NonZeroU32::new(16).expect("it is not zero");

/// Keeps the entry points for the router. Returns what the processes are told of them.
fn entries<K: ScriptKind>(
    cx: &mut Context<'_>,
    members: &Object,
    only: EntryDraft<K>,
    named: Vec<(String, EntryPoint)>,
) -> Vec<CgiTarget> {
    let all = if targets::are_given(cx, members, TWINS) {
        named
    } else {
        vec![(String::new(), only.finish(cx, members))]
    };
    if all.iter().any(|(_, entry)| entry.root.is_some()) {
        cx.problem_with_advice(
            "The \"root\" of this application must not hold variables: its processes are told of it when they start.",
            "The action \"fastcgi\" and applications of PHP may have one that depends on the request.",
        );
    }
    let root = |entry: &EntryPoint| entry.scripts.as_ref().map(|scripts| scripts.root.clone());
    let targets =
        all.iter().map(|(name, entry)| CgiTarget { name: name.clone(), root: root(entry) }).collect();
    cx.set_entries(all.into_iter().map(|(_, entry)| entry).collect());
    targets
}
