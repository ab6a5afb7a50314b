//! The modules of a crate, and which of them each names: by paths that begin with `crate`, `super`, `self` or a child.
//! A name that a module imports and hands on leads to the module that has it. An export (`pub use`) does not count,
//! unless the module uses the name itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::sources::{sources, text};

/// Modules by their paths (`crate::proxy::exchange`), each with the others that it names.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules below a crate's `src`, without tests. Programs in `src/bin` are crates of their own.
pub(crate) fn imports(src: &Path) -> Graph {
    let all = sources(src);
    let all = all.iter().map(|path| (path, path.strip_prefix(src).expect("it is below")));
    let all = all.filter(|(_, below)| !below.starts_with("bin") && !is_test(below));
    graph(&all.map(|(path, below)| (module(below), text(path))).collect())
}

fn is_test(path: &Path) -> bool {
    path.with_extension("").iter().any(|name| name == "tests")
}

/// `proxy/exchange.rs` is `crate::proxy::exchange`; the root of the crate is `crate`.
fn module(path: &Path) -> String {
    let is_root = ["lib.rs", "main.rs"].map(Path::new).contains(&path);
    let path = if is_root { PathBuf::new() } else { path.with_extension("") };
    let names = path.iter().map(|name| name.to_str().expect("modules have names"));
    ["crate"].into_iter().chain(names).collect::<Vec<_>>().join("::")
}

pub(super) fn graph(texts: &BTreeMap<String, String>) -> Graph {
    let modules: Modules<'_> = texts.iter().map(|(name, text)| (name.as_str(), Module::read(text))).collect();
    let edges = |name: &str, module: &Module<'_>| {
        let named = module.paths.iter().filter_map(|path| origin(name, path, &modules, MOST_IMPORTS));
        named.filter(|named| named != name).collect()
    };
    modules.iter().map(|(name, module)| ((*name).to_owned(), edges(name, module))).collect()
}

type Modules<'a> = BTreeMap<&'a str, Module<'a>>;

/// The names of a path, such as `crate`, `proxy`, `Exchange`.
type Names<'a> = Vec<&'a str>;

#[derive(Default)]
struct Module<'a> {
    paths: Vec<Names<'a>>,
    /// Names that `use` brings, each with its path. Modules below this one, or all, may take them from here.
    imported: BTreeMap<&'a str, Names<'a>>,
}

impl<'a> Module<'a> {
    fn read(text: &'a str) -> Self {
        let tokens = tokens(code(text));
        let uses = |name: &str| tokens.iter().filter(|token| **token == name).count();
        let (mut rest, mut found) = (tokens.as_slice(), Self::default());
        let mut is_export = false;
        while let [first, more @ ..] = rest {
            rest = match more {
                // A visibility: `pub(in path)`.
                ["in", more @ ..] if *first == "(" => after(more, ")"),
                _ if *first == "use" => {
                    found.import(more, |name| !is_export || name == "*" || uses(name) > 1)
                }
                ["::", ..] if first.starts_with(is_of_a_name) => found.path(rest),
                // The rest of a path that a type begins: `<T as Trait>::name`.
                [_, more @ ..] if *first == "::" => more,
                _ => more,
            };
            // Also the `)` of `pub(crate)`.
            is_export = ["pub", ")"].contains(first);
        }
        found
    }

    /// Collects what an import brings, with the paths of names that are needed here, and returns what follows.
    fn import<'t>(&mut self, tokens: &'t [&'a str], is_needed: impl Fn(&str) -> bool) -> &'t [&'a str] {
        let mut branches = Vec::new();
        let rest = tree(tokens, &[], &mut branches);
        let needed = branches.iter().filter(|(_, name)| is_needed(name));
        self.paths.extend(needed.map(|(path, _)| path.clone()));
        self.imported.extend(branches.into_iter().map(|(path, name)| (name, path)));
        rest
    }

    /// Collects a path in code, and returns what follows.
    fn path<'t>(&mut self, tokens: &'t [&'a str]) -> &'t [&'a str] {
        let mut branches = Vec::new();
        let rest = tree(tokens, &[], &mut branches);
        self.paths.extend(branches.into_iter().map(|(path, _)| path));
        rest
    }
}

fn after<'t, 'a>(tokens: &'t [&'a str], last: &str) -> &'t [&'a str] {
    let end = tokens.iter().position(|token| *token == last);
    tokens.get(end.map_or(tokens.len(), |end| end + 1)..).unwrap_or_default()
}

/// A source without its unit tests, which are last in it.
fn code(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Words, `::`, and other characters one by one; no comments.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for mut rest in code.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|character| !is_of_a_name(character)).unwrap_or(rest.len());
            let length = if rest.starts_with("::") { 2 } else { word.max(first.len_utf8()) };
            let (token, more) = rest.split_at(length);
            found.push(token);
            rest = more.trim_start();
        }
    }
    found
}

fn is_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Collects the path that the tokens begin with, or each one of a tree (`a::{b, c as d}`), with its name here.
/// Returns what follows.
fn tree<'t, 'a>(
    tokens: &'t [&'a str],
    prefix: &[&'a str],
    found: &mut Vec<(Names<'a>, &'a str)>,
) -> &'t [&'a str] {
    match tokens {
        ["{", branches @ ..] => {
            let mut rest = branches;
            while !matches!(rest, [] | ["}", ..]) {
                rest = tree(rest, prefix, found);
                rest = rest.strip_prefix(&[","]).unwrap_or(rest);
            }
            rest.get(1..).unwrap_or_default()
        }
        [name, "::", rest @ ..] => tree(rest, &[prefix, &[*name]].concat(), found),
        [name, rest @ ..] => {
            let (alias, rest) =
                if let ["as", alias, rest @ ..] = rest { (alias, rest) } else { (name, rest) };
            found.push(([prefix, &[*name]].concat(), *alias));
            rest
        }
        [] => tokens,
    }
}

/// How many modules may hand a name on, one to the other.
const MOST_IMPORTS: usize = 8;

/// The module that has what a path names: the longest beginning of it that is a module, or the one from which that
/// module has the next name. Paths of other crates have none.
fn origin(from: &str, path: &[&str], modules: &Modules<'_>, imports: usize) -> Option<String> {
    let mut module = from.to_owned();
    for (index, name) in path.iter().enumerate() {
        let child = format!("{module}::{name}");
        match *name {
            "crate" => module = (*name).to_owned(),
            "self" => {}
            "super" => module.truncate(module.rfind("::").unwrap_or(module.len())),
            _ if modules.contains_key(child.as_str()) => module = child,
            _ if index == 0 => return None,
            _ => return handed_on(&module, name, modules, imports).or(Some(module)),
        }
    }
    Some(module)
}

/// The module from which another one has a name.
fn handed_on(module: &str, name: &str, modules: &Modules<'_>, imports: usize) -> Option<String> {
    let path = modules.get(module)?.imported.get(name)?;
    origin(module, path, modules, imports.checked_sub(1)?)
}

/// Modules that exist: `crate`, `crate::a`, `crate::a::b`, `crate::c`.
#[track_caller]
fn check(module: &str, text: &str, expected: &[&str]) {
    let mut texts: BTreeMap<String, String> =
        ["crate", "crate::a", "crate::a::b", "crate::c"].map(|name| (name.to_owned(), String::new())).into();
    texts.insert(module.to_owned(), text.to_owned());
    let graph = graph(&texts);
    let found: Vec<&str> = graph[module].iter().map(String::as_str).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn an_import_leads_to_the_module_that_has_what_it_names() {
    check("crate::c", "use crate::a::Type;", &["crate::a"]);
    check("crate::c", "use crate::a::b::{self, Type};", &["crate::a::b"]);
    check("crate::c", "use crate::Type;", &["crate"]);
    check("crate::c", "use corral_sys::a::Type;\nuse std::fmt;\nmod a;", &[]);
}

#[test]
fn an_export_counts_where_its_name_is_used() {
    check("crate::a", "pub(crate) use self::b::X;", &[]);
    check("crate::a", "pub use self::b::{X, Y};\nfn f(x: X) {}", &["crate::a::b"]);
    check("crate::a", "pub use self::b::*;", &["crate::a::b"]);
}

#[test]
fn every_branch_of_a_tree_counts() {
    check("crate", "use crate::{a::{b::X as Y, Z}, c::*,};", &["crate::a", "crate::a::b", "crate::c"]);
    check("crate::c", "use crate::{\n    a::{self, X}, // as it is\n};\nfn f() {}", &["crate::a"]);
}

#[test]
fn paths_may_begin_at_the_module() {
    check("crate::a::b", "use super::X;", &["crate::a"]);
    check("crate::a::b", "use super::super::c::X;", &["crate::c"]);
    check("crate::a", "use self::b::X;", &["crate::a::b"]);
    check("crate::a", "use self::X;\nself.b();", &[]);
    check("crate::a", "pub(in crate::c) fn f() {}", &[]);
}

#[test]
fn paths_may_begin_at_a_child() {
    check("crate::a", "mod b;\nfn f() -> b::X { b::f() }", &["crate::a::b"]);
    check("crate::a", "use b::X;\nmod b;", &["crate::a::b"]);
    check("crate::a", "mod b;", &[]);
    check("crate::c", "use std::a;\nfn f() { <X as Y>::a::b(); b::X }", &[]);
}

#[test]
fn a_name_leads_to_the_module_that_has_it() {
    let texts = [
        ("crate", "pub use a::b::X as Z;\nuse std::fmt;"),
        ("crate::a", "pub(crate) use self::b::{X, Y};\nmod b;"),
        ("crate::a::b", "use crate::c::f;"),
        ("crate::c", "use crate::Z;\nuse crate::a::Y;"),
        ("crate::d", "use super::fmt;\nuse crate::a::*;"),
    ];
    let graph = graph(&texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    assert_eq!(Vec::from_iter(&graph["crate::c"]), ["crate::a::b"]);
    assert_eq!(Vec::from_iter(&graph["crate::a::b"]), ["crate::c"]);
    assert_eq!(Vec::from_iter(&graph["crate::d"]), ["crate", "crate::a"]);
    assert!(graph["crate"].is_empty() && graph["crate::a"].is_empty());
}

#[test]
fn paths_in_code_count_too() {
    check(
        "crate::c",
        "fn f(x: &crate::a::b::X) -> Vec<u8> { super::a::g::<u8>(x) }",
        &["crate::a", "crate::a::b"],
    );
}

#[test]
fn comments_and_unit_tests_do_not_count() {
    check("crate::c", "//! See [`crate::a`].\nfn f() {} // not crate::a::b", &[]);
    check("crate::c", "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::a::X;\n}", &[]);
}

#[test]
fn files_are_modules() {
    assert_eq!(module(Path::new("lib.rs")), "crate");
    assert_eq!(module(Path::new("a/b.rs")), "crate::a::b");
    assert!(is_test(Path::new("a/tests.rs")) && is_test(Path::new("a/tests/b.rs")));
    assert!(!is_test(Path::new("a/testing.rs")));
}
