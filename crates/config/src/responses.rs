//! Options of actions about the responses that they lead to. What an outer action says holds inside, unless an inner
//! one says its own.

mod expiry;
mod substitution;

use crate::pattern::{GivenUp, PatternSet};

pub use self::expiry::{ExpiryError, cache_control};
pub use self::substitution::{Substitution, SubstitutionRule};

/// These options of one action; absent where it has nothing of its own to say.
#[derive(Debug, Clone, Default)]
pub struct ResponseOptions {
    /// How long clients may keep responses that do not say so themselves.
    pub expires: Option<Expires>,
    /// The character set of texts that do not say theirs.
    pub charset: Option<Charset>,
    /// The pace of a response body.
    pub limit_rate: Option<RateLimit>,
    /// Texts of bodies that are replaced.
    pub substitute: Option<Substitution>,
    /// The MIME types of these bodies; those of HTML where nothing is said.
    pub substitute_types: Option<PatternSet>,
    /// Bodies are unpacked for clients that do not take gzip.
    pub gunzip: Option<bool>,
}

/// Something that is said of responses by their path or MIME type.
#[derive(Debug, Clone)]
pub struct ContentRule<T> {
    /// On the path of the request, which starts with `/`, or on the MIME type, which never does; `None` is for
    /// everything.
    pub pattern: Option<PatternSet>,
    /// The word on what matches.
    pub value: T,
}

impl<T> ContentRule<T> {
    /// Whether it is for content of this path and type.
    ///
    /// # Errors
    ///
    /// When a regular expression is given up.
    pub fn applies(&self, path: &[u8], mime_type: &[u8]) -> Result<bool, GivenUp> {
        let Some(pattern) = &self.pattern else { return Ok(true) };
        Ok(pattern.matches(path)? || pattern.matches(mime_type)?)
    }
}

/// `expires`: values of Cache-Control, of which the first rule that applies counts.
#[derive(Debug, Clone)]
pub struct Expires {
    /// A rule without a value leaves the response as it is.
    pub rules: Vec<ContentRule<Option<String>>>,
}

impl Expires {
    /// The value for content of this path and type, if there is one.
    ///
    /// # Errors
    ///
    /// When a regular expression is given up.
    pub fn value(&self, path: &[u8], mime_type: &[u8]) -> Result<Option<&str>, GivenUp> {
        let bare = mime_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
        for rule in &self.rules {
            if rule.applies(path, bare)? {
                return Ok(rule.value.as_deref());
            }
        }
        Ok(None)
    }
}

/// `charset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Charset {
    /// Types are left as they are.
    Off,
    /// The name that is added.
    Named(String),
}

/// `limit_rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Bytes in a second; 0 for as many as there are.
    pub rate: u64,
    /// Bytes that are sent at once.
    pub burst: u64,
}
