//! `Value` to text: pretty as the control API answers, or compact as the store keeps it.

use std::io::Write as _;

use super::{Bytes, Object, Value};

impl Value {
    /// Tabs, CRLF line ends, and a blank line behind a member that is a non-empty object or array;
    /// ends with CRLF.
    #[must_use]
    pub fn pretty(&self) -> Vec<u8> {
        let mut out = Vec::new();
        print_pretty(&mut out, self, 0);
        out.extend_from_slice(LINE_END);
        out
    }

    /// One line without any space.
    #[must_use]
    pub fn compact(&self) -> Vec<u8> {
        let mut out = Vec::new();
        print_compact(&mut out, self);
        out
    }
}

fn print_pretty(out: &mut Vec<u8>, value: &Value, level: usize) {
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            out.push(b'[');
            for (idx, element) in elements.iter().enumerate() {
                if idx > 0 {
                    out.push(b',');
                }
                new_line(out, level + 1);
                print_pretty(out, element, level + 1);
            }
            new_line(out, level);
            out.push(b']');
        }
        Value::Object(members) if !members.is_empty() => print_members(out, members, level),
        _ => print_compact(out, value),
    }
}

fn print_members(out: &mut Vec<u8>, members: &Object, level: usize) {
    out.push(b'{');
    let mut after_block = false;
    for (idx, (name, value)) in members.iter().enumerate() {
        if idx > 0 {
            out.push(b',');
        }
        if after_block {
            out.extend_from_slice(LINE_END);
        }
        new_line(out, level + 1);
        print_string(out, name);
        out.extend_from_slice(b": ");
        print_pretty(out, value, level + 1);
        after_block = is_block(value);
    }
    new_line(out, level);
    out.push(b'}');
}

/// Whether a value takes several lines.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

fn new_line(out: &mut Vec<u8>, level: usize) {
    out.extend_from_slice(LINE_END);
    out.resize(out.len() + level, b'\t');
}

fn print_compact(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => print_display(out, number),
        Value::String(text) => print_string(out, text),
        Value::Array(elements) => {
            out.push(b'[');
            for (idx, element) in elements.iter().enumerate() {
                if idx > 0 {
                    out.push(b',');
                }
                print_compact(out, element);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (idx, (name, member)) in members.iter().enumerate() {
                if idx > 0 {
                    out.push(b',');
                }
                print_string(out, name);
                out.push(b':');
                print_compact(out, member);
            }
            out.push(b'}');
        }
    }
}

fn print_string(out: &mut Vec<u8>, text: &Bytes) {
    out.push(b'"');
    for &byte in text.iter() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x00..0x20 => print_display(out, &format_args!("\\u{byte:04x}")),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

fn print_display(out: &mut Vec<u8>, text: &dyn std::fmt::Display) {
    write!(out, "{text}").expect("writing to a Vec cannot fail");
}

const LINE_END: &[u8] = b"\r\n";
