//! Certificate bundles and JavaScript modules that a document names: they were uploaded before and lie in the state
//! directory.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Contents by name. One configuration gets those that it names, and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assets {
    /// Certificate chains with their private key, in PEM, as uploaded.
    pub certificates: Vec<Asset>,
    /// JavaScript modules.
    pub scripts: Vec<Asset>,
}

/// One content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// The name in configurations: never empty, without NUL.
    pub name: String,
    /// As uploaded.
    pub bytes: Vec<u8>,
}

/// Which kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssetKind {
    /// `/certificates`.
    Certificate,
    /// `/js_modules`.
    Script,
}

/// The names that a configuration refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssetNames {
    /// Names of certificate bundles.
    pub certificates: BTreeSet<String>,
    /// Names of JavaScript modules.
    pub scripts: BTreeSet<String>,
}

impl Assets {
    /// All of one kind.
    #[must_use]
    pub fn of_kind(&self, kind: AssetKind) -> &[Asset] {
        match kind {
            AssetKind::Certificate => &self.certificates,
            AssetKind::Script => &self.scripts,
        }
    }

    /// The bundle with this name.
    #[must_use]
    pub fn certificate(&self, name: &str) -> Option<&Asset> {
        self.find(AssetKind::Certificate, name)
    }

    /// The module with this name.
    #[must_use]
    pub fn script(&self, name: &str) -> Option<&Asset> {
        self.find(AssetKind::Script, name)
    }

    /// One content.
    #[must_use]
    pub fn find(&self, kind: AssetKind, name: &str) -> Option<&Asset> {
        self.of_kind(kind).iter().find(|asset| asset.name == name)
    }

    /// Puts a content in the place of the one with its name, or behind the others; `None` removes it.
    pub fn set(&mut self, kind: AssetKind, name: &str, bytes: Option<Vec<u8>>) {
        let all = match kind {
            AssetKind::Certificate => &mut self.certificates,
            AssetKind::Script => &mut self.scripts,
        };
        let place = all.iter().position(|asset| asset.name == name);
        match (place, bytes) {
            (Some(place), Some(bytes)) => all[place].bytes = bytes,
            (None, Some(bytes)) => all.push(Asset { name: name.to_owned(), bytes }),
            (Some(place), None) => drop(all.remove(place)),
            (None, None) => {}
        }
    }

    /// Bytes of all names and contents.
    #[must_use]
    pub fn size(&self) -> usize {
        let all = self.certificates.iter().chain(&self.scripts);
        all.map(|asset| asset.name.len() + asset.bytes.len()).sum()
    }

    /// Selects the assets that are named; missing ones are left out.
    #[must_use]
    pub fn named(&self, names: &AssetNames) -> Self {
        let pick = |all: &[Asset], names: &BTreeSet<String>| {
            all.iter().filter(|asset| names.contains(&asset.name)).cloned().collect()
        };
        Self {
            certificates: pick(&self.certificates, &names.certificates),
            scripts: pick(&self.scripts, &names.scripts),
        }
    }
}

impl AssetNames {
    /// All of one kind.
    #[must_use]
    pub fn of_kind(&self, kind: AssetKind) -> &BTreeSet<String> {
        match kind {
            AssetKind::Certificate => &self.certificates,
            AssetKind::Script => &self.scripts,
        }
    }
}

impl fmt::Debug for Asset {
    /// Without the content, which may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asset").field("name", &self.name).field("len", &self.bytes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_set_found_and_removed_by_name() {
        let mut assets = Assets::default();
        assets.set(AssetKind::Certificate, "a", Some(b"1".to_vec()));
        assets.set(AssetKind::Certificate, "b", Some(b"2".to_vec()));
        assets.set(AssetKind::Script, "a", Some(b"3".to_vec()));
        assets.set(AssetKind::Certificate, "a", Some(b"4".to_vec()));
        assert_eq!(assets.certificate("a").map(|asset| &*asset.bytes), Some(&b"4"[..]));
        assert_eq!(assets.script("a").map(|asset| &*asset.bytes), Some(&b"3"[..]));
        let names = AssetNames { certificates: ["b".to_owned()].into(), ..AssetNames::default() };
        let named = assets.named(&names);
        assert_eq!((named.certificates.len(), named.scripts.len()), (1, 0));
        assert_eq!((assets.size(), named.size()), (6, 2));
        assets.set(AssetKind::Certificate, "a", None);
        assets.set(AssetKind::Certificate, "a", None);
        assert_eq!(assets.certificates.len(), 1);
    }

    #[test]
    fn a_private_key_is_never_printed() {
        let asset = Asset { name: "n".to_owned(), bytes: b"secret".to_vec() };
        assert_eq!(format!("{asset:?}"), "Asset { name: \"n\", len: 6 }");
    }
}
