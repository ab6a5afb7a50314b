//! Text to `Value`. Depth is bounded, so no input can exhaust the stack.

use super::{Bytes, MAX_DEPTH, Number, Object, Value};

/// Where and why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ParseError {
    /// The expected text; a full sentence.
    pub detail: String,
    /// Bytes before the fault, not counting a byte-order mark.
    pub offset: usize,
    /// Line and column of the fault, both from 1, the column in characters. Missing when the text
    /// before the fault is not UTF-8.
    pub position: Option<(usize, usize)>,
}

/// Reads one value that makes up the whole of `text`; a leading byte-order mark is skipped.
///
/// # Errors
///
/// With the place of the first fault.
pub fn parse(text: &[u8]) -> Result<Value, ParseError> {
    let input = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut parser = Parser { input, at: 0, depth: 0 };
    parser.document().map_err(|fault| fault.locate(input))
}

/// Parses as `parse` does, but for a text that a person writes now: it has to be UTF-8 throughout.
///
/// # Errors
///
/// With the place of the first fault.
pub fn parse_text(text: &[u8]) -> Result<Value, ParseError> {
    let input = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match std::str::from_utf8(input) {
        Ok(_) => parse(input),
        Err(error) => Err(fault(error.valid_up_to(), NOT_UTF8).locate(input)),
    }
}

struct Parser<'a> {
    input: &'a [u8],
    /// 0 <= at <= input.len()
    at: usize,
    depth: usize,
}

/// A fault before its line and column are counted.
struct ParseFault {
    offset: usize,
    detail: String,
}

type Parsed<T> = Result<T, ParseFault>;

impl ParseFault {
    fn locate(self, input: &[u8]) -> ParseError {
        let before = std::str::from_utf8(&input[..self.offset]).ok();
        let position = before.map(|text| {
            let line_start = text.rfind('\n').map_or(0, |newline| newline + 1);
            let line = 1 + text.bytes().filter(|&byte| byte == b'\n').count();
            (line, 1 + text[line_start..].chars().count())
        });
        ParseError { detail: self.detail, offset: self.offset, position }
    }
}

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Value> {
        self.skip_space()?;
        if self.at == self.input.len() {
            return Err(fault(self.at, "An empty JSON payload is not allowed."));
        }
        let value = self.value()?;
        self.skip_space()?;
        if self.at < self.input.len() {
            return Err(fault(self.at, "There is an unexpected character after the end of the JSON value."));
        }
        Ok(value)
    }

    fn value(&mut self) -> Parsed<Value> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.literal(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Value>) -> Parsed<Value> {
        if self.depth == MAX_DEPTH {
            let detail = format!("Arrays and objects must not be nested deeper than {MAX_DEPTH} levels.");
            return Err(ParseFault { offset: self.at, detail });
        }
        self.depth += 1;
        self.at += 1; // the opening bracket
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Parsed<Value> {
        let start = self.at - 1;
        let mut members = Object::new();
        loop {
            self.skip_space()?;
            match self.peek() {
                None => return Err(fault(start, UNCLOSED_OBJECT)),
                Some(b'}') => break,
                Some(b'"') => self.member(&mut members)?,
                Some(_) => return Err(fault(self.at, MEMBER_NAME_EXPECTED)),
            }
            self.skip_space()?;
            match self.peek() {
                None => return Err(fault(start, UNCLOSED_OBJECT)),
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                Some(_) => return Err(fault(self.at, "A comma or a closing brace (}) is expected here.")),
            }
        }
        self.at += 1;
        Ok(Value::Object(members))
    }

    fn member(&mut self, members: &mut Object) -> Parsed<()> {
        let start = self.at;
        let name = self.string()?;
        if members.contains_key(&name) {
            let detail = format!("The object has two members with the name \"{name}\".");
            return Err(ParseFault { offset: start, detail });
        }
        self.skip_space()?;
        if self.peek() != Some(b':') {
            return Err(fault(self.at, "A colon is expected here, behind the member's name."));
        }
        self.at += 1;
        self.skip_space()?;
        if matches!(self.peek(), None | Some(b',' | b'}')) {
            return Err(fault(self.at, "The member has no value."));
        }
        let value = self.value()?;
        members.insert(name, value);
        Ok(())
    }

    fn array(&mut self) -> Parsed<Value> {
        let start = self.at - 1;
        let mut elements = Vec::new();
        loop {
            self.skip_space()?;
            match self.peek() {
                None => return Err(fault(start, UNCLOSED_ARRAY)),
                Some(b']') => break,
                Some(_) => elements.push(self.value()?),
            }
            self.skip_space()?;
            match self.peek() {
                None => return Err(fault(start, UNCLOSED_ARRAY)),
                Some(b',') => self.at += 1,
                Some(b']') => break,
                Some(_) => return Err(fault(self.at, "A comma or a closing bracket (]) is expected here.")),
            }
        }
        self.at += 1;
        Ok(Value::Array(elements))
    }

    fn number(&mut self) -> Parsed<Value> {
        let (number, len) = Number::scan(self.rest()).map_err(|(error, at)| {
            let offset = (self.at + at).min(self.input.len());
            ParseFault { offset, detail: sentence(&error.to_string()) }
        })?;
        self.at += len;
        Ok(Value::Number(number))
    }

    fn literal(&mut self) -> Parsed<Value> {
        let literals = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in literals {
            if self.rest().starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(fault(self.at, VALUE_EXPECTED))
    }

    /// Reads the string whose opening quote is next.
    fn string(&mut self) -> Parsed<Bytes> {
        let start = self.at;
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let n_plain = self.rest().iter().take_while(|&&byte| is_plain(byte)).count();
            text.extend_from_slice(&self.rest()[..n_plain]);
            self.at += n_plain;
            match self.peek() {
                None => return Err(fault(start, "The string has no closing quote.")),
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut text)?,
                Some(_) => return Err(fault(self.at, CONTROL_CHARACTER)),
            }
        }
        self.at += 1;
        Ok(Bytes::from(text))
    }

    /// Reads one escape, whose backslash is next.
    fn escape(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        let plain = match self.input.get(self.at + 1) {
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(text),
            _ => return Err(fault(self.at, "A backslash must be escaped by another one.")),
        };
        text.push(plain);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        let start = self.at;
        let first = self.code_unit()?;
        let code = match first {
            0xd800..=0xdbff => self.low_surrogate(start, first)?,
            0xdc00..=0xdfff => return Err(fault(start, LONE_SURROGATE)),
            _ => first,
        };
        let character = char::from_u32(code).expect("surrogates were combined or refused");
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn low_surrogate(&mut self, start: usize, high: u32) -> Parsed<u32> {
        if !self.rest().starts_with(b"\\u") {
            return Err(fault(start, LONE_SURROGATE));
        }
        let low = self.code_unit()?;
        if !(0xdc00..=0xdfff).contains(&low) {
            return Err(fault(start, LONE_SURROGATE));
        }
        Ok(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    }

    /// Reads `\uXXXX`.
    fn code_unit(&mut self) -> Parsed<u32> {
        let digits = self.input.get(self.at + 2..self.at + 6);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
        });
        let unit = unit.ok_or_else(|| fault(self.at, BAD_UNICODE_ESCAPE))?;
        self.at += 6;
        Ok(unit)
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Parsed<()> {
        let rest = self.rest();
        let len = match rest.get(1) {
            Some(b'/') => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            Some(b'*') => match memchr::memmem::find(&rest[2..], b"*/") {
                Some(end) => 2 + end + 2,
                None => return Err(fault(self.at, "The comment has no end (*/).")),
            },
            _ => return Err(fault(self.at, "A single slash is not a comment; // or /* starts one.")),
        };
        self.at += len;
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }
}

fn fault(offset: usize, detail: &str) -> ParseFault {
    ParseFault { offset, detail: detail.to_owned() }
}

/// `text` with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(std::iter::once('.')).collect()
}

/// Whether a byte stands for itself inside a string.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const NOT_UTF8: &str = "The text is not valid UTF-8 here.";
const UNCLOSED_OBJECT: &str = "The object has no closing brace (}).";
const UNCLOSED_ARRAY: &str = "The array has no closing bracket (]).";
const MEMBER_NAME_EXPECTED: &str =
    "A double quote is expected here: an object's member starts with its name.";
const VALUE_EXPECTED: &str = "A JSON value is expected here: null, true, false, a number, a string in double \
     quotes, an array in brackets or an object in braces.";
const CONTROL_CHARACTER: &str = "A control character must be escaped inside a string.";
const BAD_UNICODE_ESCAPE: &str = "Four hexadecimal digits must follow \\u.";
const LONE_SURROGATE: &str = "The escapes are not a legal surrogate pair.";
