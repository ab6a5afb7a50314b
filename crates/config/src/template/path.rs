//! Templates that name files: what a client puts into a variable leads nowhere but further down.
//!
//! `$uri` is normalised before any template sees it; all that clients write into other variables is not. So no
//! segment `.` or `..` of a rendered path may hold a byte of them.

use super::{Content, Exception, Part, Template, Variable, Variables};

/// Why a template gives no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// A script of it has failed.
    #[error(transparent)]
    Script(#[from] Exception),
    /// A client's value would lead to another folder, or no file name can hold it.
    #[error("the path \"{0}\" has \".\", \"..\" or NUL from the request")]
    Stray(String),
}

impl Template {
    /// Appends the text as `render` does, for a path of a file.
    ///
    /// # Errors
    ///
    /// When a script throws, or when a client's value would lead elsewhere; what was appended by then stays.
    pub fn render_path(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), PathFault> {
        let start = out.len();
        self.render(variables, out)?;
        let text = out.get(start..).unwrap_or_default();
        let is_stray = text.contains(&0) || (has_dot_segment(text) && self.has_stray(variables, text));
        if is_stray { Err(PathFault::Stray(text.escape_ascii().to_string())) } else { Ok(()) }
    }

    /// Whether the client decides where a path begins.
    #[must_use]
    pub(crate) fn begins_with_client_value(&self) -> bool {
        let first = self.parts().and_then(<[Part]>::first);
        matches!(first, Some(Part::Variable(variable)) if !is_normalised(variable))
    }

    /// Whether a client has written a byte of a dot segment. Rare paths have any, so that the values are worked out
    /// again to see whose they are.
    fn has_stray(&self, variables: &mut dyn Variables, text: &[u8]) -> bool {
        // Nobody knows which bytes a script has made of what.
        let Content::Parts(parts) = &self.content else { return true };
        let mut whole = Vec::with_capacity(text.len());
        let mut foreign = Vec::new();
        for part in parts {
            let start = whole.len();
            match part {
                Part::Literal(literal) => whole.extend_from_slice(literal),
                Part::Variable(variable) => {
                    variables.append(variable, &mut whole);
                    if !is_normalised(variable) {
                        foreign.push(start..whole.len());
                    }
                }
            }
        }
        let mut end = 0;
        whole.split(|&byte| byte == b'/').any(|segment| {
            let start = end;
            end = start + segment.len() + 1;
            let is_foreign =
                foreign.iter().any(|range| range.start < start + segment.len() && start < range.end);
            is_dots(segment) && is_foreign
        })
    }
}

fn has_dot_segment(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'/').any(is_dots)
}

fn is_dots(segment: &[u8]) -> bool {
    matches!(segment, b"." | b"..")
}

/// Whether no value of this variable has a dot segment, and each begins with a slash or with no slash at all.
fn is_normalised(variable: &Variable) -> bool {
    matches!(variable, Variable::Uri | Variable::Host | Variable::RemoteAddr)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `$uri` is `/u`, and every other variable has this value.
    struct Client(&'static str);

    impl Variables for Client {
        fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
            let value = if *variable == Variable::Uri { "/u" } else { self.0 };
            out.extend_from_slice(value.as_bytes());
        }

        fn evaluate(&mut self, _: &crate::template::Script, out: &mut Vec<u8>) -> Result<(), Exception> {
            out.extend_from_slice(self.0.as_bytes());
            Ok(())
        }
    }

    #[track_caller]
    fn check(template: &str, value: &'static str, expect: Option<&str>) {
        let template = Template::parse(template.as_bytes()).unwrap();
        let mut path = Vec::new();
        let rendered = template.render_path(&mut Client(value), &mut path);
        let rendered = rendered.ok().map(|()| String::from_utf8(path).unwrap());
        assert_eq!(rendered.as_deref(), expect, "{template:?} {value:?}");
    }

    #[test]
    fn what_leads_down_is_a_path() {
        for value in ["a", "a/b", "/a", "a//b", "...", ".a", "a.", "a..", "..a", "%2e%2e", "a\\..\\b", ""] {
            check("/w/$arg_a", value, Some(&format!("/w/{value}")));
        }
        check("`x`", "/w/.well-known/a", Some("/w/.well-known/a"));
    }

    #[test]
    fn what_leads_elsewhere_is_none() {
        for value in ["..", ".", "../x", "a/../b", "/..", "a/..", "./a", "a/./b", "a/../../etc", "a\0b", "\0"]
        {
            check("/w/$arg_a", value, None);
            check("/w$arg_a/x", format!("/{value}").leak(), None);
            check("`x`", format!("/w/{value}").leak(), None);
        }
        // Neighbours make a segment together.
        check("/w/$arg_a$cookie_b", ".", None);
        check("/w/.$header_c", ".", None);
        check("/w/${request_uri}.", ".", None);
        check("/w/.$arg_a", "/x", Some("/w/./x"));
    }

    #[test]
    fn what_the_configuration_says_is_a_path() {
        check("../w/./$arg_a", "b", Some("../w/./b"));
        check("../w/./$arg_a", "../b", None);
        check(".$uri", "", Some("./u"));
        check("..$uri$arg_a", "/b", Some("../u/b"));
        check("..$uri$arg_a", "/..", None);
        check("..", "", Some(".."));
    }

    #[test]
    fn a_client_may_not_say_where_a_path_begins() {
        for (template, expect) in [
            ("$arg_a", true),
            ("$cookie_a/x", true),
            ("$header_a$uri", true),
            ("$request_uri", true),
            ("$uri", false),
            ("$host/x", false),
            ("/$arg_a", false),
            ("", false),
            ("`${args.a}`", false),
        ] {
            assert_eq!(Template::parse(template.as_bytes()).unwrap().begins_with_client_value(), expect);
        }
    }
}
