//! Comments name their subject. No documentation begins with a pronoun; processes, functions and servers are things.

use std::path::Path;

use crate::sources::{files, repository, sources_of_crates, text};

const MOST_COLUMNS: usize = 120;

/// First words that hide the subject.
const POINTERS: &[&str] =
    &["What", "It", "Its", "Those", "Who", "Whose", "That", "Of", "Such", "None", "There"];

/// Words for people who are not named.
const UNNAMED: &[&str] = &["whoever", "whomever", "nobody", "somebody", "everybody"];

/// Nouns for people, which `who` may follow.
const PEOPLE: &[&str] = &[
    "people",
    "person",
    "persons",
    "anyone",
    "user",
    "users",
    "operator",
    "operators",
    "author",
    "authors",
    "visitor",
    "visitors",
    "attacker",
    "attackers",
    "developer",
    "developers",
    "maintainer",
    "maintainers",
    "customer",
    "customers",
    "administrator",
    "administrators",
];

/// Lines of a comment without an empty one between them.
#[derive(Debug, PartialEq, Eq)]
struct Paragraph {
    /// The number of its first line.
    line: usize,
    is_documentation: bool,
    text: String,
}

impl Paragraph {
    /// The word that breaks a rule, if any.
    fn fault(&self) -> Option<String> {
        let first = self.text.trim_start_matches("- ").split(' ').next().unwrap_or_default();
        let first = first.trim_end_matches([',', ':', '.']);
        if self.is_documentation && POINTERS.contains(&first) {
            return Some(format!("begins with {first:?}"));
        }
        let text = without_code(&self.text).to_lowercase();
        let words: Vec<&str> = words(&text).collect();
        if (0..words.len()).any(|at| is_denied_oddly(&words, at)) {
            return Some("has \"is no\", which is \"is not a\"".to_owned());
        }
        let unnamed = words.iter().find(|word| UNNAMED.contains(word));
        let unnamed =
            unnamed.or_else(|| (0..words.len()).find(|at| is_who(&words, *at)).map(|at| &words[at]));
        unnamed.map(|word| format!("has {word:?}"))
    }
}

/// A thing cannot be `who`.
fn is_who(words: &[&str], at: usize) -> bool {
    let before =
        words[..at].iter().rev().find(|word| !["of", "to", "for", "by", "from", "with"].contains(word));
    ["who", "whom"].contains(&words[at]) && !before.is_some_and(|noun| PEOPLE.contains(noun))
}

/// `is no file`. Words such as `is no longer` and `there is no file` are as they should be.
fn is_denied_oddly(words: &[&str], at: usize) -> bool {
    const COMPARED: &[&str] = &["longer", "more", "less", "other", "different", "better", "worse", "faster"];
    let (before, from) = words.split_at(at);
    let is_said = matches!(from, ["is" | "are" | "was" | "were", "no", noun, ..] if !COMPARED.contains(noun));
    is_said && before.last() != Some(&"there")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '\'')
        .filter(|word| !word.is_empty())
}

fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The paragraphs of all comments that have lines of their own.
fn paragraphs(source: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut before = None;
    for (line, code) in (1..).zip(source.lines()) {
        let comment = comment(code.trim());
        match (comment, before) {
            (Some((mark, words)), Some(last)) if mark == last && !words.starts_with("- ") => {
                let paragraph = found.last_mut().expect("one has begun");
                paragraph.text = format!("{} {words}", paragraph.text);
            }
            (Some((mark, words)), _) => {
                found.push(Paragraph { line, is_documentation: mark.len() > 2, text: words.to_owned() });
            }
            (None, _) => {}
        }
        before = comment.map(|(mark, _)| mark);
    }
    found
}

/// The mark of a comment and its words; nothing for a line without words, and for a heading.
fn comment(line: &str) -> Option<(&str, &str)> {
    let mark = ["//!", "///", "//"].into_iter().find(|mark| line.starts_with(mark))?;
    let (mark, words) = line.split_at(mark.len());
    Some((mark, words.trim())).filter(|(_, words)| !words.is_empty() && !words.starts_with("# "))
}

fn report(problems: &[String]) {
    assert!(
        problems.is_empty(),
        "{}\nName the subject: \"the worker's number\", not \"its number\"; \"a client that\", not \"whoever\".",
        problems.join("\n")
    );
}

fn faults(path: &Path, paragraphs: Vec<Paragraph>) -> impl Iterator<Item = String> {
    paragraphs.into_iter().filter_map(move |paragraph| {
        let fault = paragraph.fault()?;
        Some(format!("{}:{}: {fault}: {}", path.display(), paragraph.line, paragraph.text))
    })
}

#[test]
fn comments_of_rust_name_their_subject() {
    let sources = sources_of_crates();
    let problems: Vec<_> = sources.iter().flat_map(|path| faults(path, paragraphs(&text(path)))).collect();
    report(&problems);
}

#[test]
fn comments_of_rust_end_at_column_120() {
    let is_long = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > MOST_COLUMNS;
    let mut problems = Vec::new();
    for path in &sources_of_crates() {
        let text = text(path);
        let long = (1..).zip(text.lines()).filter(|(_, line)| is_long(line));
        problems.extend(long.map(|(number, _)| format!("{}:{number}", path.display())));
    }
    assert!(problems.is_empty(), "longer than {MOST_COLUMNS} columns:\n{}", problems.join("\n"));
}

/// Sources in other languages, whose comments begin with one of these marks.
const OTHERS: &[(&str, &[&str])] = &[
    ("c", &["/*", "*", "//"]),
    ("h", &["/*", "*", "//"]),
    ("go", &["//"]),
    ("java", &["/*", "*", "//"]),
    ("js", &["/*", "*", "//"]),
    ("mjs", &["/*", "*", "//"]),
    ("ts", &["/*", "*", "//"]),
    ("tsx", &["/*", "*", "//"]),
    ("py", &["#", "\"\"\""]),
    ("rb", &["#"]),
    ("pl", &["#"]),
];

const FOLDERS: &[&str] = &[
    "crates/embed/include",
    "crates/perl/shim",
    "crates/php/shim",
    "crates/python/shim",
    "crates/ruby/shim",
    "crates/script/src",
    "sdk/go",
    "sdk/java/launcher/src",
    "sdk/node",
    "lab",
    "ui/src",
    "ui/tests",
    "ui/unit",
];

#[test]
fn comments_of_other_languages_name_their_subject() {
    let mut problems = Vec::new();
    for (extension, marks) in OTHERS {
        for path in FOLDERS.iter().flat_map(|folder| files(&repository().join(folder), extension)) {
            // Programs of others, which builds and benchmarks bring.
            if path.iter().any(|part| part == "node_modules" || part == "target" || part == "tools") {
                continue;
            }
            problems.extend(faults(&path, lines(&text(&path), marks)));
        }
    }
    report(&problems);
}

/// Lines that are comments, one by one: in these languages, a comment is rarely longer.
fn lines(source: &str, marks: &[&str]) -> Vec<Paragraph> {
    let lines = (1..).zip(source.lines().map(str::trim));
    let comments = lines.filter_map(|(line, code)| {
        let words = marks.iter().find_map(|mark| code.strip_prefix(mark))?.trim_start_matches(['*', ' ']);
        let is_documentation = !code.starts_with("* ") && !code.starts_with('*');
        Some(Paragraph { line, is_documentation, text: words.to_owned() })
    });
    comments.collect()
}

/// A comment, and the fault in it.
#[track_caller]
fn check(comment: &str, fault: Option<&str>) {
    let paragraphs = paragraphs(comment);
    let found: Vec<_> = paragraphs.iter().filter_map(Paragraph::fault).collect();
    assert_eq!(found, Vec::from_iter(fault.map(str::to_owned)), "{comment}");
}

#[test]
fn a_hidden_subject_is_found() {
    check("/// What a worker sends.", Some("begins with \"What\""));
    check("    //! Its number.", Some("begins with \"Its\""));
    check("// It is plain.", None);
    check("/// The number.\n///\n/// Those of send(2).", Some("begins with \"Those\""));
    check("/// # Errors\n/// Those of send(2).", Some("begins with \"Those\""));
    check("/// The number\n/// Of it, in a line that goes on.", None);
    check("/// - Of a worker.", Some("begins with \"Of\""));
}

#[test]
fn a_denial_is_plain() {
    check("// a text that is no number", Some("has \"is no\", which is \"is not a\""));
    check("// a text that is not a number; there is no number, and it is no longer read", None);
}

#[test]
fn things_are_not_people() {
    check("// closed by whoever has it", Some("has \"whoever\""));
    check("// the worker who runs it", Some("has \"who\""));
    check("// nobody reads it; as user `nobody`", Some("has \"nobody\""));
    check("// people who read it, a user whom it serves, the operator to whom it belongs", None);
    check("// the user `nobody`", None);
    check("// the worker that runs it", None);
}
