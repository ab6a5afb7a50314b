//! `maps`: tables in which the value of a variable is looked up.
//!
//! A map is asked when a text with its variable is rendered, and costs nothing before. Names and networks are shared by
//! all copies of a configuration: there may be many.

mod geo;
mod network_file;
mod split;
mod table;

pub(crate) use self::geo::{GeoTable, Network};
pub use self::network_file::{NetworkFile, NetworkLine, WrongLine};
pub(crate) use self::split::{SPLIT_ALL, SplitTable};
pub(crate) use self::table::{TableName, ValueTable};
use crate::pattern::GivenUp;
use crate::template::Template;

/// One map.
#[derive(Debug, Clone)]
pub struct Map {
    /// As variables name it, behind `map_`.
    pub name: String,
    /// The text that is looked up.
    pub from: Template,
    /// Where it is looked up.
    pub(crate) entries: Entries,
    /// The value of what is not found.
    pub(crate) default: Option<Template>,
}

/// The values of a map.
#[derive(Debug, Clone)]
pub(crate) enum Entries {
    /// By names and patterns.
    Table(ValueTable),
    /// By networks of addresses.
    Geo(GeoTable),
    /// By shares of all there is.
    Split(SplitTable),
}

impl Map {
    /// The value for what `from` has given; none when nothing is said of it.
    ///
    /// # Errors
    ///
    /// When a regular expression is given up before that is known.
    pub fn choose(&self, key: &[u8]) -> Result<Option<&Template>, GivenUp> {
        let found = match &self.entries {
            Entries::Table(table) => table.find(key)?,
            Entries::Geo(networks) => networks.find(key),
            Entries::Split(shares) => shares.find(key),
        };
        Ok(found.or(self.default.as_ref()))
    }

    /// The files that networks are read from.
    #[must_use]
    pub fn files(&self) -> &[NetworkFile] {
        match &self.entries {
            Entries::Geo(networks) => networks.files(),
            Entries::Table(_) | Entries::Split(_) => &[],
        }
    }

    /// Takes the lines of its files, in the order of these.
    pub fn fill(&mut self, lines: Vec<Vec<NetworkLine>>) {
        if let Entries::Geo(networks) = &mut self.entries {
            networks.fill(lines);
        }
    }

    /// All texts that the map is made of.
    pub(crate) fn templates(&self) -> Box<dyn Iterator<Item = &Template> + '_> {
        let own = std::iter::once(&self.from).chain(&self.default);
        match &self.entries {
            Entries::Table(table) => Box::new(own.chain(table.values())),
            Entries::Geo(networks) => Box::new(own.chain(networks.values())),
            Entries::Split(shares) => Box::new(own.chain(shares.values())),
        }
    }
}
