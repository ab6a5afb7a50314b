//! `cgroup`: the control group of an application, and bounds on what it uses.

use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::super::bounds;
use super::super::context::Context;
use super::super::scalars::amount;
use super::super::schema::{self, Field, INTEGER, Member, NUMBER, STRING, optional, required};
use crate::json::Bytes;
use crate::plan::{Cgroup, CgroupLimits};

/// Reads `cgroup`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Cgroup> {
    let mut draft = CgroupDraft::default();
    schema::read_nested(cx, field, &[CGROUP], &mut draft);
    Some(Cgroup { path: draft.path?, limits: draft.limits })
}

#[derive(Default)]
struct CgroupDraft {
    path: Option<PathBuf>,
    limits: CgroupLimits,
}

const CGROUP: &[Member<CgroupDraft>] = &[
    required("path", STRING)
        .means(
        "the group: from the root of the hierarchy if it begins with a slash, else below the daemon's own \
         group",
    )
        .read(|cx, field, draft| draft.path = cgroup_path(cx, field)),
    optional("memory", INTEGER)
        .default("none")
        .means(
            "bytes; a process that goes beyond is ended, and its request answered with 503. Nothing is moved to swap \
             space",
        )
        .read(|cx, field, draft| draft.limits.memory = amount(cx, field)),
    optional("cpu", NUMBER)
        .default("none")
        .means("processors, also parts of one: `0.5`")
        .read(|cx, field, draft| draft.limits.cpu = processors(cx, field)),
    optional("pids", INTEGER).at_most(bounds::CGROUP_PIDS)
        .default("none")
        .means(
            "processes and threads: one for the prototype, one for each worker (two with `limits.slow`), and \
             what these start",
        )
        .read(|cx, field, draft| draft.limits.pids = amount(cx, field)),
];

fn cgroup_path(cx: &mut Context<'_>, field: Field<'_>) -> Option<PathBuf> {
    let text: &Bytes = field.value.as_bytes()?;
    let path = Path::new(OsStr::from_bytes(text));
    let leads_somewhere = path.components().any(|component| matches!(component, Component::Normal(_)));
    if !leads_somewhere || text.contains(&0) || text.windows(2).any(|pair| pair == b"..") {
        cx.problem(format!("The cgroup path \"{text}\" is invalid."));
        return None;
    }
    if text.len() > MAX_PATH || path.components().any(|component| component.as_os_str().len() > MAX_NAME) {
        cx.problem(format!("The cgroup path \"{text}\" is too long."));
        return None;
    }
    Some(path.to_owned())
}

/// Thousandths; less than a hundredth is nothing that the kernel takes.
fn processors(cx: &mut Context<'_>, field: Field<'_>) -> Option<NonZeroU64> {
    let number = field.value.as_number()?.as_f64();
    if !(0.01..=MAX_PROCESSORS).contains(&number) {
        cx.problem(format!("The \"{}\" number must be between 0.01 and {MAX_PROCESSORS}.", field.name));
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    NonZeroU64::new((number * 1000.0).round() as u64)
}

const MAX_PROCESSORS: f64 = 65536.0;

/// The longest path, with room for what comes before and behind it; the longest name in it is below.
const MAX_PATH: usize = 3072;
const MAX_NAME: usize = 255;
