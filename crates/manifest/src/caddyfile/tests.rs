//! The reading of texts, and the messages about those that cannot be read.

use proptest::prelude::*;

use super::*;

fn variable(name: &str) -> Option<String> {
    match name {
        "ROOT" => Some("/srv/a b".to_owned()),
        "TWO" => Some("two words".to_owned()),
        "LINES" => Some("one {\n\ttwo\n}".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

/// As it was understood: `LINE:WORDS[|…]{…}`.
fn shown(directives: &[Directive]) -> String {
    let one = |directive: &Directive| {
        let block =
            directive.block.as_ref().map_or_else(String::new, |block| format!("{{{}}}", shown(block)));
        format!("{}:{}{block}", directive.line, directive.words.join("|"))
    };
    directives.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match read(text, &variable) {
        Ok(file) => shown(&file.directives),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn lines_are_directives_and_braces_make_blocks() {
    check("", "");
    check("a b\n\n  c d e", "1:a|b 3:c|d|e");
    check("{\n admin off\n}\n:80 {\n respond hi\n}\n", "1:{2:admin|off} 4::80{5:respond|hi}");
    check("a { # why\n # what\n b#c d\n}", "1:a{3:b#c|d}");
    check("a \\\n b\nc", "1:a|b 3:c");
    check("a {err.status_code} {path}", "1:a|{err.status_code}|{path}");
    check("a {\r\n b\r\n}\r\n", "1:a{2:b}");
}

#[test]
fn quotes_keep_blanks_lines_and_braces() {
    check("a \"b c\" `d \"e\"`", "1:a|b c|d \"e\"");
    check(r#"a "say \"hi\" \n" "{""#, r#"1:a|say "hi" \n|{"#);
    check("a \"two\nlines\"\nb", "1:a|two\nlines 3:b");
    check("a \"\"", "1:a|");
}

#[test]
fn placeholders_are_replaced_before_words_are_cut() {
    check("root \"{$ROOT}\"", "1:root|/srv/a b");
    check("root {$TWO}", "1:root|two|words");
    check("{$NONE} b", "1:b");
    check("{$EMPTY:default} b", "1:b");
    check("{$NONE:the default}/{$NONE:x}", "1:the|default/x");
    check("a {$} {$:b}", "1:a|{$}|{$:b}");
}

#[test]
fn lines_are_counted_in_the_file() {
    check("a\n{$LINES}\nb", "1:a 2:one{2:two} 3:b");
    check("{$LINES}\n}", "2: there is nothing that } could close");
    let file = read("a\nb {$NONE}\n{$LINES} {$OTHER}", &variable).unwrap();
    assert_eq!(file.unset, [(2, "NONE".to_owned()), (3, "OTHER".to_owned())]);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check("a\n}", "2: there is nothing that } could close");
    check("a\nb {\n c\n", "2: the block that begins here is not closed with }");
    check("a { b\n}", "1: nothing may stand behind {, which opens a block");
    check("a {\n b }\n}", "2: } belongs in a line of its own");
    check("a {\n b\n} c", "3: nothing may stand behind }");
    check("a\n\"b", "2: the quote \" is not closed");
    check("a <<END", "1: texts that begin with << are not known here");
    let deep = "a {\n".repeat(40);
    check(&deep, "33: more than 32 blocks are in each other");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_line_of_it(text in "[a{}$\"`\\\\# \n:<A-C]{0,60}") {
        crate::fuzz::fuzz_caddyfile(text.as_bytes());
    }
}
