//! The query of a request: options beyond Unit, which ignores it.

use corral_config::percent;

/// The options of a request, besides its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Check the change, make nothing of it.
    pub(crate) dry_run: bool,
    /// A certificate bundle or script may take the place of another.
    pub(crate) replace: bool,
    /// A certificate bundle may be without a private key, as those of authorities are.
    pub(crate) ca: bool,
}

impl Query {
    /// Reads the query of a target. Names that are not ours are ignored; a value that is neither
    /// true nor false is an error, as it may stand for a wish not to change anything.
    pub(crate) fn parse(target: &str) -> Result<Self, String> {
        let mut query = Self::default();
        for pair in pairs(target) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            let flag = match name {
                "dry_run" => &mut query.dry_run,
                "replace" => &mut query.replace,
                "ca" => &mut query.ca,
                _ => continue,
            };
            *flag = match value {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(format!("The \"{name}\" query parameter must be \"true\" or \"false\".")),
            };
        }
        Ok(query)
    }
}

/// The text of an option, if it is given: percent-encoded UTF-8 without control characters.
///
/// # Errors
/// Words for the client, where it is something else, is too long, or is given twice.
pub(crate) fn text(target: &str, name: &str) -> Result<Option<String>, String> {
    let mut values =
        pairs(target).filter_map(|pair| Some(pair.split_once('=')?.1).filter(|_| is_named(pair, name)));
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("The \"{name}\" query parameter is given twice."));
    }
    let decoded =
        percent::decode(value.as_bytes()).and_then(|value| String::from_utf8(value.into_owned()).ok());
    let decoded = decoded.filter(|value| !value.chars().any(char::is_control));
    match decoded {
        None => Err(format!("The \"{name}\" query parameter must be percent-encoded text of one line.")),
        Some(value) if value.len() > LONGEST_TEXT => {
            Err(format!("The \"{name}\" query parameter may have {LONGEST_TEXT} bytes."))
        }
        Some(value) => Ok(Some(value)),
    }
}

/// Bytes of a text, when it is decoded.
const LONGEST_TEXT: usize = 200;

fn is_named(pair: &str, name: &str) -> bool {
    pair.split_once('=').is_some_and(|(found, _)| found == name)
}

fn pairs(target: &str) -> impl Iterator<Item = &str> {
    let text = target.split('#').next().unwrap_or_default();
    text.split_once('?').map_or("", |(_, query)| query).split('&').filter(|pair| !pair.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_TEXT, Query, text};

    #[test]
    fn texts_are_decoded_and_bounded() {
        let comment = |target: &str| text(target, "comment");
        assert_eq!(comment("/config"), Ok(None));
        assert_eq!(comment("/config?comment"), Ok(None));
        assert_eq!(comment("/config?comment=a%20b+c%26d&dry_run=1"), Ok(Some("a b+c&d".to_owned())));
        assert_eq!(comment("/config?x=comment=1&comment="), Ok(Some(String::new())));
        assert_eq!(comment("/config#?comment=x"), Ok(None));
        for wrong in ["%", "%zz", "%ff", "a%0ab", "%00", "%c2%85"] {
            let error = comment(&format!("/config?comment={wrong}")).unwrap_err();
            assert!(error.contains("\"comment\"") && error.contains("percent-encoded"), "{error}");
        }
        assert!(comment("/config?comment=a&comment=b").unwrap_err().contains("twice"));
        assert!(comment(&format!("/?comment={}", "%41".repeat(LONGEST_TEXT))).is_ok());
        assert!(comment(&format!("/?comment={}", "x".repeat(LONGEST_TEXT + 1))).unwrap_err().contains("200"));
    }

    #[track_caller]
    fn check(target: &str, dry_run: bool, replace: bool) {
        assert_eq!(Query::parse(target), Ok(Query { dry_run, replace, ca: false }));
    }

    #[test]
    fn flags_are_read_and_others_ignored() {
        check("/config", false, false);
        check("/config?", false, false);
        check("/config?dry_run=true", true, false);
        check("/config?dry_run", true, false);
        check("/config?x=1&dry_run=1&replace=true#dry_run=false", true, true);
        check("/config?dry_run=false&replace=0&&y", false, false);
        check("/config#?dry_run=true", false, false);
        assert_eq!(Query::parse("/?ca=true"), Ok(Query { ca: true, ..Query::default() }));
        assert!(Query::parse("/config?dry_run=yes").unwrap_err().contains("\"dry_run\""));
        assert!(Query::parse("/config?replace=").is_err());
    }
}
