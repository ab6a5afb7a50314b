//! Values of variables as they stand in other texts than paths: in a query, in a `Location`, in a page.
//!
//! `$uri` and the values of parameters were decoded, so that they are encoded again; `$request_uri` and `$args` never
//! were.

use corral_config::route::Facts;
use corral_config::template::{Exception, MapName, MapValue, Script, Template, Variable, Variables};
use corral_http::path::{self, append_encoded_host, append_encoded_path, append_encoded_value};
use smallvec::SmallVec;

use super::RequestVariables;

/// Values within a query: no more than the value that they stand for.
pub(crate) struct QueryValues<'t>(pub(crate) RequestVariables<'t>);

impl Variables for QueryValues<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        // What came in a target is encoded already.
        if matches!(variable, Variable::RequestUri | Variable::Args | Variable::ReceivedArgs) {
            return self.0.append(variable, out);
        }
        let start = out.len();
        self.0.append(variable, out);
        encode_since(start, out, append_encoded_value);
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        encode_map(&mut self.0, map, out, append_encoded_value)
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        self.0.evaluate(script, out)
    }
}

/// Appends the value of a `Location`; `scratch` is an empty buffer.
pub(crate) fn append_location(
    template: &Template,
    variables: RequestVariables<'_>,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Exception> {
    template.render(&mut LocationValues(variables), scratch)?;
    path::append_location(keep_host(template, scratch), out);
    Ok(())
}

/// The location without slashes in front that only a value has made two: they would begin a host.
fn keep_host<'l>(template: &Template, location: &'l [u8]) -> &'l [u8] {
    let n_slashes = location.iter().take_while(|&&byte| byte == b'/').count();
    if n_slashes < 2 || template.begins_with(b"//") { location } else { &location[n_slashes - 1..] }
}

/// Values within a `Location` that begins where `out` does.
struct LocationValues<'t>(RequestVariables<'t>);

impl Variables for LocationValues<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        match variable {
            Variable::Host => append_encoded_host(Facts::host(&self.0), out),
            _ if memchr::memchr2(b'?', b'#', out).is_some() => {
                QueryValues(self.0).append(variable, out);
            }
            _ => {
                let (start, last) = (out.len(), last_of_host(out));
                self.0.append(variable, out);
                keep_in_path(Some(variable), (start, last), out);
            }
        }
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        if memchr::memchr2(b'?', b'#', out).is_some() {
            return encode_map(&mut self.0, map, out, append_encoded_value);
        }
        let (start, last) = (out.len(), last_of_host(out));
        let value = self.0.append_map(map, out)?;
        if value != MapValue::Literal {
            keep_in_path(None, (start, last), out);
        }
        Ok(value)
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        self.0.evaluate(script, out)
    }
}

/// A host that is complete goes no further by what a client says; a part of one stays a part of it. The value begins
/// at `start`, behind the byte `last` of a host.
fn keep_in_path(variable: Option<&Variable>, (start, last): (usize, Option<u8>), out: &mut Vec<u8>) {
    match variable {
        _ if last.is_some_and(|last| !last.is_ascii_alphanumeric() && last != b']') => {
            encode_since(start, out, append_encoded_host);
        }
        Some(Variable::Uri | Variable::Group(_)) => encode_since(start, out, append_encoded_path),
        _ => {}
    }
    let is_apart = out.get(start).is_none_or(|first| matches!(first, b'/' | b'?' | b'#'));
    if last.is_some_and(|last| last.is_ascii_alphanumeric() || last == b']') && !is_apart {
        out.insert(start, b'/');
    }
}

/// The last byte of a URL that ends within its host; that of `//` where the host is yet to come.
fn last_of_host(url: &[u8]) -> Option<u8> {
    let slashes = memchr::memmem::find(url, b"//")?;
    let is_scheme = |scheme: &[u8]| scheme.is_empty() || scheme.ends_with(b":");
    let host = &url[slashes + 2..];
    let is_last = is_scheme(&url[..slashes]) && !url[..slashes].contains(&b'/') && !host.contains(&b'/');
    url.last().copied().filter(|_| is_last)
}

/// Values within a page of HTML: text, also in quotes.
pub(crate) struct HtmlValues<'t>(pub(crate) RequestVariables<'t>);

impl Variables for HtmlValues<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.append(variable, out);
        encode_since(start, out, append_escaped_html);
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        encode_map(&mut self.0, map, out, append_escaped_html)
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        self.0.evaluate(script, out)
    }
}

fn append_escaped_html(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'`' => out.extend_from_slice(b"&#96;"),
            _ => out.push(byte),
        }
    }
}

/// Values as names within a `pass`, where segments are decoded: those that are not path are at most one segment.
pub(crate) struct PassValues<'t>(pub(crate) RequestVariables<'t>);

impl Variables for PassValues<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.append(variable, out);
        match variable {
            Variable::RequestUri => {}
            Variable::Uri => encode_since(start, out, append_encoded_path),
            _ => encode_since(start, out, append_segment),
        }
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        encode_map(&mut self.0, map, out, append_segment)
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        self.0.evaluate(script, out)
    }
}

fn append_segment(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'%' => out.extend_from_slice(b"%25"),
            b'/' => out.extend_from_slice(b"%2F"),
            _ => out.push(byte),
        }
    }
}

/// Appends the value of a map, encoded unless it is the configuration's own text.
fn encode_map(
    variables: &mut RequestVariables<'_>,
    map: MapName,
    out: &mut Vec<u8>,
    encode: fn(&[u8], &mut Vec<u8>),
) -> Result<MapValue, Exception> {
    let start = out.len();
    let value = variables.append_map(map, out)?;
    if value == MapValue::Rendered {
        encode_since(start, out, encode);
    }
    Ok(value)
}

/// Encodes what was appended since `start`.
fn encode_since(start: usize, out: &mut Vec<u8>, encode: fn(&[u8], &mut Vec<u8>)) {
    let value = SmallVec::<[u8; 256]>::from_slice(&out[start..]);
    out.truncate(start);
    encode(&value, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_ends_at_its_path() {
        for (url, expect) in [
            ("https://a.example", Some(b'e')),
            ("https://", Some(b'/')),
            ("https://www.", Some(b'.')),
            ("https://[::1]", Some(b']')),
            ("//a", Some(b'a')),
            ("https://a/", None),
            ("https://a/b", None),
            ("/a//b", None),
            ("/", None),
            ("", None),
            ("a", None),
        ] {
            assert_eq!(last_of_host(url.as_bytes()), expect, "{url}");
        }
    }

    #[test]
    fn text_stays_text_in_html() {
        let mut out = b"<p>".to_vec();
        append_escaped_html(b"<b a=\"'`&", &mut out);
        assert_eq!(out, b"<p>&lt;b a=&quot;&#39;&#96;&amp;");
    }
}
