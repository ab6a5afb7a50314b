//! The dashboard's page and its files, compressed, as the daemon serves them below `/dashboard/`.
//!
//! `ui/` has their sources. Where npm was missing at build time, there is a small page instead that says so.

#![forbid(unsafe_code)]

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

#[cfg(test)]
mod tests;

/// A file of the page.
#[derive(Debug)]
pub struct PageFile {
    /// The value of `Content-Type`.
    pub media_type: &'static str,
    /// Stands for the content, as an entity tag does; without quotes.
    pub tag: &'static str,
    /// The content, compressed by Brotli.
    pub brotli: &'static [u8],
    /// The content, compressed by gzip.
    pub gzip: &'static [u8],
    /// Whether the name stands for this very content, for ever.
    pub is_immutable: bool,
}

/// Whether this is the dashboard; otherwise the only file is a page that says how to get it.
pub const IS_BUILT: bool = embedded::IS_BUILT;

/// The file of a name below `/dashboard/`: the page itself is `""`, others are such as `assets/app.HASH.js`.
#[must_use]
pub fn find(name: &str) -> Option<&'static PageFile> {
    embedded::FILES.iter().find_map(|(known, file)| (*known == name).then_some(file))
}
