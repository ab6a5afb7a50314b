//! Files of networks, one on each line, with a value of its own or without.

use std::path::PathBuf;

use super::geo::Network;
use crate::template::Template;

/// A file that networks of a map are read from.
#[derive(Debug, Clone)]
pub struct NetworkFile {
    /// Where it is.
    pub path: PathBuf,
    /// JSON pointer of the entry that names it.
    pub pointer: String,
    /// The value of networks for which the file has none.
    pub(crate) value: Template,
}

/// One network of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkLine {
    pub(super) network: Network,
    /// The text behind it.
    pub(super) value: Option<Box<[u8]>>,
}

/// A line that is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: \"{text}\" is not a network")]
pub struct WrongLine {
    /// From 1.
    pub number: usize,
    /// The first word.
    pub text: String,
}

impl NetworkLine {
    /// Reads the content of a file: `NETWORK [VALUE]` on each line, as nginx has it with a semicolon at the end.
    /// Empty lines count as nothing, and so does all behind `#`.
    ///
    /// # Errors
    ///
    /// With the first line that does not begin with a network.
    pub fn parse_all(content: &[u8]) -> Result<Vec<Self>, WrongLine> {
        let lines = content.split(|byte| *byte == b'\n').enumerate();
        lines.filter_map(|(idx, line)| Self::parse(line, idx + 1).transpose()).collect()
    }

    fn parse(line: &[u8], number: usize) -> Result<Option<Self>, WrongLine> {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        let line = line.strip_suffix(b";").unwrap_or(line).trim_ascii_end();
        if line.is_empty() {
            return Ok(None);
        }
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (text, value) = (&line[..end], line[end..].trim_ascii());
        let wrong = || WrongLine { number, text: shown(text) };
        let network = Network::parse(text).map_err(|_| wrong())?;
        Ok(Some(Self { network, value: (!value.is_empty()).then(|| value.into()) }))
    }
}

/// The beginning of a word, for a message.
fn shown(word: &[u8]) -> String {
    word[..word.len().min(64)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: Result<&[(&str, Option<&str>)], &str>) {
        let line = |(network, value): &(&str, Option<&str>)| NetworkLine {
            network: Network::parse(network.as_bytes()).unwrap(),
            value: value.map(|value| value.as_bytes().into()),
        };
        let lines = NetworkLine::parse_all(content.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(lines, expect.map(|lines| lines.iter().map(line).collect()).map_err(str::to_owned));
    }

    #[test]
    fn lines_have_a_network_and_a_value_or_none() {
        check("", Ok(&[]));
        check("# networks\n\n  \r\n", Ok(&[]));
        check("10.0.0.0/8\r\n::1 # own", Ok(&[("10.0.0.0/8", None), ("::1", None)]));
        check(
            "10.0.0.0/8 DE;\n192.0.2.1-192.0.2.9\tthe office ;",
            Ok(&[("10.0.0.0/8", Some("DE")), ("192.0.2.1-192.0.2.9", Some("the office"))]),
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        check("::1\n\ndefault DE;", Err("line 3: \"default\" is not a network"));
        check("10.0.0.1:80", Err("line 1: \"10.0.0.1:80\" is not a network"));
        check("\u{1b}[0m", Err("line 1: \"\\x1b[0m\" is not a network"));
    }
}
