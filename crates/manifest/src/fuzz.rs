//! Entry points for fuzzing: any bytes may go in, and nothing may panic or contradict itself.

use corral_config::json;
use corral_config::{Known, validate};

use crate::caddyfile::Directive;
use crate::{Fault, Format, Source, Surroundings, read, read_plain};

/// Texts with zero bytes between them, by turns JSON and YAML, that are merged. JSON must mean what the control API
/// takes it for, faults must be at a place that exists, and what comes out must be a document for the control API.
pub fn fuzz_files(input: &[u8]) {
    let formats = [Format::Json, Format::Yaml].into_iter().cycle();
    let texts = input.split(|&byte| byte == 0).zip(formats).enumerate();
    let sources: Vec<_> = texts
        .map(|(idx, (text, format))| Source { name: idx.to_string(), text: text.to_vec(), format })
        .collect();
    for source in sources.iter().filter(|source| source.format == Format::Json) {
        match (read_plain(source), json::parse(&source.text)) {
            (Ok(manifest), Ok(value)) => assert_eq!(manifest.document(), &value, "read as JSON"),
            (Err(fault), Err(error)) => assert_eq!(fault.message, error.detail, "refused as JSON"),
            (read, parsed) => panic!("{read:?} is not {parsed:?}"),
        }
    }
    match read(&sources, &Echo) {
        Err(faults) => check_places(&faults, &sources),
        Ok(mut manifest) => {
            let document = manifest.document().clone();
            assert_eq!(json::parse(&document.compact()).as_ref(), Ok(&document), "a document for the API");
            let known = Known::validated_elsewhere();
            match manifest.validate(&known) {
                Ok(_) => assert!(validate(manifest.document(), &known).is_ok(), "valid once more"),
                Err(faults) => check_places(&faults, &sources),
            }
        }
    }
}

/// A Caddyfile whose placeholders stand for their names in braces and lines: it is understood, or refused with a line
/// that it has.
pub fn fuzz_caddyfile(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let n_lines = text.split('\n').count();
    let variable = |name: &str| name.len().is_multiple_of(2).then(|| format!("{name} {{\n{name}\n}}"));
    match crate::caddyfile::read(&text, &variable) {
        Ok(file) => {
            assert!(file.unset.iter().all(|(line, _)| (1..=n_lines).contains(line)), "outside of the text");
            check_lines(&file.directives, n_lines);
        }
        Err(error) => assert!((1..=n_lines).contains(&error.line), "{error} is outside of the text"),
    }
}

fn check_lines(directives: &[Directive], n_lines: usize) {
    for directive in directives {
        assert!((1..=n_lines).contains(&directive.line), "{directive:?} is outside of the text");
        check_lines(directive.block.as_deref().unwrap_or_default(), n_lines);
    }
}

fn check_places(faults: &[Fault], sources: &[Source]) {
    assert!(!faults.is_empty(), "a refusal without a reason");
    for Fault { place, .. } in faults {
        let source = place.file.parse::<usize>().ok().and_then(|idx| sources.get(idx));
        // YAML takes a carriage return alone for the end of a line too.
        let ends_line = |byte: &&u8| matches!(**byte, b'\n' | b'\r');
        let n_lines = source.map_or(1, |source| source.text.iter().filter(ends_line).count() + 1);
        assert!((1..=n_lines).contains(&place.line) && place.column > 0, "{place} is outside");
    }
}

/// Variables and files hold their names; those without a name do not exist.
struct Echo;

impl Surroundings for Echo {
    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        (!name.is_empty()).then(|| name.into())
    }

    fn file(&self, path: &str, _source: &str) -> Result<Vec<u8>, String> {
        if path.is_empty() { Err("it has no name".to_owned()) } else { Ok(path.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::fuzz_files;

    #[test]
    fn inputs_of_every_kind_pass() {
        for input in [
            "",
            "\0",
            "{}\0a: 1",
            "\u{feff}{ /* x */ \"routes\": [], }\0settings: {http: {log_route: '${env:true}'}}",
            "{\"a\": {\"b\": 1}}\0a: {b: 2}",
            "[\0- ]",
            "{\"a\": \"${file:}\"}\0a: [1e400, 0x10, .5, 1_000, null, ~, on, \"\\0\"]",
            "{\"a\": 01}\0\"unclosed",
            "\0a: &x [*x]\nb: *x",
            "\0? [a]\n: 1",
        ] {
            fuzz_files(input.as_bytes());
        }
    }
}
