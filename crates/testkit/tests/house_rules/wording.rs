//! Documents use the words of nginx and HTTP libraries, and sentences of few words.

use std::path::PathBuf;

use crate::sources::{files, repository, text};

const MAX_WORDS: usize = 35;

/// Placeholder for a code span: a word that may begin a sentence.
const SPAN: &str = "X";

/// Words that have a better one here, with that.
const WORDS: &[(&str, &str)] = &[
    ("field", "header"),
    ("fields", "headers"),
    ("time-out", "timeout"),
    ("time-outs", "timeouts"),
    ("nobody", "no client, process or user"),
    ("somebody", "a client, process or user"),
    ("anybody", "any client, process or user"),
    ("everybody", "every client, process or user"),
    ("whoever", "the client, process or user that"),
];

/// Phrases that have a better one here, with that.
const PHRASES: &[(&str, &str)] = &[
    ("request's body", "request body"),
    ("body of a request", "request body"),
    ("body of the request", "request body"),
    ("bodies of requests", "request bodies"),
];

/// The manual, and what stands beside it.
fn documents() -> Vec<PathBuf> {
    let mut documents = files(&repository().join("docs/src"), "md");
    documents.extend(
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "lab/README.md", "lab/tank/README.md"]
            .map(|name| repository().join(name)),
    );
    documents.extend(["node", "go", "java"].map(|sdk| repository().join("sdk").join(sdk).join("README.md")));
    documents
}

/// Paragraphs, items of lists and cells of tables, without blocks of code.
fn passages(page: &str) -> Vec<String> {
    let mut passages = vec![String::new()];
    let mut is_code = false;
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code || line.is_empty() || line.starts_with("<!--") {
            passages.push(String::new());
        } else if line.starts_with('|') {
            passages.extend(plain(line).split(" | ").map(str::to_owned));
        } else {
            if line.starts_with(['#', '-', '*']) || line.starts_with(|c: char| c.is_ascii_digit()) {
                passages.push(String::new());
            }
            let passage = passages.last_mut().expect("there is always one");
            *passage += line;
            passage.push(' ');
        }
    }
    passages.iter().map(|passage| plain(passage)).filter(|passage| !passage.is_empty()).collect()
}

/// The text with [`SPAN`] for each code span, and without the targets of links.
fn plain(text: &str) -> String {
    let without_code = text.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { SPAN });
    let mut text: String = without_code.collect();
    while let Some(start) = text.find("](") {
        let end = text[start..].find(')').map_or(text.len(), |end| start + end + 1);
        text.replace_range(start..end, "");
    }
    text.trim_matches(['|', ' ']).to_owned()
}

/// A full stop ends a sentence, unless a small letter follows.
fn sentences(passage: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in passage.split_whitespace() {
        let last = found.last_mut().expect("there is always one");
        let is_over = last.trim_end_matches(['*', ')']).ends_with(['.', '?', '!']);
        if is_over && !word.starts_with(char::is_lowercase) {
            found.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    found
}

/// Words in small letters, without punctuation and those that are only quoted.
fn words(passage: &str) -> Vec<String> {
    let is_quoted = |word: &&str| word.starts_with('"') || word.starts_with('*') && !word.starts_with("**");
    let words = passage.split_whitespace().filter(|word| !is_quoted(word));
    words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()).collect()
}

/// Whether a thing "is no" other thing; "there is no" and "is no longer" are English.
fn is_no(words: &[String]) -> bool {
    words.windows(3).enumerate().any(|(at, window)| {
        let is_there = at > 0 && words[at - 1] == "there";
        let is_verb = ["is", "are", "was", "were"].contains(&&*window[0]);
        is_verb && window[1] == "no" && !["longer", "more"].contains(&&*window[2]) && !is_there
    })
}

/// The better word for what a passage says, if there is one.
fn better(passage: &str) -> Option<String> {
    let words = words(passage);
    let spoken = words.join(" ");
    let is_cron = spoken.contains("five fields");
    let word = WORDS.iter().find(|(word, _)| words.iter().any(|found| found == word) && !is_cron);
    let phrase = PHRASES.iter().find(|(phrase, _)| spoken.contains(phrase));
    match word.or(phrase) {
        Some((worse, better)) => Some(format!("{better:?} in place of {worse:?}")),
        None => is_no(&words).then(|| "\"is not a\" in place of \"is no\"".to_owned()),
    }
}

#[test]
fn documents_have_the_words_of_their_readers() {
    let mut wrong = Vec::new();
    for page in documents() {
        for passage in passages(&text(&page)) {
            if let Some(better) = better(&passage) {
                wrong.push(format!("{}: {better}: {passage}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sentences_of_documents_have_few_words() {
    let mut wrong = Vec::new();
    let mut n_sentences = 0;
    for page in documents() {
        for sentence in passages(&text(&page)).iter().flat_map(|passage| sentences(passage)) {
            n_sentences += 1;
            let n_words = sentence.split_whitespace().count();
            if n_words > MAX_WORDS {
                wrong.push(format!("{}: {n_words} words: {sentence}", page.display()));
            }
        }
    }
    assert!(n_sentences > 5_000, "only {n_sentences} sentences were found");
    assert!(wrong.is_empty(), "at most {MAX_WORDS} words:\n{}", wrong.join("\n"));
}

/// The first sentence says what the subject is, so code and tables come after it.
#[test]
fn a_page_of_the_manual_begins_with_a_sentence() {
    for page in files(&repository().join("docs/src"), "md") {
        let text = text(&page);
        let first = text.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        let is_prose = !first.starts_with(['#', '|', '<', '-']) && !first.starts_with("```");
        assert!(is_prose || page.ends_with("SUMMARY.md"), "{} begins with {first:?}", page.display());
    }
}

#[test]
fn worse_words_and_long_sentences_are_seen() {
    let better = |page: &str| passages(page).iter().find_map(|passage| better(passage));
    for bad in [
        "A field is set.",
        "| x | all fields |",
        "It is no number.",
        "- the\nrequest's\nbody",
        "Nobody waits.",
    ] {
        assert!(better(bad).is_some(), "{bad}");
    }
    for good in [
        "There is no number.",
        "It is no longer so.",
        "`field`, *nobody* and \"somebody\"",
        "```\nfield\n```",
        "[a](field.md)",
    ] {
        assert_eq!(better(good), None, "{good}");
    }
    let found = sentences("One `x` is. Two are, e.g. these. **Three.** 4 is.");
    assert_eq!(found, ["One `x` is.", "Two are, e.g. these.", "**Three.**", "4 is."]);
}
