//! `rewrite_location` and `rewrite_cookies`: headers of responses in which a server speaks of itself.

use super::SameSite;
use crate::template::Template;

/// Changes of headers of responses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseRewrites {
    /// `Location`, `Content-Location` and `Refresh`.
    pub location: Option<LocationRewrite>,
    /// `Set-Cookie`.
    pub cookies: Option<CookieRewrite>,
}

/// The beginnings of URLs that are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocationRewrite {
    /// The server's own scheme, host and port become those that the client has asked for.
    Own,
    /// Each beginning with what it becomes; the longest that fits counts, and is first.
    Prefixes(Vec<(String, Template)>),
}

/// Changes of the attributes of cookies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CookieRewrite {
    /// `Domain`; a new one that is empty takes it away.
    pub domain: Option<AttributeRewrite>,
    /// `Path`, of which beginnings are replaced.
    pub path: Option<AttributeRewrite>,
    /// Whether there is `Secure`.
    pub secure: Option<bool>,
    /// Whether there is `HttpOnly`.
    pub httponly: Option<bool>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
}

/// New values of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeRewrite {
    /// One for all cookies that have the attribute.
    All(String),
    /// Each old one with the new one; the longest first.
    Each(Vec<(String, String)>),
}
