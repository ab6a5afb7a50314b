//! Templates that name paths: what a client puts into a variable leads nowhere but further down.
//!
//! `$uri` is decoded and normalised before any template sees it, and `$request_uri` is so where a path is meant; all
//! that clients write into other variables is not. So their values make no segment `.` or `..`, they are not a segment
//! by being empty, and they begin below what is written in front of them.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Exception, MapValue, Template, TemplateContent, TemplatePart, Variable, Variables};

/// Why a template gives no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// A script of it has failed.
    #[error(transparent)]
    Script(#[from] Exception),
    /// A value would lead to another folder, or no file name can hold it.
    #[error(
        "the path \"{0}\" has an empty segment, \".\", \"..\", a slash within a name, or NUL from the request"
    )]
    Stray(String),
}

/// The places of values in a rendered text that are not normalised.
type Foreign = SmallVec<[Range<usize>; 4]>;

impl Template {
    /// Appends the text as `render` does, for a path of a file.
    ///
    /// # Errors
    ///
    /// When a script throws, or when a client's value would lead elsewhere; what was appended by then stays.
    pub fn render_path(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), PathFault> {
        let start = out.len();
        let mut foreign = Foreign::new();
        let is_whole = match &self.content {
            TemplateContent::Parts(parts) => append_parts(parts, variables, start, out, &mut foreign)?,
            TemplateContent::Script(script) => {
                variables.evaluate(script, out)?;
                // A script does not tell which bytes it has made of what.
                foreign.push(start..out.len());
                true
            }
        };
        let is_script = matches!(self.content, TemplateContent::Script(_));
        let text = out.get(start..).unwrap_or_default();
        let is_stray = !is_whole
            || text.contains(&0)
            || (!is_script && foreign.iter().any(|range| is_empty_segment(out, start, range)))
            || has_foreign_dots(text, start, &foreign);
        if is_stray { Err(PathFault::Stray(text.escape_ascii().to_string())) } else { Ok(()) }
    }

    /// As `render_path`, for a folder in which each value is one name, or a part of one: none has a slash.
    ///
    /// # Errors
    ///
    /// As for `render_path`.
    pub fn render_folder(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), PathFault> {
        let start = out.len();
        self.render_path(variables, out)?;
        let slashes = |text: &[u8]| memchr::memchr_iter(b'/', text).count();
        let written = self.parts().into_iter().flatten().map(|part| match part {
            TemplatePart::Literal(text) => slashes(text),
            TemplatePart::Variable(_) => 0,
        });
        let text = out.get(start..).unwrap_or_default();
        let is_stray = slashes(text) != written.sum::<usize>();
        if is_stray { Err(PathFault::Stray(text.escape_ascii().to_string())) } else { Ok(()) }
    }

    /// Whether the client decides where a path begins.
    #[must_use]
    pub(crate) fn begins_with_client_value(&self) -> bool {
        let first = self.parts().and_then(<[TemplatePart]>::first);
        matches!(first, Some(TemplatePart::Variable(variable)) if !is_relative(variable))
    }
}

/// Appends the parts; false when a value has a slash where it is a part of a name, or when the map that the path begins
/// with has nothing: what follows would begin it.
fn append_parts(
    parts: &[TemplatePart],
    variables: &mut dyn Variables,
    start: usize,
    out: &mut Vec<u8>,
    foreign: &mut Foreign,
) -> Result<bool, Exception> {
    // The last byte of the configuration's own text, if nothing else follows that.
    let mut last_own = None;
    for (idx, part) in parts.iter().enumerate() {
        let at = out.len();
        let is_own = append_part(part, variables, out)?;
        let is_empty = out.len() == at;
        if is_empty && at == start && matches!(part, TemplatePart::Variable(Variable::Map(_))) {
            return Ok(false);
        }
        if is_own && !is_empty {
            last_own = out.last().copied();
            continue;
        }
        // Nothing within a name is not a segment.
        if is_own && last_own != Some(b'/') {
            continue;
        }
        let last = last_own.take();
        if matches!(part, TemplatePart::Variable(Variable::Uri | Variable::RequestUri)) {
            separate(start, at, out);
            continue;
        }
        // The rest of a path that has none, as in `^/old/(.*)$`.
        let is_group = matches!(part, TemplatePart::Variable(Variable::Group(_)));
        if is_group && is_empty && idx + 1 == parts.len() {
            continue;
        }
        let value_start = match last {
            Some(last) if ends_segment(&parts[idx + 1..]) && !is_joint(last) => {
                separate(start, at, out);
                at + 1
            }
            Some(last) if last != b'/' && out[at..].contains(&b'/') => return Ok(false),
            _ => at,
        };
        foreign.push(value_start..out.len());
    }
    Ok(true)
}

/// Appends a part; whether it is the configuration's own text.
fn append_part(
    part: &TemplatePart,
    variables: &mut dyn Variables,
    out: &mut Vec<u8>,
) -> Result<bool, Exception> {
    match part {
        TemplatePart::Literal(text) => out.extend_from_slice(text),
        TemplatePart::Variable(Variable::Map(map)) => {
            return Ok(variables.append_map(*map, out)? == MapValue::Literal);
        }
        TemplatePart::Variable(Variable::RequestUri) => variables.append(&Variable::ReceivedPath, out),
        TemplatePart::Variable(variable) => variables.append(variable, out),
    }
    Ok(matches!(part, TemplatePart::Literal(_)))
}

/// Has the value that begins at `at` begin with a segment of its own.
fn separate(start: usize, at: usize, out: &mut Vec<u8>) {
    if at > start && out[at - 1] != b'/' && out.get(at) != Some(&b'/') {
        out.insert(at, b'/');
    }
}

/// Whether a name that ends in this byte is meant to go on (`user-$arg_name`); it may also be a slash.
fn is_joint(last: u8) -> bool {
    last.is_ascii_punctuation()
}

/// Whether nothing of the same name follows, but for other values.
fn ends_segment(rest: &[TemplatePart]) -> bool {
    rest.iter()
        .find_map(|part| match part {
            TemplatePart::Literal(text) => Some(text.starts_with(b"/")),
            TemplatePart::Variable(Variable::Uri | Variable::RequestUri) => Some(true),
            TemplatePart::Variable(_) => None,
        })
        .unwrap_or(true)
}

/// Whether a value stands where a segment belongs and is nothing.
fn is_empty_segment(out: &[u8], start: usize, range: &Range<usize>) -> bool {
    let is_bounded = range.start == start || out[range.start - 1] == b'/';
    let is_ended = out.get(range.end).is_none_or(|&next| next == b'/');
    is_bounded && is_ended && out[range.clone()].iter().all(|&byte| byte == b'/')
}

/// Whether a client has written a byte of a dot segment.
fn has_foreign_dots(text: &[u8], start: usize, foreign: &Foreign) -> bool {
    if foreign.is_empty() {
        return false;
    }
    let mut end = start;
    text.split(|&byte| byte == b'/').any(|segment| {
        let at = end;
        end = at + segment.len() + 1;
        matches!(segment, b"." | b"..")
            && foreign.iter().any(|range| range.start < at + segment.len() && at < range.end)
    })
}

/// Whether no value of this variable leads up unless the configuration says so, and each begins with a slash or with
/// no slash at all.
fn is_relative(variable: &Variable) -> bool {
    match variable {
        Variable::Map(map) => map.is_constant,
        _ => matches!(variable, Variable::Uri | Variable::Host | Variable::RemoteAddr),
    }
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
        for value in ["a", "a/b", "/a", "a//b", "...", ".a", "a.", "a..", "..a", "%2e%2e", "a\\..\\b"] {
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
            check("/w$arg_a/x", value, None);
            check("`x`", format!("/w/{value}").leak(), None);
        }
        // Neighbours make a segment together.
        check("/w/$arg_a$cookie_b", ".", None);
        check("/w/.$header_c", ".", None);
        check("/w/.$arg_a", "/x", None);
    }

    #[test]
    fn what_is_nothing_is_no_segment() {
        for value in ["", "/", "//"] {
            for template in ["/w/$host", "/w/$host$uri", "/w/$arg_a/x", "/w$arg_a", "/w$arg_a$uri", "$arg_a"]
            {
                check(template, value, None);
            }
        }
        check("/w/$arg_a$arg_b$uri", "", None);
        check("/w/a-$arg_a.html", "", Some("/w/a-.html"));
        check("/w/$arg_a.html", "", Some("/w/.html"));
    }

    #[test]
    fn values_begin_below_what_is_written_in_front_of_them() {
        check("/w$arg_a", "-other/x", Some("/w/-other/x"));
        check("/w$arg_a", ".bak", Some("/w/.bak"));
        check("/w$arg_a$uri", "x", Some("/w/x/u"));
        check("/w$arg_a$arg_b/y", "x", Some("/w/xx/y"));
        check("/w$arg_a", "/x", Some("/w/x"));
        // As a part of a name.
        check("/w/a-$arg_a", "x", Some("/w/a-x"));
        check("/w/a$arg_a.html", "x", Some("/w/ax.html"));
        for value in ["x/y", "/x", "/"] {
            check("/w/a-$arg_a", value, None);
            check("/w/a$arg_a.html", value, None);
        }
        check("/w/$arg_a.html", "x/y", Some("/w/x/y.html"));
    }

    #[test]
    fn the_target_as_received_is_a_path() {
        let template = Template::parse(b"/w$request_uri").unwrap();
        assert!(template.render_path(&mut Client("*"), &mut Vec::new()).is_ok());
        check("/w$request_uri", "/a", Some("/w/a"));
        check("/w$request_uri", "*", Some("/w/*"));
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
