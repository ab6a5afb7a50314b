//! Strings with variables (UNIT-COMPAT 14.1), parsed once and rendered for each request.
//!
//! What a variable's value is belongs to the one who renders.

/// A string that may contain variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Literals are not empty and never side by side.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Vec<u8>),
    Variable(Variable),
}

/// A value that differs from request to request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Request method.
    Method,
    /// The request's first line as received, without its line end.
    RequestLine,
    /// The target as received, with its query; a rewrite does not change it.
    RequestUri,
    /// The normalised, decoded path; a rewrite changes it.
    Uri,
    /// The normalised Host.
    Host,
    /// The client's address without port; `unix:` for a Unix socket.
    RemoteAddr,
    /// `31/Dec/1986:19:40:00 +0300`.
    TimeLocal,
    /// Seconds since the request's first byte, `S.mmm`.
    RequestTime,
    /// 32 hexadecimal digits, the same throughout a request.
    RequestId,
    /// The response's status, three digits.
    Status,
    /// Bytes of the response without its head.
    BodyBytesSent,
    /// First request field of this name: lower case, `-` where the document has `_`.
    Header(Vec<u8>),
    /// Last query parameter of exactly this name, decoded.
    Argument(Vec<u8>),
    /// First cookie of exactly this name.
    Cookie(Vec<u8>),
    /// First response field of this name: lower case, `-` where the document has `_`.
    /// `connection`, `content-length` and `transfer-encoding` are what the server itself sends.
    ResponseHeader(Vec<u8>),
}

/// Supplies the values.
pub trait Variables {
    /// Appends the value of `variable`; nothing when it is not set.
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>);
}

/// A script of a template failed; the request is answered with 500.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("js exception: {0}")]
pub struct Exception(pub String);

/// Why a text is not a template. Each message continues with ` in the "OPTION" value.`
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No variable has this name.
    #[error("Unknown variable \"{0}\"")]
    UnknownVariable(String),
    /// A `$` that starts no variable, with its offset in bytes.
    #[error("Invalid variable at position {0}")]
    InvalidVariable(usize),
    /// A JavaScript template literal.
    #[error("Unit is built without support of njs: \"--njs\" ./configure option is missing.")]
    JavaScript,
}

impl Template {
    /// Reads a template as it is written in the document.
    ///
    /// # Errors
    ///
    /// When a variable is malformed or unknown, or when the text is a JavaScript literal.
    pub fn parse(text: &[u8]) -> Result<Self, TemplateError> {
        if text.first() == Some(&b'`') {
            return Err(TemplateError::JavaScript);
        }
        let mut template = Self { parts: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            if text[at] == b'$' {
                let (name, end) = variable_name(text, at)?;
                template.push_variable(name)?;
                at = end;
            } else {
                let len = memchr::memchr(b'$', &text[at..]).unwrap_or(text.len() - at);
                template.push_literal(&text[at..at + len]);
                at += len;
            }
        }
        Ok(template)
    }

    /// The text, when no variable is in it.
    #[must_use]
    pub fn is_constant(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(b""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the text with all variables replaced by their values.
    ///
    /// # Errors
    ///
    /// When a script of the template throws; what was appended by then stays.
    pub fn render(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), Exception> {
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text),
                Part::Variable(variable) => variables.append(variable, out),
            }
        }
        Ok(())
    }

    /// The variables, in the order of the text; one that stands twice comes twice.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(variable),
            Part::Literal(_) => None,
        })
    }

    fn push_variable(&mut self, name: &str) -> Result<(), TemplateError> {
        if name == "dollar" {
            self.push_literal(b"$");
            return Ok(());
        }
        let variable = find_variable(name).ok_or_else(|| TemplateError::UnknownVariable(name.to_owned()))?;
        self.parts.push(Part::Variable(variable));
        Ok(())
    }

    fn push_literal(&mut self, text: &[u8]) {
        if let Some(Part::Literal(last)) = self.parts.last_mut() {
            last.extend_from_slice(text);
        } else {
            self.parts.push(Part::Literal(text.to_vec()));
        }
    }
}

/// The name of the variable whose `$` is at `start`, and the offset behind the variable.
fn variable_name(text: &[u8], start: usize) -> Result<(&str, usize), TemplateError> {
    let braced = text.get(start + 1) == Some(&b'{');
    let name_start = start + 1 + usize::from(braced);
    let len = text[name_start..].iter().take_while(|&&byte| is_name_byte(byte)).count();
    let name_end = name_start + len;
    let closed = !braced || text.get(name_end) == Some(&b'}');
    if len == 0 || !closed {
        return Err(TemplateError::InvalidVariable(start));
    }
    let name = std::str::from_utf8(&text[name_start..name_end]).expect("only ASCII was accepted");
    Ok((name, name_end + usize::from(braced)))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn find_variable(name: &str) -> Option<Variable> {
    let simple = SIMPLE.iter().find(|(known, _)| *known == name);
    if let Some((_, variable)) = simple {
        return Some(variable.clone());
    }
    let (family, rest) =
        FAMILIES.iter().find_map(|(prefix, family)| Some((family, name.strip_prefix(prefix)?)))?;
    (!rest.is_empty()).then(|| family(rest))
}

/// A field's name as it is compared: lower case, `-` for `_`.
fn field_name(name: &str) -> Vec<u8> {
    name.to_ascii_lowercase().replace('_', "-").into_bytes()
}

const SIMPLE: &[(&str, Variable)] = &[
    ("method", Variable::Method),
    ("request_line", Variable::RequestLine),
    ("request_uri", Variable::RequestUri),
    ("uri", Variable::Uri),
    ("host", Variable::Host),
    ("remote_addr", Variable::RemoteAddr),
    ("time_local", Variable::TimeLocal),
    ("request_time", Variable::RequestTime),
    ("request_id", Variable::RequestId),
    ("status", Variable::Status),
    ("body_bytes_sent", Variable::BodyBytesSent),
];

/// Makes a variable of the free part of its name.
type Family = fn(&str) -> Variable;

/// Variables whose name ends in a free part.
const FAMILIES: &[(&str, Family)] = &[
    ("header_", |name| Variable::Header(field_name(name))),
    ("arg_", |name| Variable::Argument(name.as_bytes().to_vec())),
    ("cookie_", |name| Variable::Cookie(name.as_bytes().to_vec())),
    ("response_header_", |name| Variable::ResponseHeader(field_name(name))),
];

#[cfg(test)]
mod tests;
