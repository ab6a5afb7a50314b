//! The modules of a crate, and which of them each names: paths that begin with `crate`, `super` or `self`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::sources::{sources, text};

/// Modules by their paths (`crate::proxy::exchange`), each with the others that it names.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules below a crate's `src`. Programs in `src/bin` are crates of their own.
pub(crate) fn imports(src: &Path) -> Graph {
    let all = sources(src).into_iter().filter(|path| !path.starts_with(src.join("bin")));
    let texts = all.map(|path| (module(path.strip_prefix(src).expect("it is below")), text(&path)));
    graph(&texts.collect())
}

/// `proxy/exchange.rs` is `crate::proxy::exchange`; the root of the crate is `crate`.
fn module(path: &Path) -> String {
    let is_root = ["lib.rs", "main.rs"].map(Path::new).contains(&path);
    let path = if is_root { PathBuf::new() } else { path.with_extension("") };
    let names = path.iter().map(|name| name.to_str().expect("modules have names"));
    ["crate"].into_iter().chain(names).collect::<Vec<_>>().join("::")
}

fn graph(texts: &BTreeMap<String, String>) -> Graph {
    let edges = |module: &String, text: &str| {
        let paths = paths(&tokens(code(text)));
        let named = paths.iter().map(|path| resolve(module, path, texts));
        named.filter(|named| named != module).collect()
    };
    texts.iter().map(|(module, text)| (module.clone(), edges(module, text))).collect()
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

/// All paths that begin at the crate's root or at the module itself.
fn paths<'a>(mut tokens: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    while let [first, rest @ ..] = tokens {
        let is_root = ["crate", "super", "self"].contains(first) && rest.first() == Some(&"::");
        tokens = if is_root { tree(tokens, &[], &mut found) } else { rest };
    }
    found
}

/// Collects the path that the tokens begin with, or each one of a tree (`a::{b, c as d}`), and returns what follows.
fn tree<'t, 'a>(tokens: &'t [&'a str], prefix: &[&'a str], found: &mut Vec<Vec<&'a str>>) -> &'t [&'a str] {
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
            found.push([prefix, &[*name]].concat());
            if let ["as", _, rest @ ..] = rest { rest } else { rest }
        }
        [] => tokens,
    }
}

/// The module that has what a path names: the longest beginning of it that is one.
fn resolve(module: &str, path: &[&str], modules: &BTreeMap<String, String>) -> String {
    let mut names: Vec<&str> = module.split("::").collect();
    for name in path {
        match *name {
            "crate" => names.truncate(1),
            "super" => names.truncate(names.len().saturating_sub(1).max(1)),
            "self" => {}
            name => names.push(name),
        }
    }
    while names.len() > 1 && !modules.contains_key(&names.join("::")) {
        names.pop();
    }
    names.join("::")
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
    check("crate::c", "pub(crate) use crate::a::b::{self, Type};", &["crate::a::b"]);
    check("crate::c", "use crate::Type;", &["crate"]);
    check("crate::c", "use corral_sys::a::Type;\nuse std::fmt;\nmod a;", &[]);
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
}
