//! `sticky`: clients that stay with the server that answered them first.

use std::fmt;

/// The cookie by which a client names its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sticky {
    /// The cookie's name.
    pub cookie: String,
    /// The key that its values are made with; `None` means one of the process's own.
    pub secret: Option<String>,
    /// `Domain`.
    pub domain: Option<String>,
    /// `Path`.
    pub path: String,
    /// `Max-Age` in seconds; without it the cookie ends with the browser's session.
    pub max_age: Option<u32>,
    /// `Secure`; `None` means for clients that have come over TLS.
    pub secure: Option<bool>,
    /// `HttpOnly`.
    pub httponly: bool,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
}

impl Default for Sticky {
    fn default() -> Self {
        Self {
            cookie: String::new(),
            secret: None,
            domain: None,
            path: "/".to_owned(),
            max_age: None,
            secure: None,
            httponly: true,
            same_site: None,
        }
    }
}

/// Requests of which sites have a cookie with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    /// Requests of the cookie's own site.
    Strict,
    /// Requests of the own site, and links to it.
    Lax,
    /// Requests of all sites.
    None,
}

impl SameSite {
    /// All of them, by their names in documents.
    pub const NAMES: [(&'static str, Self); 3] =
        [("strict", Self::Strict), ("lax", Self::Lax), ("none", Self::None)];
}

impl fmt::Display for SameSite {
    /// As an attribute of cookies.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strict => "Strict",
            Self::Lax => "Lax",
            Self::None => "None",
        })
    }
}
