//! A request as CGI describes it, in the form of the protocol that its server speaks.

use std::ops::Range;

use corral_cgi::variables::Variables;
use corral_channel::message::RequestHead;
use corral_config::gateway::{EntryPoint, Scripts};
use corral_config::protocol::Protocol;
use corral_config::template::{Exception, PathFault, Template};
use smallvec::SmallVec;

use super::script::ScriptFile;
use crate::answer::description::ConnectionFacts;
use crate::answer::proxy::GatewayRequest;
use crate::exchange::response::ResponseWriter;
use crate::storage::buffers;
use crate::upstream::gateway::{self, GatewayParam};

/// Why a server cannot be told of a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParamsError {
    #[error(transparent)]
    Script(#[from] Exception),
    /// A value of the client's leads elsewhere.
    #[error("a variable names no file")]
    Stray(#[source] PathFault),
    #[error(transparent)]
    Protocol(#[from] gateway::NotRepresentable),
}

impl From<PathFault> for ParamsError {
    fn from(fault: PathFault) -> Self {
        match fault {
            PathFault::Script(exception) => Self::Script(exception),
            stray @ PathFault::Stray(_) => Self::Stray(stray),
        }
    }
}

/// Describes a request whose body has so many bytes, if it has one.
pub(super) fn describe(
    response: &ResponseWriter<'_, '_>,
    (entry, scripts): (Option<&EntryPoint>, Option<&Scripts>),
    place: &ScriptFile,
    length: Option<u64>,
    protocol: Protocol,
) -> Result<GatewayRequest, ParamsError> {
    let facts = ConnectionFacts::of(response);
    let head =
        RequestHead { path: &place.path_info, content_length: length, ..facts.describe(response.request) };
    let mut variables = Variables::default();
    // CGI programs take `Proxy` for a setting of theirs.
    let fields = facts.fields(response.request).filter(|(name, _)| !name.eq_ignore_ascii_case(b"proxy"));
    variables.describe(&head, fields);
    let own = OwnParams::render(response, entry)?;
    let uri = [&*place.name, &*place.path_info].concat();
    let translated = translated(scripts, place);
    let further = further(scripts, place, &uri, &translated);
    let has_info = !place.path_info.is_empty();
    let all = variables.iter().filter(|(name, _)| has_info || *name != b"PATH_INFO").chain(further);
    let all = all.filter(|(name, _)| !own.has(name)).chain(own.pairs());
    let mut bytes = buffers::take();
    gateway::encode(protocol, length, all, &mut bytes)?;
    Ok(GatewayRequest { protocol, bytes })
}

/// Where the rest of the path would be below the folder of the scripts; empty without a rest, or without scripts.
fn translated(scripts: Option<&Scripts>, place: &ScriptFile) -> Vec<u8> {
    let scripts = scripts.filter(|_| !place.path_info.is_empty());
    let root = scripts.map(|scripts| scripts.root.as_os_str().as_encoded_bytes());
    root.map(|root| [root.strip_suffix(b"/").unwrap_or(root), &place.path_info].concat()).unwrap_or_default()
}

/// The variables of CGI and PHP beside those that all applications get.
fn further<'v>(
    scripts: Option<&'v Scripts>,
    place: &'v ScriptFile,
    uri: &'v [u8],
    translated: &'v [u8],
) -> SmallVec<[GatewayParam<'v>; 8]> {
    let mut pairs: SmallVec<[GatewayParam<'v>; 8]> = SmallVec::new();
    pairs.push((b"SCRIPT_NAME", &place.name));
    if let Some(scripts) = scripts
        && let Some(file) = &place.file
    {
        pairs.push((b"SCRIPT_FILENAME", file));
        pairs.push((b"DOCUMENT_ROOT", scripts.root.as_os_str().as_encoded_bytes()));
        pairs.push((b"DOCUMENT_URI", uri));
        if !translated.is_empty() {
            pairs.push((b"PATH_TRANSLATED", translated));
        }
        // PHP may be told to run nothing without it (`cgi.force_redirect`).
        pairs.push((b"REDIRECT_STATUS", b"200"));
    }
    pairs
}

/// Variables that name files, of which some are run.
const PATHS: [&str; 4] = ["SCRIPT_FILENAME", "DOCUMENT_ROOT", "PATH_TRANSLATED", "CONTEXT_DOCUMENT_ROOT"];

/// Appends the value of a variable of the configuration.
fn append(
    name: &str,
    template: &Template,
    response: &ResponseWriter<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), ParamsError> {
    if !PATHS.contains(&name) {
        return Ok(template.render(&mut response.variables(), out)?);
    }
    Ok(template.render_path(&mut response.variables(), out)?)
}

/// A name, and where its value is in the text of all; none for one that is taken away.
type OwnParam<'g> = (&'g str, Option<Range<usize>>);

/// The variables of the configuration, with their values for the request.
struct OwnParams<'g> {
    all: SmallVec<[OwnParam<'g>; 8]>,
    text: Vec<u8>,
}

impl<'g> OwnParams<'g> {
    fn render(
        response: &'g ResponseWriter<'_, '_>,
        entry: Option<&'g EntryPoint>,
    ) -> Result<Self, ParamsError> {
        let mut own = Self { all: SmallVec::new(), text: Vec::new() };
        for (name, value) in response.params(entry) {
            let start = own.text.len();
            if let Some(template) = value {
                append(name, template, response, &mut own.text)?;
            }
            let value = value.as_ref().map(|_| start..own.text.len());
            own.all.push((name, value));
        }
        Ok(own)
    }

    fn has(&self, name: &[u8]) -> bool {
        self.all.iter().any(|(own, _)| own.as_bytes() == name)
    }

    fn pairs(&self) -> impl Iterator<Item = GatewayParam<'_>> + Clone {
        let all = self.all.iter();
        all.filter_map(|(name, value)| Some((name.as_bytes(), &self.text[value.clone()?])))
    }
}
