//! Configuration files: texts in, one document out that knows where each of its values was written.
//!
//! A text is JSON in the dialect of the control API, or YAML. Each becomes a tree of `node`s, in
//! whose strings `${env:NAME}` and `${file:PATH}` are replaced (`substitute`); several trees are
//! merged member by member (`merge`). What comes out is a [`Manifest`]. Pure: which files there
//! are, and what they hold, is the caller's to find out; so are the environment and the files that
//! substitutions name, behind [`Surroundings`].

#![forbid(unsafe_code)]

pub mod caddyfile;
mod fault;
pub mod fuzz;
mod json;
mod manifest;
mod merge;
mod node;
mod substitute;
mod yaml;

pub use self::fault::{Fault, Position};
pub use self::manifest::{Insertion, Manifest};
pub use self::substitute::Surroundings;

/// One text of a configuration.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name in faults: the path of its file as the operator wrote it.
    pub name: String,
    /// The file's content.
    pub text: Vec<u8>,
    /// How to read them.
    pub format: Format,
}

/// A notation for documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The dialect of the control API: JSON with comments and trailing commas.
    Json,
    /// YAML 1.2, the part of it that JSON can say.
    Yaml,
}

impl Format {
    /// The format that the extension of a file name stands for, if it is one of a configuration.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// The format that a text without a telling name is most likely in.
    #[must_use]
    pub fn guess(text: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[' | b'/') | None => Self::Json,
            Some(_) => Self::Yaml,
        }
    }
}

/// Reads texts and makes one document of them.
///
/// # Errors
///
/// With every fault of every text; never empty.
pub fn read(sources: &[Source], world: &dyn Surroundings) -> Result<Manifest, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut merged = None;
    for source in sources {
        let tree = match source.format {
            Format::Json => json::read(source),
            Format::Yaml => yaml::read(source),
        };
        match tree {
            Ok(mut tree) => {
                substitute::replace(&mut tree, world, &mut faults);
                match &mut merged {
                    None => merged = Some(tree),
                    Some(merged) => merge::merge(merged, tree, &mut faults),
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
    match merged {
        Some(merged) if faults.is_empty() => Ok(Manifest::new(merged)),
        None if faults.is_empty() => Ok(Manifest::new(node::Node::empty("configuration"))),
        _ => Err(faults),
    }
}

/// Reads one text as it is: dollar signs stand for themselves.
///
/// # Errors
///
/// With the first fault of the text.
pub fn read_plain(source: &Source) -> Result<Manifest, Fault> {
    let tree = match source.format {
        Format::Json => json::read(source),
        Format::Yaml => yaml::read(source),
    };
    tree.map(Manifest::new)
}

#[cfg(test)]
mod tests;
