//! `access_log` (contract 18): where a line for each request goes, which requests, and how it looks.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::condition::Condition;
use crate::table::Key;
use crate::template::Template;

/// The combined format that web servers share.
const COMBINED: &[u8] = b"$remote_addr - - [$time_local] \"$request_line\" $status $body_bytes_sent \
    \"$header_referer\" \"$header_user_agent\"";

/// One log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLog {
    /// The file.
    pub path: PathBuf,
    /// How an entry looks.
    pub format: Format,
    /// Which requests get an entry; `None` means all.
    pub condition: Option<Condition>,
    /// How entries are gathered; `None` means that each is written at once.
    pub buffer: Option<Buffer>,
}

/// The logs of an action's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessLogs {
    /// The logs of the document.
    Document,
    /// These in their place, or none.
    Own(Vec<Key<AccessLog>>),
}

impl AccessLog {
    /// A log with the defaults.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, format: Format::default(), condition: None, buffer: None }
    }
}

/// How an entry looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// The text of a line.
    Text(Template),
    /// Members of a JSON object, in the order of the document.
    Json(Vec<(String, Template)>),
}

impl Default for Format {
    fn default() -> Self {
        Self::Text(Template::parse(COMBINED).expect("the default format is a valid template"))
    }
}

/// How entries are gathered before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes that each event loop keeps back.
    pub size: NonZeroUsize,
    /// How long an entry may be kept back.
    pub flush: Duration,
}
