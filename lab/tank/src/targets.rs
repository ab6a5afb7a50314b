//! URLs with weights: `http://127.0.0.1:8080/`, or `3 http://127.0.0.1:8080/` for three times as many requests.

use anyhow::{Context, Result, bail};
use http::Uri;

/// A URL, and how many requests go to it beside the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) weight: u64,
    pub(crate) url: Uri,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let (weight, url) = match (words.next(), words.next(), words.next()) {
            (Some(url), None, None) => (1, url),
            (Some(weight), Some(url), None) => (parse_weight(weight)?, url),
            _ => bail!("expected a URL or a weight and a URL, found {text:?}"),
        };
        let url: Uri = url.parse().with_context(|| format!("the URL {url:?}"))?;
        Ok(Self { weight, url })
    }

    /// The targets of a file: one a line, `#` begins a comment.
    pub(crate) fn parse_lines(text: &str) -> Result<Vec<Self>> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines.map(|(number, line)| Self::parse(line).with_context(|| format!("line {number}"))).collect()
    }

    /// Path and query.
    pub(crate) fn path(&self) -> &str {
        self.url
            .path_and_query()
            .map_or("/", |path| if path.as_str().is_empty() { "/" } else { path.as_str() })
    }
}

fn parse_weight(text: &str) -> Result<u64> {
    let weight = text.parse().ok().filter(|weight| *weight > 0);
    weight.with_context(|| format!("expected a weight from 1, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_optional() {
        let found = Target::parse_lines("# two\nhttp://h/a?b\n\n 3 https://h\n").expect("they are right");
        let found: Vec<_> = found.iter().map(|target| (target.weight, target.path())).collect();
        assert_eq!(found, [(1, "/a?b"), (3, "/")]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("http://h/\n0 http://h/", "line 2: expected a weight from 1, found \"0\""),
            ("1 2 http://h/", "line 1: expected a URL or a weight and a URL, found \"1 2 http://h/\""),
        ] {
            let error = Target::parse_lines(text).expect_err(text);
            assert_eq!(format!("{error:#}"), expected);
        }
    }
}
