//! One entry as text or as JSON. Whatever a client sends, it stays within its place in the line.

use std::io::Write as _;

use corral_config::access_log::Format;
use corral_config::template::{Exception, MapName, MapValue, Script, Template, Variable, Variables};

/// Appends the entry with its line end.
pub(super) fn append(
    format: &Format,
    variables: &mut dyn Variables,
    out: &mut Vec<u8>,
) -> Result<(), Exception> {
    match format {
        Format::Text(template) => {
            template.render(&mut Escaped { variables, style: EscapeStyle::Text }, out)?;
        }
        Format::Json(members) => append_object(members, variables, out)?,
    }
    out.push(b'\n');
    Ok(())
}

/// Numbers are strings, as in Unit.
fn append_object(
    members: &[(String, Template)],
    variables: &mut dyn Variables,
    out: &mut Vec<u8>,
) -> Result<(), Exception> {
    out.push(b'{');
    for (idx, (name, template)) in members.iter().enumerate() {
        out.extend_from_slice(if idx == 0 { b"\"" } else { b",\"" });
        escape_json(name.as_bytes(), out);
        out.extend_from_slice(b"\":\"");
        match template.is_constant() {
            Some(text) => escape_json(text, out),
            None => append_value(template, variables, out)?,
        }
        out.push(b'"');
    }
    out.push(b'}');
    Ok(())
}

fn append_value(
    template: &Template,
    variables: &mut dyn Variables,
    out: &mut Vec<u8>,
) -> Result<(), Exception> {
    // The whole value is escaped, its literal parts too.
    let start = out.len();
    template.render(&mut Escaped { variables, style: EscapeStyle::Unset }, out)?;
    escape_since(start, out, needs_json_escape, escape_json);
    Ok(())
}

/// Escaping of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapeStyle {
    /// They are escaped for a line of text.
    Text,
    /// They are only replaced when they are not set.
    Unset,
}

/// Values as they may stand in a log line: what is not set is `-`, and nothing breaks out of its quotes.
struct Escaped<'v> {
    variables: &'v mut dyn Variables,
    style: EscapeStyle,
}

impl Variables for Escaped<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let start = out.len();
        self.variables.append(variable, out);
        if out.len() == start {
            if !self.variables.is_set(variable) {
                out.push(b'-');
            }
        } else if self.style == EscapeStyle::Text {
            escape_since(start, out, needs_text_escape, escape_text);
        }
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        let start = out.len();
        let value = self.variables.append_map(map, out)?;
        match value {
            MapValue::Unset => out.push(b'-'),
            MapValue::Rendered if self.style == EscapeStyle::Text => {
                escape_since(start, out, needs_text_escape, escape_text);
            }
            MapValue::Rendered | MapValue::Literal => {}
        }
        Ok(value)
    }

    /// A script makes the whole line and quotes by itself, but the line is one.
    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        let start = out.len();
        self.variables.evaluate(script, out)?;
        if self.style == EscapeStyle::Text {
            escape_since(start, out, |byte| byte.is_ascii_control(), escape_controls);
        }
        Ok(())
    }
}

/// Escapes what was appended since `start`, if there is need for it.
fn escape_since(start: usize, out: &mut Vec<u8>, needs: fn(u8) -> bool, escape: fn(&[u8], &mut Vec<u8>)) {
    if out[start..].iter().any(|&byte| needs(byte)) {
        let value = out.split_off(start);
        escape(&value, out);
    }
}

fn needs_text_escape(byte: u8) -> bool {
    byte.is_ascii_control() || byte == b'"' || byte == b'\\'
}

/// As nginx does: `\xHH` for what could end the line or the quotes.
fn escape_text(value: &[u8], out: &mut Vec<u8>) {
    escape_hex(value, needs_text_escape, out);
}

fn escape_controls(value: &[u8], out: &mut Vec<u8>) {
    escape_hex(value, |byte| byte.is_ascii_control(), out);
}

fn escape_hex(value: &[u8], needs: fn(u8) -> bool, out: &mut Vec<u8>) {
    for &byte in value {
        if needs(byte) {
            write!(out, "\\x{byte:02X}").expect("writing to memory cannot fail");
        } else {
            out.push(byte);
        }
    }
}

/// Anything beyond ASCII may turn out not to be UTF-8.
fn needs_json_escape(byte: u8) -> bool {
    needs_text_escape(byte) || !byte.is_ascii()
}

/// The inside of a JSON string; bytes that are not UTF-8 become the characters of the same number.
fn escape_json(value: &[u8], out: &mut Vec<u8>) {
    for chunk in value.utf8_chunks() {
        chunk.valid().bytes().for_each(|byte| match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            byte if byte.is_ascii_control() => escape_unicode(byte, out),
            byte => out.push(byte),
        });
        chunk.invalid().iter().for_each(|&byte| escape_unicode(byte, out));
    }
}

fn escape_unicode(byte: u8, out: &mut Vec<u8>) {
    write!(out, "\\u{byte:04X}").expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variable and every script gives this.
    struct Fixed(&'static [u8]);

    impl Variables for Fixed {
        fn append(&mut self, _: &Variable, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0);
        }

        fn evaluate(&mut self, _: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
            out.extend_from_slice(self.0);
            Ok(())
        }
    }

    fn template(text: &str) -> Template {
        Template::parse(text.as_bytes()).unwrap()
    }

    #[track_caller]
    fn check_text(format: &str, value: &'static [u8], expect: &[u8]) {
        let mut out = Vec::new();
        append(&Format::Text(template(format)), &mut Fixed(value), &mut out).unwrap();
        assert_eq!(out.strip_suffix(b"\n"), Some(expect));
    }

    #[test]
    fn values_stay_within_their_quotes() {
        check_text("$uri", b"curl/8", b"curl/8");
        check_text("\"$uri\"", b"", b"\"-\"");
        check_text("\"$uri\"", b"a\" 200 \"", b"\"a\\x22 200 \\x22\"");
        check_text("$uri", b"a\nb\\\x7f", b"a\\x0Ab\\x5C\\x7F");
        check_text("$uri", "é".as_bytes(), "é".as_bytes());
        check_text("`x`", b"{\"a\": \"b\\\"\"}\n{}", b"{\"a\": \"b\\\"\"}\\x0A{}");
        check_text("", b"", b"");
    }

    #[track_caller]
    fn check_json(members: &[(&str, &str)], value: &'static [u8], expect: &str) {
        let members = members.iter().map(|(name, text)| ((*name).to_owned(), template(text))).collect();
        let mut out = Vec::new();
        append(&Format::Json(members), &mut Fixed(value), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{expect}\n"));
    }

    #[test]
    fn json_is_escaped() {
        check_json(&[], b"", "{}");
        check_json(&[("a", "$uri"), ("b", "x")], b"/\"\\", r#"{"a":"/\"\\","b":"x"}"#);
        check_json(&[("a\"", "<$uri>\"")], b"1", r#"{"a\"":"<1>\""}"#);
        check_json(&[("a", "$uri")], b"", r#"{"a":"-"}"#);
        check_json(&[("a", "")], b"", r#"{"a":""}"#);
        check_json(&[("a", "`x`")], b"\"\n", r#"{"a":"\"\u000A"}"#);
        check_json(&[("a", "$uri")], b"\xff\xc3\xa9\x00\x7f", "{\"a\":\"\\u00FFé\\u0000\\u007F\"}");
    }
}
