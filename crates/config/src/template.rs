//! Strings with variables, or in JavaScript (contract 14), parsed once and rendered for each request.
//!
//! Values of variables and results of scripts come from the caller that renders.

mod path;
mod rewrite;

pub use self::path::PathFault;
pub use self::rewrite::{Rewrite, RewriteFault};

/// A string that may contain variables, or a JavaScript template literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    content: TemplateContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateContent {
    /// Literals are not empty and never side by side.
    Parts(Vec<TemplatePart>),
    Script(Script),
}

/// A JavaScript expression that begins with a template literal; nothing is known about its syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    source: String,
}

impl Script {
    /// As it is written in the document.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
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
    /// The version of HTTP, as in `HTTP/1.1`.
    Protocol,
    /// The target as received, with its query; a rewrite does not change it.
    RequestUri,
    /// The value of `RequestUri` where a path is meant: that of the target as received, decoded and normalised. It has
    /// no name.
    ReceivedPath,
    /// The normalised, decoded path; a rewrite changes it.
    Uri,
    /// The normalised Host.
    Host,
    /// The client's address without port; `unix:` for a Unix socket.
    RemoteAddr,
    /// The user that `authenticate` has let pass; empty without one.
    RemoteUser,
    /// A claim of the token that `authenticate` has verified.
    Claim(String),
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
    /// Something about the TLS of the connection.
    Tls(TlsVariable),
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

impl Variable {
    /// The variable that is written as `$name`; `dollar` is none.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let simple = SIMPLE.iter().find(|(known, _)| *known == name);
        if let Some((_, variable)) = simple {
            return Some(variable.clone());
        }
        let (family, rest) =
            FAMILIES.iter().find_map(|(prefix, family)| Some((family, name.strip_prefix(prefix)?)))?;
        (!rest.is_empty()).then(|| family(rest))
    }
}

/// A fact about a connection's TLS; empty without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsVariable {
    /// `TLSv1.2` or `TLSv1.3`.
    Protocol,
    /// The cipher suite in OpenSSL's spelling.
    Cipher,
    /// The host name that the client asks for in its first message (SNI).
    ServerName,
    /// `SUCCESS` when the client has shown a certificate, else `NONE`.
    ClientVerify,
    /// The subject of that certificate.
    ClientSubject,
    /// The SHA-256 of that certificate in hexadecimal.
    ClientFingerprint,
}

/// Supplies the values.
pub trait Variables {
    /// Appends the value of `variable`; nothing when it is not set.
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>);

    /// Whether a variable of which nothing was appended is there all the same, and empty.
    fn is_set(&self, variable: &Variable) -> bool {
        let _ = variable;
        false
    }

    /// Appends what `script` gives for the request at hand.
    ///
    /// # Errors
    ///
    /// When the script throws, which it always does where no scripts can be evaluated.
    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        let _ = (script, out);
        Err(Exception("scripts cannot be evaluated here".to_owned()))
    }
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
    /// A JavaScript template literal that is not text.
    #[error("\"SyntaxError: the source is not valid UTF-8\"")]
    NotUtf8,
}

impl Default for Template {
    fn default() -> Self {
        Self { content: TemplateContent::Parts(Vec::new()) }
    }
}

impl Template {
    /// Reads a template as it is written in the document.
    ///
    /// # Errors
    ///
    /// When a variable is malformed or unknown. The syntax of a script is not looked at.
    pub fn parse(text: &[u8]) -> Result<Self, TemplateError> {
        let content = if text.first() == Some(&b'`') {
            let source = String::from_utf8(text.to_vec()).map_err(|_| TemplateError::NotUtf8)?;
            TemplateContent::Script(Script { source })
        } else {
            TemplateContent::Parts(parse_parts(text)?)
        };
        Ok(Self { content })
    }

    /// Whether `text` may differ from request to request: only then it is worth a template.
    #[must_use]
    pub fn is_dynamic(text: &[u8]) -> bool {
        text.iter().any(|byte| matches!(byte, b'$' | b'`'))
    }

    /// The text, when no variable is in it.
    #[must_use]
    pub fn is_constant(&self) -> Option<&[u8]> {
        match self.parts() {
            Some([]) => Some(b""),
            Some([TemplatePart::Literal(text)]) => Some(text),
            _ => None,
        }
    }

    /// Whether the text begins so whatever the request is, as far as can be seen.
    #[must_use]
    pub fn begins_with(&self, beginning: &[u8]) -> bool {
        match &self.content {
            TemplateContent::Parts(parts) => {
                matches!(parts.first(), Some(TemplatePart::Literal(text)) if text.starts_with(beginning))
            }
            TemplateContent::Script(script) => {
                script.source.as_bytes().get(1..).is_some_and(|text| text.starts_with(beginning))
            }
        }
    }

    /// The script, when it is one.
    #[must_use]
    pub fn script(&self) -> Option<&Script> {
        match &self.content {
            TemplateContent::Script(script) => Some(script),
            TemplateContent::Parts(_) => None,
        }
    }

    /// Appends the text with all variables replaced by their values.
    ///
    /// # Errors
    ///
    /// When a script of the template throws; what was appended by then stays.
    pub fn render(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), Exception> {
        let parts = match &self.content {
            TemplateContent::Parts(parts) => parts,
            TemplateContent::Script(script) => return variables.evaluate(script, out),
        };
        for part in parts {
            match part {
                TemplatePart::Literal(text) => out.extend_from_slice(text),
                TemplatePart::Variable(variable) => variables.append(variable, out),
            }
        }
        Ok(())
    }

    /// The variables, in the order of the text; one that stands twice comes twice. Those of scripts are
    /// not known.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts().into_iter().flatten().filter_map(|part| match part {
            TemplatePart::Variable(variable) => Some(variable),
            TemplatePart::Literal(_) => None,
        })
    }

    fn parts(&self) -> Option<&[TemplatePart]> {
        match &self.content {
            TemplateContent::Parts(parts) => Some(parts),
            TemplateContent::Script(_) => None,
        }
    }
}

fn parse_parts(text: &[u8]) -> Result<Vec<TemplatePart>, TemplateError> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'$' {
            let (name, end) = variable_name(text, at)?;
            push_variable(&mut parts, name)?;
            at = end;
        } else {
            let len = memchr::memchr(b'$', &text[at..]).unwrap_or(text.len() - at);
            push_literal(&mut parts, &text[at..at + len]);
            at += len;
        }
    }
    Ok(parts)
}

fn push_variable(parts: &mut Vec<TemplatePart>, name: &str) -> Result<(), TemplateError> {
    if name == "dollar" {
        push_literal(parts, b"$");
        return Ok(());
    }
    let variable = Variable::find(name).ok_or_else(|| TemplateError::UnknownVariable(name.to_owned()))?;
    parts.push(TemplatePart::Variable(variable));
    Ok(())
}

fn push_literal(parts: &mut Vec<TemplatePart>, text: &[u8]) {
    if let Some(TemplatePart::Literal(last)) = parts.last_mut() {
        last.extend_from_slice(text);
    } else {
        parts.push(TemplatePart::Literal(text.to_vec()));
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

/// A field's name as it is compared: lower case, `-` for `_`.
fn field_name(name: &str) -> Vec<u8> {
    name.to_ascii_lowercase().replace('_', "-").into_bytes()
}

const SIMPLE: &[(&str, Variable)] = &[
    ("method", Variable::Method),
    ("request_line", Variable::RequestLine),
    ("protocol", Variable::Protocol),
    ("request_uri", Variable::RequestUri),
    ("uri", Variable::Uri),
    ("host", Variable::Host),
    ("remote_addr", Variable::RemoteAddr),
    ("remote_user", Variable::RemoteUser),
    ("time_local", Variable::TimeLocal),
    ("request_time", Variable::RequestTime),
    ("request_id", Variable::RequestId),
    ("status", Variable::Status),
    ("body_bytes_sent", Variable::BodyBytesSent),
    ("tls_protocol", Variable::Tls(TlsVariable::Protocol)),
    ("tls_cipher", Variable::Tls(TlsVariable::Cipher)),
    ("tls_server_name", Variable::Tls(TlsVariable::ServerName)),
    ("tls_client_verify", Variable::Tls(TlsVariable::ClientVerify)),
    ("tls_client_subject", Variable::Tls(TlsVariable::ClientSubject)),
    ("tls_client_fingerprint", Variable::Tls(TlsVariable::ClientFingerprint)),
];

/// Makes a variable of the free part of its name.
type Family = fn(&str) -> Variable;

/// Variables whose name ends in a free part.
const FAMILIES: &[(&str, Family)] = &[
    ("header_", |name| Variable::Header(field_name(name))),
    ("arg_", |name| Variable::Argument(name.as_bytes().to_vec())),
    ("cookie_", |name| Variable::Cookie(name.as_bytes().to_vec())),
    ("jwt_claim_", |name| Variable::Claim(name.to_owned())),
    ("response_header_", |name| Variable::ResponseHeader(field_name(name))),
];

#[cfg(test)]
mod tests;
