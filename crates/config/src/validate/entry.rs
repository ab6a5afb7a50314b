//! Entry points: which script answers a path. Actions and applications have them alike.

use std::marker::PhantomData;
use std::path::PathBuf;

use super::context::Context;
use super::params;
use super::schema::{ARRAY, Field, Member, STRING, optional};
use super::script_root::{self, ScriptRoot};
use super::strings::{path, string_array, text};
use crate::gateway::{EntryPoint, Param, Scripts};
use crate::json::Object;

/// The defaults of a kind of scripts.
pub(super) trait ScriptKind: Default + 'static {
    /// The script for a folder.
    const INDEX: &'static str;
    /// The same as the manual has it.
    const SHOWN_INDEX: &'static str;
    /// The default of `split_path` as the manual has it.
    const SHOWN_SPLIT: &'static str;

    /// The default of `split_path`.
    fn split_path() -> Option<Vec<String>>;
}

/// Scripts of PHP.
#[derive(Default)]
pub(super) struct Php;

impl ScriptKind for Php {
    const INDEX: &'static str = "index.php";
    const SHOWN_INDEX: &'static str = "`index.php`";
    const SHOWN_SPLIT: &'static str = "`[\".php\"]`";

    fn split_path() -> Option<Vec<String>> {
        Some(vec![".php".to_owned()])
    }
}

/// Files that can be executed, whatever their names are.
#[derive(Default)]
pub(super) struct AllowedExecutables;

impl ScriptKind for AllowedExecutables {
    const INDEX: &'static str = "index.cgi";
    const SHOWN_INDEX: &'static str = "`index.cgi`";
    const SHOWN_SPLIT: &'static str = "behind the first file";

    fn split_path() -> Option<Vec<String>> {
        None
    }
}

/// The members, as far as they were read.
#[derive(Default)]
pub(super) struct EntryDraft<K> {
    root: Option<ScriptRoot>,
    script: Option<PathBuf>,
    index: Option<String>,
    split_path: Option<Vec<String>>,
    params: Vec<Param>,
    kind: PhantomData<K>,
}

/// A draft of which an entry point is a part.
pub(super) trait HasEntry: 'static {
    /// The scripts that it has.
    type Kind: ScriptKind;

    fn entry(&mut self) -> &mut EntryDraft<Self::Kind>;
}

impl<K: ScriptKind> HasEntry for EntryDraft<K> {
    type Kind = K;

    fn entry(&mut self) -> &mut Self {
        self
    }
}

impl<K: ScriptKind> EntryDraft<K> {
    /// Checks what concerns several members, and makes the entry point.
    pub(super) fn finish(mut self, cx: &mut Context<'_>, members: &Object) -> EntryPoint {
        let (root, varies) = match self.root.take() {
            None => (None, None),
            Some(ScriptRoot::Fixed(root)) => (Some(root), None),
            Some(ScriptRoot::Varies(template)) => (Some(PathBuf::new()), Some(template)),
        };
        EntryPoint { scripts: scripts(cx, members, (root, &mut self)), params: self.params, root: varies }
    }
}

/// The rows for a draft.
pub(super) struct EntryTable<D>(PhantomData<D>);

impl<D: HasEntry> EntryTable<D> {
    pub(super) const ENTRY: &'static [Member<D>] = &[
        optional("root", STRING)
            .means(
                "the folder of the scripts, for servers that run scripts. Without it the server gets every path \
                 as `PATH_INFO`. That of an action may hold variables: [one folder for each \
                 host](php.md#one-folder-for-each-host)",
            )
            .read(|cx, field, draft| draft.entry().root = script_root::read(cx, field)),
        optional("script", STRING)
            .means("every request runs this one, relative to `root`")
            .read(|cx, field, draft| draft.entry().script = path(cx, field)),
        optional("index", STRING)
            .default(<D::Kind as ScriptKind>::SHOWN_INDEX)
            .means("the script for a folder")
            .read(|cx, field, draft| draft.entry().index = text(cx, field)),
        optional("split_path", ARRAY)
            .default(<D::Kind as ScriptKind>::SHOWN_SPLIT)
            .means(
                "how names of scripts end: a path is split behind the first segment that ends so, and its rest \
                 becomes `PATH_INFO`. Compared byte for byte; nothing else is a script",
            )
            .read(|cx, field, draft| draft.entry().split_path = Some(string_array(cx, field, extension))),
    ];

    /// Variables, which actions have among the options of all.
    pub(super) const PARAMS: &'static [Member<D>] =
        &[params::OF_APPLICATION.read(|cx, field, draft| draft.entry().params = params::read(cx, field))];
}

fn scripts<K: ScriptKind>(
    cx: &mut Context<'_>,
    members: &Object,
    (root, draft): (Option<PathBuf>, &mut EntryDraft<K>),
) -> Option<Scripts> {
    let Some(root) = root else {
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
        index: draft.index.take().unwrap_or_else(|| K::INDEX.to_owned()),
        split_path: draft.split_path.take().or_else(K::split_path),
    })
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
