//! Texts in; documents, places and faults out.

mod faults;
mod places;
mod substitutes;

use corral_config::Known;

use crate::{Fault, Format, Manifest, Source, Surroundings, read};

/// Variables and files by name.
struct Fixed;

impl Surroundings for Fixed {
    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let value = match name {
            "PORT" => "8080",
            "NAME" => "blog",
            "EMPTY" => "",
            "DOLLAR" => "${env:PORT}",
            "YES" => "true",
            _ => return None,
        };
        Some(value.into())
    }

    fn file(&self, path: &str, source: &str) -> Result<Vec<u8>, String> {
        match path {
            "/run/secret" => Ok(b"s3cret\r\n\n".to_vec()),
            "/run/lines" => Ok(b"a\nb\n".to_vec()),
            "where" => Ok(source.into()),
            _ => Err("it does not exist".to_owned()),
        }
    }
}

fn source(name: &str, text: &str) -> Source {
    let format = Format::of_name(name).unwrap_or_else(|| Format::guess(text.as_bytes()));
    Source { name: name.to_owned(), text: text.as_bytes().to_vec(), format }
}

fn read_all(texts: &[(&str, &str)]) -> Result<Manifest, Vec<Fault>> {
    let sources: Vec<_> = texts.iter().map(|(name, text)| source(name, text)).collect();
    read(&sources, &Fixed)
}

fn compact(manifest: &Manifest) -> String {
    String::from_utf8(manifest.document().compact()).unwrap()
}

/// The document that comes out, as compact JSON.
#[track_caller]
fn check(texts: &[(&str, &str)], expected: &str) {
    match read_all(texts) {
        Ok(manifest) => assert_eq!(compact(&manifest), expected),
        Err(faults) => panic!("{faults:#?}"),
    }
}

/// The faults of reading, or else of validating.
#[track_caller]
fn faults(texts: &[(&str, &str)]) -> Vec<String> {
    let found = match read_all(texts) {
        Ok(mut manifest) => manifest.validate(&Known::validated_elsewhere()).unwrap_err(),
        Err(faults) => faults,
    };
    found.iter().map(ToString::to_string).collect()
}

/// The start of each fault.
#[track_caller]
fn check_faults(texts: &[(&str, &str)], expected: &[&str]) {
    let found = faults(texts);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\nshould start with\n{expected}");
    }
}

#[test]
fn both_notations_say_the_same() {
    let document = r#"{"listeners":{"*:80":{"pass":"routes"}},"routes":[{"action":{"return":200}}]}"#;
    check(
        &[(
            "a.json",
            "// comment\n{ \"listeners\": { \"*:80\": { \"pass\": \"routes\", }, },\n \"routes\": [ { \"action\": { \
            \"return\": 200 } }, ] }",
        )],
        document,
    );
    check(
        &[(
            "a.yaml",
            "# comment\nlisteners:\n  \"*:80\":\n    pass: routes\nroutes:\n  - action:\n      return: 200\n",
        )],
        document,
    );
    check(&[("a.yml", document)], document);
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    let values =
        "[~, null, true, False, yes, on, 12, -3.50, 1e3, 1.2.3.4, 10.0.0.0/8, '12', \"true\", !!str 5]";
    let expected = r#"[null,null,true,false,"yes","on",12,-3.50,1e3,"1.2.3.4","10.0.0.0/8","12","true","5"]"#;
    check(&[("a.yaml", values)], expected);
    check(
        &[("a.yaml", "a:\nb: |\n  two\n  lines\nc: >-\n  one\n  line\n80: x\n")],
        r#"{"a":null,"b":"two\nlines\n","c":"one line","80":"x"}"#,
    );
    for number in ["012", "0x1F", "0o17", "+5", ".5", "5.", ".inf", ".nan", "123456789012345"] {
        check_faults(&[("a.yaml", &format!("a: {number}"))], &[&format!("a.yaml:1:4: {number} is a number")]);
    }
}

#[test]
fn aliases_are_copies() {
    check(&[("a.yaml", "a: &x {b: [1]}\nc: *x\n")], r#"{"a":{"b":[1]},"c":{"b":[1]}}"#);
    let bomb: String = (1..12).fold("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned(), |text, n| {
        let aliases = vec![format!("*a{}", n - 1); 10].join(",");
        format!("{text}a{n}: &a{n} [{aliases}]\n")
    });
    check_faults(&[("a.yaml", &bomb)], &["a.yaml:6:"]);
    check_faults(&[("a.yaml", "a: &a [*a]")], &["a.yaml:1:8: The alias stands inside of what it names."]);
}

#[test]
fn files_are_merged_member_by_member() {
    check(
        &[
            ("10-listeners.json", r#"{"listeners": {"*:80": {"pass": "routes/a"}}}"#),
            ("20-routes.yaml", "routes:\n  a: []\n"),
            ("30-more.yaml", "listeners:\n  '*:81':\n    pass: routes/b\nroutes:\n  b: []\n"),
            ("40-empty.yaml", "# nothing yet\n"),
        ],
        r#"{"listeners":{"*:80":{"pass":"routes/a"},"*:81":{"pass":"routes/b"}},"routes":{"a":[],"b":[]}}"#,
    );
    check(&[], "{}");
}

#[test]
fn formats_are_told_apart() {
    assert_eq!(Format::of_name("a/b.json"), Some(Format::Json));
    assert_eq!(Format::of_name("b.jsonc"), Some(Format::Json));
    assert_eq!(Format::of_name("b.yml"), Some(Format::Yaml));
    assert_eq!(Format::of_name("b.yaml~"), None);
    assert_eq!(Format::of_name("json"), None);
    assert_eq!(Format::guess(b" {}"), Format::Json);
    assert_eq!(Format::guess(b"\xef\xbb\xbf// c\n{}"), Format::Json);
    assert_eq!(Format::guess(b"a: 1"), Format::Yaml);
    assert_eq!(Format::guess(b"# a"), Format::Yaml);
}
