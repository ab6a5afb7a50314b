//! `try` of actions (beyond Unit): paths that are looked for, and where.
//!
//! The folder and the scripts are those of what answers: an action of FastCGI names them itself, an application of PHP
//! has them. As applications may stand behind routes in the document, theirs are put in when all of it is read.

use std::path::Path;

use super::context::Context;
use super::label::Label;
use super::schema::{self, ARRAY, Field, Member, OBJECT, STRING, optional, required};
use super::script_root::ScriptRoot;
use super::share::cache_rules;
use super::share::confinement::{ConfinementTable, HasConfinement};
use super::share::draft::ShareDraft;
use super::strings::{name, one_or_more, patterns, template};
use crate::gateway::EntryPoint;
use crate::json::{Object, Value};
use crate::pattern::Flavor;
use crate::plan::{AppSpec, RuntimeSpec};
use crate::problem::{Problem, Stage};
use crate::route::{ActionKind, Confinement, Destination, LastTry, ScriptNames, TryFiles};
use crate::table::{Key, Table};
use crate::tables::AppPolicy;
use crate::template::{Rewrite, Template};

/// The row of `try`.
pub(super) const TRY: Label = optional("try", ARRAY.or(OBJECT)).means(
    "paths that are looked for, one after the other. The first one that is there is sent, or run if it is a script. \
     The last one is taken in any case: see [try](#try) (beyond Unit)",
);

/// Reads a list of paths, or an object with one.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<TryFiles>> {
    let mut draft = TryDraft::default();
    match field.value {
        Value::Array(_) => read_paths(cx, field, &mut draft),
        _ => schema::read_nested(cx, field, &[PATHS, ConfinementTable::<TryDraft>::ROWS, SENT], &mut draft),
    }
    let TryDraft { candidates, last, root, index, mut share } = draft;
    share.paths.extend(root);
    let files = share.into_share(cx);
    Some(cx.tables.tries.push(TryFiles {
        place: cx.pointer().to_owned(),
        application: None,
        candidates,
        last: last?,
        index,
        scripts: ScriptNames::Ends(vec![".php".to_owned()]),
        files: Some(files),
    }))
}

#[derive(Default)]
struct TryDraft {
    candidates: Vec<Rewrite>,
    last: Option<LastTry>,
    root: Option<Template>,
    index: Vec<String>,
    /// How files are sent; it has no path.
    share: ShareDraft,
}

impl HasConfinement for TryDraft {
    fn confinement(&mut self) -> &mut Confinement {
        &mut self.share.confinement
    }
}

const PATHS: &[Member<TryDraft>] = &[
    required("paths", ARRAY).means("the paths, as the list that `try` may be").read(read_paths),
    optional("root", STRING)
        .default("that of the scripts")
        .means("the folder that they are looked for in, as a text with variables")
        .read(|cx, field, draft| draft.root = read_root(cx, field)),
    optional("index", STRING.or(ARRAY))
        .default("the `index` of the scripts, then `index.html`")
        .means("the files that are looked for in a folder, one after the other")
        .read(|cx, field, draft| {
            draft.index = one_or_more(cx, field, name);
            check_number(cx, field);
        }),
];

const SENT: &[Member<TryDraft>] = &[
    optional("types", STRING.or(ARRAY))
        .default("all")
        .means("files whose MIME type does not match these [patterns](routes.md#conditions) are not there")
        .read(|cx, field, draft| draft.share.types = patterns(cx, field, Flavor::CaseInsensitive)),
    optional("cache_control", STRING.or(OBJECT))
        .means("the value of `Cache-Control`, or [values by pattern](files.md#cache-control)")
        .read(|cx, field, draft| draft.share.cache_control = cache_rules(cx, field)),
];

/// Paths, or names of an index, of one list.
const MOST: usize = 16;

fn check_number(cx: &mut Context<'_>, field: Field<'_>) {
    match field.value.as_array().map_or(1, <[Value]>::len) {
        0 => cx.problem(format!("The \"{}\" array must contain at least one element.", field.name)),
        1..=MOST => {}
        _ => cx.problem(format!("The \"{}\" array must not contain more than {MOST} elements.", field.name)),
    }
}

fn read_paths(cx: &mut Context<'_>, field: Field<'_>, draft: &mut TryDraft) {
    check_number(cx, field);
    let elements = field.value.as_array().unwrap_or_default();
    for (idx, value) in elements.iter().enumerate() {
        let field = Field { value, ..field };
        cx.at_index(idx, |cx| match read_path(cx, field, idx + 1 == elements.len()) {
            Some(last) if idx + 1 == elements.len() => draft.last = Some(last),
            Some(LastTry::Path(path)) => draft.candidates.push(path),
            _ => {}
        });
    }
}

fn read_path(cx: &mut Context<'_>, field: Field<'_>, is_last: bool) -> Option<LastTry> {
    let Value::String(text) = field.value else {
        schema::report_wrong_type(cx, field.name, STRING, field.value);
        return None;
    };
    match text.first() {
        Some(b'=') if is_last => return status(cx, &text.to_string_lossy()).map(LastTry::Status),
        Some(b'=') => cx.problem("A status ends the list: it must be its last element."),
        Some(b'@') => cx.problem_with_advice(
            "The \"try\" list must consist of paths: there are no named locations.",
            "The action itself is what comes last: end the list with \"$uri\".",
        ),
        None => cx.problem("A path of \"try\" must not be empty."),
        Some(_) if is_last && **text == *b"$uri" => return Some(LastTry::Request),
        Some(_) => {
            let path = template(cx, field).map(Rewrite::new)?;
            if path.is_malformed() {
                cx.problem("A \"%\" in a path is followed by two hexadecimal digits.");
            }
            return Some(LastTry::Path(path));
        }
    }
    None
}

fn status(cx: &mut Context<'_>, text: &str) -> Option<u16> {
    let status = text.strip_prefix('=').and_then(|digits| digits.parse().ok());
    let status = status.filter(|status| (400..=599).contains(status));
    if status.is_none() {
        cx.problem_with_advice("A status of \"try\" must be from 400 to 599.", "It is like \"=404\".");
    }
    status
}

fn read_root(cx: &mut Context<'_>, field: Field<'_>) -> Option<Template> {
    let root = template(cx, field)?;
    if root.is_constant() == Some(b"") {
        cx.problem("The \"root\" must not be empty.");
        return None;
    }
    if root.begins_with_client_value() {
        cx.problem("The \"root\" must not begin with what the client sends: begin it with a folder.");
        return None;
    }
    let paths = root.with_uri();
    if paths.is_none() {
        cx.problem("The \"root\" must not be JavaScript.");
    }
    paths
}

/// Puts in what the kind of an action says of its files, once that is read.
pub(super) fn finish(cx: &mut Context<'_>, members: &Object, key: Key<TryFiles>, kind: &ActionKind) {
    if let ActionKind::Share(_) = kind {
        report_options_of_share(cx, members);
    }
    let Some(try_files) = cx.tables.tries.get_mut(key) else { return };
    try_files.take_from(kind);
    if try_files.application.is_none() && try_files.has_no_folder() && cx.recorder.is_none() {
        cx.at(b"try", |cx| cx.problem_with_advice(NO_FOLDER, FOLDER));
    }
}

/// A share says itself where its files are, and how they are sent.
fn report_options_of_share(cx: &mut Context<'_>, members: &Object) {
    let options = members.get(b"try".as_slice()).and_then(Value::as_object);
    for name in options.into_iter().flat_map(Object::keys).filter(|name| ***name != *b"paths") {
        let text = name.to_string_lossy();
        let detail = format!("The \"{text}\" of a share is an option of the share itself.");
        cx.at(b"try", |cx| cx.at(name, |cx| cx.problem(detail)));
    }
}

const NO_FOLDER: &str = "There is no folder that the paths of \"try\" could be looked for in.";
const FOLDER: &str = "An object names it: \"try\": {\"root\": \"/srv/site\", \"paths\": […]}.";

/// Puts in the folders of applications; what is wrong with those that have none.
pub(super) fn complete(
    tries: &mut Table<TryFiles>,
    specs: &Table<AppSpec>,
    policies: &Table<AppSpec, AppPolicy>,
) -> Vec<Problem> {
    for try_files in tries.values_mut() {
        let Some((app, target)) = try_files.application else { continue };
        if let (Some(spec), Some(policy)) = (specs.get(app), policies.get(app))
            && let Some(folder) = ScriptFolder::of_application(spec, &policy.entries, usize::from(target))
        {
            try_files.adopt(&folder);
        }
    }
    for try_files in tries.values_mut().iter_mut().filter(|try_files| try_files.index.is_empty()) {
        try_files.index.push(INDEX.to_owned());
    }
    let missing = tries.iter().filter(|try_files| try_files.has_no_folder());
    let problem = |try_files: &TryFiles| Problem {
        pointer: try_files.place.clone(),
        detail: NO_FOLDER.to_owned(),
        advice: FOLDER.to_owned(),
        suggestion: None,
        stage: Stage::Validation,
    };
    missing.map(problem).collect()
}

/// The file for a folder, behind the one that the scripts have for it.
const INDEX: &str = "index.html";

/// The folder and the names of scripts, as what runs them has them.
struct ScriptFolder<'a> {
    root: ScriptRoot,
    /// The root of the file system that it is in, where that is another one.
    outside: Option<&'a Path>,
    index: &'a str,
    names: ScriptNames,
}

impl<'a> ScriptFolder<'a> {
    fn of_entry(entry: &'a EntryPoint) -> Option<Self> {
        let scripts = entry.scripts.as_ref()?;
        let names = scripts.split_path.clone().map_or(ScriptNames::All, ScriptNames::Ends);
        Some(Self { root: root_of(&scripts.root, Some(entry)), outside: None, index: &scripts.index, names })
    }

    fn of_application(spec: &'a AppSpec, entries: &'a [EntryPoint], target: usize) -> Option<Self> {
        let entry = entries.get(target);
        let folder = match &spec.runtime {
            RuntimeSpec::Php(php) => {
                let target = php.targets.get(target)?;
                let names = ScriptNames::Ends(vec![".php".to_owned()]);
                Self { root: root_of(&target.root, entry), outside: None, index: &target.index, names }
            }
            _ => Self::of_entry(entry?)?,
        };
        Some(folder.in_place_of(spec))
    }

    /// The folder as others than the application see it.
    fn in_place_of(mut self, spec: &'a AppSpec) -> Self {
        self.outside = spec.isolation.rootfs.as_deref();
        if let ScriptRoot::Fixed(root) = &mut self.root {
            if let Some(folder) = &spec.working_directory {
                *root = folder.join(&*root);
            }
            if let Some(outside) = self.outside {
                *root = outside.join(root.strip_prefix("/").unwrap_or(root));
            }
        }
        self
    }

    /// The paths that requests ask for there, if that can be said.
    fn paths(&self) -> Option<Template> {
        match &self.root {
            ScriptRoot::Fixed(root) => Template::literal(bytes(root)).with_uri(),
            ScriptRoot::Varies(template) if self.outside.is_none() => template.clone().with_uri(),
            ScriptRoot::Varies(_) => None,
        }
    }
}

/// The folder of scripts, which an entry point may have for each request.
fn root_of(root: &Path, entry: Option<&EntryPoint>) -> ScriptRoot {
    let varies = entry.and_then(|entry| entry.root.clone());
    varies.map_or_else(|| ScriptRoot::Fixed(root.to_owned()), ScriptRoot::Varies)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

impl TryFiles {
    /// Takes what the kind of its action says.
    fn take_from(&mut self, kind: &ActionKind) {
        match kind {
            ActionKind::Share(_) => self.files = None,
            ActionKind::Pass(Destination::Application { app, target }) => {
                self.application = Some((*app, *target));
            }
            ActionKind::Gateway(gateway) => {
                if let Some(folder) = ScriptFolder::of_entry(&gateway.entry) {
                    self.adopt(&folder);
                }
            }
            _ => {}
        }
    }

    /// Whether it is not known where paths are looked for.
    fn has_no_folder(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.paths.is_empty())
    }

    /// Takes what is not said from what runs the scripts. Links of another file system lead nowhere out of it.
    fn adopt(&mut self, folder: &ScriptFolder<'_>) {
        if self.index.is_empty() {
            let names = [folder.index, INDEX];
            self.index.extend(names.iter().filter(|name| !name.is_empty()).map(|name| (*name).to_owned()));
        }
        self.scripts = folder.names.clone();
        let Some(files) = self.files.as_mut().filter(|files| files.paths.is_empty()) else { return };
        files.paths.extend(folder.paths());
        if files.confinement.chroot.is_none() {
            files.confinement.chroot = folder.outside.map(|outside| Template::literal(bytes(outside)));
        }
    }
}
