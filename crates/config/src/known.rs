//! The things outside of a document that it may refer to.

use std::path::PathBuf;

/// The world outside the document, as far as it is known. Whatever was not named with a builder does not exist.
#[derive(Debug, Clone)]
pub struct Known {
    pub(crate) modules: Option<Vec<KnownModule>>,
    /// Names; `None` means that any exists.
    pub(crate) certificates: Option<Vec<String>>,
    /// Names; `None` means that any exists.
    pub(crate) scripts: Option<Vec<String>>,
    /// Whether it is enough that most of the document can be used.
    pub(crate) is_lenient: bool,
    /// `None` means that all scripts are right.
    pub(crate) check_script: Option<ScriptCheck>,
    /// `None` means that folders are not looked at.
    pub(crate) is_folder: Option<FolderCheck>,
    /// The kernel can open files in restricted ways (openat2).
    pub(crate) confinement: bool,
}

/// Says what is wrong with a JavaScript template literal, if anything.
pub type ScriptCheck = fn(&str) -> Result<(), String>;

/// Whether there is a folder at a path.
pub type FolderCheck = fn(&[u8]) -> bool;

/// A host executable that can run applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModule {
    /// `php`, `python`, …
    pub language: String,
    /// As the interpreter reports it.
    pub version: String,
    /// The path of the file.
    pub path: PathBuf,
}

impl Known {
    /// These modules and no others.
    #[must_use]
    pub fn modules(modules: Vec<KnownModule>) -> Self {
        let (certificates, scripts) = (Some(Vec::new()), Some(Vec::new()));
        Self {
            modules: Some(modules),
            certificates,
            scripts,
            check_script: None,
            is_folder: None,
            confinement: true,
            is_lenient: false,
        }
    }

    /// With a look at the folders that it names.
    #[must_use]
    pub fn with_folders(self, is_folder: FolderCheck) -> Self {
        Self { is_folder: Some(is_folder), ..self }
    }

    /// With these certificate bundles.
    #[must_use]
    pub fn with_certificates(mut self, names: Vec<String>) -> Self {
        self.certificates = Some(names);
        self
    }

    /// With these JavaScript modules, and the check that expressions have to pass.
    #[must_use]
    pub fn with_scripts(mut self, names: Vec<String>, check: ScriptCheck) -> Self {
        self.scripts = Some(names);
        self.check_script = Some(check);
        self
    }

    /// Whether the kernel can keep a path inside a folder, off links and off other mounts (openat2).
    #[must_use]
    pub fn with_confinement(self, confinement: bool) -> Self {
        Self { confinement, ..self }
    }

    /// With any certificate bundle, for a document whose bundles are elsewhere.
    #[must_use]
    pub fn with_any_certificates(mut self) -> Self {
        self.certificates = None;
        self
    }

    /// With any JavaScript module, for a document whose modules are elsewhere.
    #[must_use]
    pub fn with_any_scripts(mut self) -> Self {
        self.scripts = None;
        self
    }

    /// Accepts what a daemon can do without when it starts: applications that have problems, whose
    /// specification then says why they cannot be started, and listeners whose certificate bundle is missing.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// For a document that was validated elsewhere: any application has its module, whose path is
    /// empty in the specifications that come out; any certificate bundle and script exists.
    #[must_use]
    pub fn validated_elsewhere() -> Self {
        Self {
            modules: None,
            certificates: None,
            scripts: None,
            check_script: None,
            is_folder: None,
            confinement: true,
            is_lenient: false,
        }
    }
}
