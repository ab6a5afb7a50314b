//! Strings with variables, or in JavaScript (contract 14), parsed once and rendered for each request.
//!
//! Values of variables and results of scripts come from the caller that renders.

mod names;
mod path;
mod rewrite;
mod scope;

pub use self::names::VariableRow;
pub use self::path::PathFault;
pub use self::rewrite::{Rewrite, RewriteFault};
pub use self::scope::{Captured, Groups, MapName, MapNames, Scope};
use crate::pattern::GivenUp;

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
    /// `http` or `https`.
    Scheme,
    /// The target as received, with its query; a rewrite does not change it.
    RequestUri,
    /// The value of `RequestUri` where a path is meant: that of the target as received, decoded and normalised. It has
    /// no name.
    ReceivedPath,
    /// The normalised, decoded path; a rewrite changes it.
    Uri,
    /// The query after rewrites, as it is written in a target.
    Args,
    /// `?` if there is a query.
    IsArgs,
    /// The query as received.
    ReceivedArgs,
    /// Bytes of the request.
    RequestLength,
    /// The normalised Host.
    Host,
    /// The same, or `localhost`.
    ServerName,
    /// The address that the client has connected to; `unix:` for a Unix socket.
    ServerAddr,
    /// The port that the client has connected to.
    ServerPort,
    /// The name of the machine.
    Hostname,
    /// The listener's address as it is configured.
    Listener,
    /// The last route on the way.
    Route,
    /// The application that was asked last.
    Application,
    /// The number of the connection.
    Connection,
    /// Which request of its connection it is.
    ConnectionRequests,
    /// The client's address without port; `unix:` for a Unix socket.
    RemoteAddr,
    /// The client's port.
    RemotePort,
    /// The user that `authenticate` has let pass; empty without one.
    RemoteUser,
    /// A claim of the token that `authenticate` has verified.
    Claim(String),
    /// `31/Dec/1986:19:40:00 +0300`.
    TimeLocal,
    /// `1986-12-31T19:40:00+03:00`.
    TimeIso8601,
    /// Seconds since 1970, `S.mmm`.
    Msec,
    /// Seconds since the request's first byte, `S.mmm`.
    RequestTime,
    /// 32 hexadecimal digits, the same throughout a request.
    RequestId,
    /// The response's status, three digits.
    Status,
    /// Bytes of the response without its head.
    BodyBytesSent,
    /// Bytes of the response with its head.
    BytesSent,
    /// `OK` if all of the response was sent.
    RequestCompletion,
    /// Something about the servers that were asked.
    Upstream(UpstreamVariable),
    /// Why a connection has ended that was passed on, in a word.
    ConnectionEnd,
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
    /// The value that a map of the document has for the request.
    Map(MapName),
    /// A group of the regular expression of a step that the text belongs to; no two steps have the same.
    Group(usize),
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
    /// The group of the key exchange.
    Group,
    /// The protocol that was agreed on by ALPN.
    Alpn,
    /// `r` for a resumed session, else `.`.
    SessionReused,
    /// The issuer of that certificate.
    ClientIssuer,
    /// The number of that certificate in hexadecimal.
    ClientSerial,
    /// The beginning of its validity.
    ClientNotBefore,
    /// The end of its validity.
    ClientNotAfter,
    /// Whole days until then.
    ClientDaysLeft,
    /// The certificate in PEM, percent-encoded.
    ClientCertificate,
}

/// A fact about the servers that a request was passed to; of several, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpstreamVariable {
    /// Where the server is.
    Address,
    /// The status of its response.
    Status,
    /// How long it took to connect.
    ConnectTime,
    /// How long it took until the head of the response.
    HeaderTime,
    /// How long it took until the end of the response.
    ResponseTime,
}

/// Supplies the values.
pub trait Variables {
    /// Appends the value of `variable`; nothing when it is not set.
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>);

    /// Appends the value that a map has for the request at hand.
    ///
    /// # Errors
    ///
    /// When a script of the map throws, or a search takes too long.
    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        let _ = (map, out);
        Ok(MapValue::Unset)
    }

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
        Err(Exception::Script("scripts cannot be evaluated here".to_owned()))
    }
}

/// The origin of what a map has appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapValue {
    /// The document's own text: it counts as if it stood in the template.
    Literal,
    /// A text with values of variables.
    Rendered,
    /// Nothing was found.
    Unset,
}

/// Why a template has no text; the request is answered with 500.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exception {
    /// A script has failed.
    #[error("js exception: {0}")]
    Script(String),
    /// A search in a map has taken too long.
    #[error(transparent)]
    Pattern(#[from] GivenUp),
}

/// Why a text is not a template. Each message continues with ` in the "OPTION" value.`
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No variable has this name.
    #[error("Unknown variable \"{0}\"")]
    UnknownVariable(String),
    /// A `$` that starts no variable, with its offset in bytes.
    #[error("Invalid variable at position {0}")]
    InvalidVariable(usize),
    /// A `$` with the number of a group that there is not.
    #[error("Invalid variable at position {at}")]
    UnknownGroup {
        /// The offset of the `$` in bytes.
        at: usize,
        /// The number as it is written.
        number: String,
    },
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
    /// Reads a template in which only the variables stand that every document knows.
    ///
    /// # Errors
    ///
    /// As for `parse_in`.
    pub fn parse(text: &[u8]) -> Result<Self, TemplateError> {
        Self::parse_in(text, Scope::default())
    }

    /// Reads a template as it is written in the document.
    ///
    /// # Errors
    ///
    /// When a variable is malformed or unknown. The syntax of a script is not looked at.
    pub fn parse_in(text: &[u8], scope: Scope<'_>) -> Result<Self, TemplateError> {
        let content = if text.first() == Some(&b'`') {
            let source = String::from_utf8(text.to_vec()).map_err(|_| TemplateError::NotUtf8)?;
            TemplateContent::Script(Script { source })
        } else {
            TemplateContent::Parts(parse_parts(text, scope)?)
        };
        Ok(Self { content })
    }

    /// A text without variables.
    #[must_use]
    pub fn literal(text: &[u8]) -> Self {
        let mut parts = Vec::new();
        if !text.is_empty() {
            push_literal(&mut parts, text);
        }
        Self { content: TemplateContent::Parts(parts) }
    }

    /// The paths below this folder that requests ask for: the text without a slash at its end, and `$uri`. None for a
    /// script.
    #[must_use]
    pub fn with_uri(self) -> Option<Self> {
        let TemplateContent::Parts(mut parts) = self.content else { return None };
        if let Some(TemplatePart::Literal(text)) = parts.last_mut() {
            text.truncate(text.len() - text.iter().rev().take_while(|&&byte| byte == b'/').count());
            if text.is_empty() {
                parts.pop();
            }
        }
        parts.push(TemplatePart::Variable(Variable::Uri));
        Some(Self { content: TemplateContent::Parts(parts) })
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

    /// The variable that is all of the text.
    pub(crate) fn is_variable(&self) -> Option<&Variable> {
        match self.parts() {
            Some([TemplatePart::Variable(variable)]) => Some(variable),
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
    /// When a script of the template throws, or a map cannot be asked; what was appended by then stays.
    pub fn render(&self, variables: &mut dyn Variables, out: &mut Vec<u8>) -> Result<(), Exception> {
        let parts = match &self.content {
            TemplateContent::Parts(parts) => parts,
            TemplateContent::Script(script) => return variables.evaluate(script, out),
        };
        for part in parts {
            match part {
                TemplatePart::Literal(text) => out.extend_from_slice(text),
                TemplatePart::Variable(Variable::Map(map)) => _ = variables.append_map(*map, out)?,
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

    /// Whether a variable tells of the servers that the request was passed to. A script that hands `vars` on may ask
    /// for any.
    pub(crate) fn wants_upstreams(&self) -> bool {
        let is_wanted = |variable: &Variable| matches!(variable, Variable::Upstream(_));
        let by_script = |script: &Script| {
            let uses = || script.source.split("vars").skip(1);
            script.source.contains("upstream") || uses().any(|behind| !behind.starts_with('.'))
        };
        self.variables().any(is_wanted) || self.script().is_some_and(by_script)
    }

    /// Whether a group of a step's regular expression is named.
    pub(crate) fn has_groups(&self) -> bool {
        self.variables().any(|variable| matches!(variable, Variable::Group(_)))
    }

    fn parts(&self) -> Option<&[TemplatePart]> {
        match &self.content {
            TemplateContent::Parts(parts) => Some(parts),
            TemplateContent::Script(_) => None,
        }
    }
}

fn parse_parts(text: &[u8], scope: Scope<'_>) -> Result<Vec<TemplatePart>, TemplateError> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'$' {
            let (name, end) = variable_name(text, at)?;
            match name {
                "dollar" => push_literal(&mut parts, b"$"),
                _ => parts.push(TemplatePart::Variable(find(name, at, scope)?)),
            }
            at = end;
        } else {
            let len = memchr::memchr(b'$', &text[at..]).unwrap_or(text.len() - at);
            push_literal(&mut parts, &text[at..at + len]);
            at += len;
        }
    }
    Ok(parts)
}

/// The variable of this name, whose `$` is at `at`. Names that every document knows come first.
fn find(name: &str, at: usize, scope: Scope<'_>) -> Result<Variable, TemplateError> {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        let group = name.parse().ok().and_then(|number| scope.group(number));
        return group
            .map(Variable::Group)
            .ok_or_else(|| TemplateError::UnknownGroup { at, number: name.to_owned() });
    }
    let map = || name.strip_prefix("map_").and_then(|name| scope.map(name)).map(Variable::Map);
    let group = || scope.group_named(name).map(Variable::Group);
    let found = Variable::find(name).or_else(map).or_else(group);
    found.ok_or_else(|| TemplateError::UnknownVariable(name.to_owned()))
}

fn push_literal(parts: &mut Vec<TemplatePart>, text: &[u8]) {
    if let Some(TemplatePart::Literal(last)) = parts.last_mut() {
        last.extend_from_slice(text);
    } else {
        parts.push(TemplatePart::Literal(text.to_vec()));
    }
}

/// The name of the variable whose `$` is at `start`, and the offset behind the variable. Outside of braces a name is
/// letters, or the one digit of a group.
fn variable_name(text: &[u8], start: usize) -> Result<(&str, usize), TemplateError> {
    let braced = text.get(start + 1) == Some(&b'{');
    let name_start = start + 1 + usize::from(braced);
    let rest = &text[name_start..];
    let len = match rest.first() {
        Some(first) if !braced && first.is_ascii_digit() => 1,
        _ => name_len(rest, braced),
    };
    let name_end = name_start + len;
    let closed = !braced || text.get(name_end) == Some(&b'}');
    if len == 0 || !closed {
        return Err(TemplateError::InvalidVariable(start));
    }
    let name = std::str::from_utf8(&text[name_start..name_end]).expect("only ASCII was accepted");
    Ok((name, name_end + usize::from(braced)))
}

/// The length of the name that a text begins with. The few names that have digits need no braces.
fn name_len(text: &[u8], braced: bool) -> usize {
    let len_of = |with_digits| text.iter().take_while(|byte| is_name_byte(**byte, with_digits)).count();
    let whole = len_of(true);
    if braced || VariableRow::is_name(&text[..whole]) { whole } else { len_of(false) }
}

fn is_name_byte(byte: u8, braced: bool) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || (braced && byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
