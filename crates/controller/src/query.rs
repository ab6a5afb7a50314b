//! The query of a request: options beyond Unit, which ignores it.

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
        let text = target.split('#').next().unwrap_or_default();
        let Some((_, text)) = text.split_once('?') else { return Ok(query) };
        for pair in text.split('&') {
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

#[cfg(test)]
mod tests {
    use super::Query;

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
