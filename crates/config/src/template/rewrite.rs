//! `rewrite`: a template for the path, and for the query behind it.
//!
//! The configuration's own text is read as a target: `?` begins the query, `#` ends all of it, `%XX` is decoded in
//! the path. What variables and scripts add is taken literally: it was decoded before, and is never read again.

use super::{Exception, PathFault, Template, TemplateContent, TemplatePart, Variable, Variables};
use crate::percent;

/// A rewrite of a target; a part that it does not name stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// `None` leaves the path as it is. Literals are decoded.
    path: Option<Template>,
    /// `None` leaves the query as it is.
    query: Option<Template>,
    keeps_query: bool,
    is_malformed: bool,
}

/// Why there is no new path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteFault {
    /// The configuration's own text has a `%` without two hexadecimal digits.
    #[error("invalid percent escape in the text")]
    BadEscape,
    /// A value leads elsewhere, or a script has failed.
    #[error(transparent)]
    Path(#[from] PathFault),
}

impl Rewrite {
    /// The rewrite that `template` means as the text of `rewrite`.
    ///
    /// The client's query goes behind a new one, unless the text ends in another `?`.
    #[must_use]
    pub fn new(template: Template) -> Self {
        let TemplateContent::Parts(parts) = template.content else {
            return Self { path: Some(template), ..Self::default() };
        };
        let (path, query) = split_query(cut_fragment(parts));
        let (query, keeps_query) = match query {
            Some(query) => drop_end_mark(query),
            None => (None, true),
        };
        let decoded = decode(&path);
        let is_malformed = decoded.is_none();
        let is_there = !path.is_empty() || query.is_none();
        let path = is_there.then(|| Template { content: TemplateContent::Parts(decoded.unwrap_or(path)) });
        let keeps_query = keeps_query && !query.iter().flatten().any(is_query);
        let query = query.map(|parts| Template { content: TemplateContent::Parts(parts) });
        Self { path, query, keeps_query, is_malformed }
    }

    /// Puts a new query, which may be a script, in the place of one in the text; the client's goes behind it if it is
    /// kept.
    #[must_use]
    pub fn with_query(self, query: Template, keeps_query: bool) -> Self {
        Self { query: Some(query), keeps_query, ..self }
    }

    /// Appends the new path, which is not resolved; false when it stays what it is.
    ///
    /// # Errors
    ///
    /// When the text cannot be read, a script throws, or a client's value would lead elsewhere.
    pub fn render_path(
        &self,
        variables: &mut dyn Variables,
        out: &mut Vec<u8>,
    ) -> Result<bool, RewriteFault> {
        if self.is_malformed {
            return Err(RewriteFault::BadEscape);
        }
        let Some(path) = &self.path else { return Ok(false) };
        path.render_path(variables, out)?;
        Ok(true)
    }

    /// Appends the new query; false when it stays what it is.
    ///
    /// # Errors
    ///
    /// When a script throws.
    pub fn render_query(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<bool, Exception> {
        let Some(query) = &self.query else { return Ok(false) };
        query.render(variables, out)?;
        Ok(true)
    }

    /// Whether the text of the path cannot be read.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// Whether a path that this has given is meant to be a folder: the text ends in a slash, whatever the values of
    /// variables end in. Of a script, the path says so.
    #[must_use]
    pub fn means_folder(&self, path: &[u8]) -> bool {
        match self.path.as_ref().map(|path| &path.content) {
            Some(TemplateContent::Parts(parts)) => {
                matches!(parts.last(), Some(TemplatePart::Literal(text)) if text.ends_with(b"/"))
            }
            Some(TemplateContent::Script(_)) => path.ends_with(b"/"),
            None => false,
        }
    }

    /// Whether the query that there is goes behind the new one.
    #[must_use]
    pub fn keeps_query(&self) -> bool {
        self.keeps_query
    }

    /// Whether the query that there is is the client's own, as the path is made of the target as received.
    #[must_use]
    pub fn restores_query(&self) -> bool {
        let mut variables = self.path.iter().flat_map(Template::variables);
        variables.any(|variable| *variable == Variable::RequestUri)
    }
}

impl Default for Rewrite {
    fn default() -> Self {
        Self { path: None, query: None, keeps_query: true, is_malformed: false }
    }
}

/// The parts in front of the first literal `#`.
fn cut_fragment(parts: Vec<TemplatePart>) -> Vec<TemplatePart> {
    split_at(parts, b'#').0
}

/// The parts of the path, and those of the query if there is one: behind a `?`, or the variable that stands for one.
fn split_query(mut parts: Vec<TemplatePart>) -> (Vec<TemplatePart>, Option<Vec<TemplatePart>>) {
    let is_mark = |part: &TemplatePart| match part {
        TemplatePart::Literal(text) => text.contains(&b'?'),
        TemplatePart::Variable(variable) => *variable == Variable::IsArgs,
    };
    match parts.iter().position(is_mark) {
        Some(idx) if matches!(parts.get(idx), Some(TemplatePart::Variable(_))) => {
            let query = parts.split_off(idx + 1);
            parts.pop();
            (parts, Some(query))
        }
        _ => split_at(parts, b'?'),
    }
}

/// Whether a part is the query that there is, which is not to go behind itself.
fn is_query(part: &TemplatePart) -> bool {
    matches!(part, TemplatePart::Variable(Variable::Args | Variable::ReceivedArgs))
}

/// The parts in front of the first literal `mark`, and those behind it, if it is there.
fn split_at(mut parts: Vec<TemplatePart>, mark: u8) -> (Vec<TemplatePart>, Option<Vec<TemplatePart>>) {
    let found = parts.iter().enumerate().find_map(|(idx, part)| match part {
        TemplatePart::Literal(text) => Some((idx, memchr::memchr(mark, text)?)),
        TemplatePart::Variable(_) => None,
    });
    let Some((idx, at)) = found else { return (parts, None) };
    let mut behind = parts.split_off(idx);
    if let TemplatePart::Literal(text) = &mut behind[0] {
        let rest = text.split_off(at + 1);
        text.pop();
        let front = std::mem::replace(text, rest);
        parts.push(TemplatePart::Literal(front));
    }
    (without_empty(parts), Some(without_empty(behind)))
}

/// Literals are not empty.
fn without_empty(mut parts: Vec<TemplatePart>) -> Vec<TemplatePart> {
    parts.retain(|part| !matches!(part, TemplatePart::Literal(text) if text.is_empty()));
    parts
}

/// The query without a `?` at its end, and whether it is without one: the client's query goes behind it then. Right
/// behind the first `?` nothing else is needed to say that.
fn drop_end_mark(mut query: Vec<TemplatePart>) -> (Option<Vec<TemplatePart>>, bool) {
    if query.is_empty() {
        return (Some(query), false);
    }
    let Some(TemplatePart::Literal(text)) = query.last_mut() else { return (Some(query), true) };
    let is_ended = text.last() == Some(&b'?');
    if is_ended {
        text.pop();
    }
    (Some(without_empty(query)), !is_ended)
}

/// The parts with their literals decoded; none if one cannot be.
fn decode(parts: &[TemplatePart]) -> Option<Vec<TemplatePart>> {
    let decoded = parts.iter().map(|part| match part {
        TemplatePart::Literal(text) => Some(TemplatePart::Literal(percent::decode(text)?.into_owned())),
        TemplatePart::Variable(variable) => Some(TemplatePart::Variable(variable.clone())),
    });
    decoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `$uri` is a path that was decoded, every other variable has the same value.
    struct Client;

    impl Variables for Client {
        fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
            let value: &[u8] = match variable {
                Variable::Uri => b"/a%2e?b#c",
                Variable::ReceivedPath => b"/received",
                _ => b"v?%41#",
            };
            out.extend_from_slice(value);
        }
    }

    /// `expect` has the path, the query, and whether the client's is kept.
    #[track_caller]
    fn check(text: &str, path: Option<&str>, query: Option<&str>, keeps_query: bool) {
        let rewrite = Rewrite::new(Template::parse(text.as_bytes()).unwrap());
        let mut out = Vec::new();
        let is_there = rewrite.render_path(&mut Client, &mut out).unwrap();
        let seen = String::from_utf8(std::mem::take(&mut out)).unwrap();
        assert_eq!(is_there.then_some(&*seen), path, "the path of {text}");
        let is_there = rewrite.render_query(&mut Client, &mut out).unwrap();
        let seen = String::from_utf8(out).unwrap();
        assert_eq!(is_there.then_some(&*seen), query, "the query of {text}");
        assert_eq!(rewrite.keeps_query(), keeps_query, "{text}");
    }

    #[test]
    fn what_the_configuration_says_is_read_as_a_target() {
        check("/a", Some("/a"), None, true);
        check("/a%20b%3Fc", Some("/a b?c"), None, true);
        check("", Some(""), None, true);
        check("/a#b?c", Some("/a"), None, true);
        check("/a?b=c", Some("/a"), Some("b=c"), true);
        check("/a?b=%20", Some("/a"), Some("b=%20"), true);
        check("/a?b=c?", Some("/a"), Some("b=c"), false);
        check("/a?b?c", Some("/a"), Some("b?c"), true);
        check("/a?", Some("/a"), Some(""), false);
        check("/a??", Some("/a"), Some(""), false);
        check("/a?b=c#d?", Some("/a"), Some("b=c"), true);
        check("?b=c", None, Some("b=c"), true);
        check("?", None, Some(""), false);
    }

    #[test]
    fn the_query_that_there_is_does_not_go_behind_itself() {
        check("/a$is_args$args", Some("/a"), Some("v?%41#"), false);
        check("/a?b=$uri&$args", Some("/a"), Some("b=/a%2e?b#c&v?%41#"), false);
        check("/a$is_args", Some("/a"), Some(""), false);
        check("/$arg_a$is_args$args?", Some("/v?%41#"), Some("v?%41#"), false);
    }

    #[test]
    fn what_variables_say_is_not() {
        check("/x$uri", Some("/x/a%2e?b#c"), None, true);
        check("$uri?a=$arg_b", Some("/a%2e?b#c"), Some("a=v?%41#"), true);
        check("$arg_b", Some("v?%41#"), None, true);
        check("/x/$arg_b?$arg_c", Some("/x/v?%41#"), Some("v?%41#"), true);
        check("/x/$arg_b?$arg_c?", Some("/x/v?%41#"), Some("v?%41#"), false);
        check("/x$request_uri", Some("/x/received"), None, true);
    }

    #[test]
    fn a_bad_escape_is_one_of_the_text() {
        for text in ["/%zz", "/%4", "/%$arg_a", "/a%"] {
            let rewrite = Rewrite::new(Template::parse(text.as_bytes()).unwrap());
            let fault = rewrite.render_path(&mut Client, &mut Vec::new()).unwrap_err();
            assert_eq!(fault, RewriteFault::BadEscape, "{text}");
        }
    }

    #[test]
    fn the_text_says_whether_a_folder_is_meant() {
        let means = |text: &str, path: &[u8]| {
            Rewrite::new(Template::parse(text.as_bytes()).unwrap()).means_folder(path)
        };
        for text in ["$uri/", "/", "/a/", "$uri/?b", "$uri%2F"] {
            assert!(means(text, b"/a/"), "{text}");
        }
        for text in ["$uri", "/a", "?/", "", "/a?/"] {
            assert!(!means(text, b"/a/"), "{text}");
        }
        assert!(means("`x`", b"/a/") && !means("`x`", b"/a"));
    }

    #[test]
    fn the_received_target_brings_its_query() {
        let restores = |text: &str| Rewrite::new(Template::parse(text.as_bytes()).unwrap()).restores_query();
        assert!(restores("/x$request_uri"));
        assert!(!restores("/x?$request_uri"));
        assert!(!restores("/x$uri"));
    }
}
