//! Texts that are not documents, and documents that contradict each other.

use super::check_faults;

#[test]
fn faults_of_notation_have_a_place() {
    check_faults(&[("a.json", "{\n  \"a\": 1\n  \"b\": 2\n}")], &["a.json:3:3: A comma"]);
    check_faults(&[("a.json", "")], &["a.json:1:1: An empty JSON payload"]);
    check_faults(&[("a.json", "{\"é\": 1, \"é\": 2}")], &["a.json:1:10: The object has two members"]);
    check_faults(&[("a.yaml", "a: [1\nb: 2")], &["a.yaml:"]);
    check_faults(&[("a.yaml", "a: 1\n\tb: 2")], &["a.yaml:1:4: While scanning a plain scalar, found a tab."]);
    check_faults(
        &[("a.yaml", "a: 1\nb: 2\na: 3")],
        &["a.yaml:3:1: The object has two members with the name \"a\"; the first is in line 1."],
    );
    check_faults(&[("a.yaml", "a: 1\n---\nb: 2")], &["a.yaml:2:1: A second document starts here"]);
    check_faults(&[("a.yaml", "a: !include b")], &["a.yaml:1:4: The tag !include has no meaning here."]);
    check_faults(&[("a.yaml", "a: &x {}\nb:\n  <<: *x")], &["a.yaml:3:3: Merge keys"]);
    check_faults(&[("a.yaml", "[a]: 1")], &["a.yaml:1:1: The name of a member must be plain text."]);
    check_faults(&[("a.yaml", "a: *none")], &["a.yaml:1:4: "]);
    let deep = "[".repeat(101) + &"]".repeat(101);
    check_faults(&[("a.yaml", &deep)], &["a.yaml:1:101: Arrays and objects must not be nested"]);
    check_faults(&[("a.json", &deep)], &["a.json:1:101: Arrays and objects must not be nested"]);
}

#[test]
fn text_that_means_something_to_yaml_is_to_be_quoted() {
    let quoted = |text: &str, place: &str, word: &str| {
        let faults = super::faults(&[("a.yaml", text)]);
        let first = word.chars().next().unwrap();
        let advice = format!("Text that begins with {first} is written in quotes: \"{word}\".");
        assert!(faults[0].starts_with(place) && faults[0].ends_with(&advice), "{faults:?}");
    };
    quoted("listeners:\n  *:80:\n    pass: routes", "a.yaml:2:3: ", "*:80");
    quoted("listeners:\n  [::1]:80:\n    pass: routes", "a.yaml:2:3: ", "[::1]:80");
    quoted("host: [*.example.org, b]", "a.yaml:1:8: ", "*.example.org");
    quoted("host: [a, *.example.org]", "a.yaml:1:11: ", "*.example.org");
    quoted("uri: !/admin/*", "a.yaml:1:6: ", "!/admin/*");
    quoted("pass: `x`", "a.yaml:1:7: ", "`x`");
    quoted("pass: @x", "a.yaml:1:7: ", "@x");
    quoted("uri: %41", "a.yaml:1:6: ", "%41");
}

#[test]
fn every_file_is_looked_at() {
    check_faults(
        &[("a.json", "{,}"), ("b.json", "{}"), ("c.yaml", "a: ${env:NOPE}"), ("d.json", "[")],
        &["a.json:1:2: ", "c.yaml:1:4: ", "d.json:1:1: "],
    );
}

#[test]
fn contradictions_name_both_places() {
    check_faults(
        &[
            ("a.json", "{\"routes\": [],\n \"settings\": {\"http\": {\"idle_timeout\": 1}}}"),
            ("b.yaml", "routes: []\nsettings:\n  http:\n    idle_timeout: 1\n"),
        ],
        &[
            "b.yaml:1:9: \"/routes\" is set here and at a.json:1:12.",
            "b.yaml:4:19: \"/settings/http/idle_timeout\" is set here and at a.json:2:40.",
        ],
    );
    check_faults(
        &[("a.json", "{\"routes\": {}}"), ("b.json", "{\"routes\": []}")],
        &["b.json:1:12: \"/routes\" is set here and at a.json:1:12."],
    );
    check_faults(
        &[("a.json", "{}"), ("b.json", "[]")],
        &["b.json:1:1: Only objects can be merged; the first file is a.json."],
    );
}
