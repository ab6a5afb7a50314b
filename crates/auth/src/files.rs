//! Files that clients are checked by: read with a bound, and looked through before a configuration is put in force.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use corral_config::authentication::{Authentication, KeySource, Method};
use corral_config::map::{NetworkFile, NetworkLine, WrongLine};
use corral_config::{Config, Problem, Stage};

use crate::jwt::{KeyFault, KeyOrigin, Keys};
use crate::links::{LinkFault, LinkSecrets};
use crate::passwords::{LineFault, Passwords};

/// The reason why a file cannot be used for checks.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The file is not there, or not readable.
    #[error("open")]
    Open(#[source] io::Error),
    /// A folder, a pipe or the like.
    #[error("it is not a file")]
    Kind,
    /// More than any such file has.
    #[error("it is larger than {MOST_BYTES} bytes")]
    Size,
    /// The file could be opened, but not be read.
    #[error("read")]
    Read(#[source] io::Error),
    /// A line of a file of passwords.
    #[error(transparent)]
    Line(#[from] LineFault),
    /// The content of a file of keys.
    #[error("it {0}")]
    Key(#[from] KeyFault),
    /// A line of a file of networks.
    #[error(transparent)]
    Network(#[from] WrongLine),
    /// The content of a file of secrets.
    #[error("it {0}")]
    Secret(#[from] LinkFault),
}

impl FileFault {
    /// The fault and its cause, in one line.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::Open(cause) | Self::Read(cause) => format!("{self}: {cause}"),
            Self::Kind | Self::Size | Self::Line(_) | Self::Key(_) | Self::Network(_) | Self::Secret(_) => {
                self.to_string()
            }
        }
    }
}

/// Opens a file without waiting for anybody, as at the other end of a pipe.
///
/// # Errors
///
/// When it is not a file that can be read.
pub fn open(path: &Path) -> Result<File, FileFault> {
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path).map_err(FileFault::Open)?;
    let metadata = file.metadata().map_err(FileFault::Read)?;
    match metadata.len() {
        _ if !metadata.is_file() => Err(FileFault::Kind),
        ..=MOST_BYTES => Ok(file),
        _ => Err(FileFault::Size),
    }
}

/// The whole content.
///
/// # Errors
///
/// When it cannot be read, or there is too much of it.
pub fn content(file: &File) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(FileFault::Read)?;
    if bytes.len() as u64 > MOST_BYTES { Err(FileFault::Size) } else { Ok(bytes) }
}

/// The keys of a file; of a server none.
///
/// # Errors
///
/// When there are none in it.
pub fn keys(source: &KeySource, content: &[u8]) -> Result<Keys, FileFault> {
    Ok(match source {
        KeySource::Secret(_) => Keys::of_secret(content)?,
        KeySource::Pem(_) => Keys::of_pem(content)?,
        KeySource::Set(_) | KeySource::Url { .. } => Keys::of_set(content, KeyOrigin::File)?,
    })
}

/// Reads the files of all maps. One that cannot be read has no networks, and is a problem.
pub fn fill_maps(config: &mut Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for map in config.tables.maps.values_mut().iter_mut().filter(|map| !map.files().is_empty()) {
        let read = |file| {
            networks(file).unwrap_or_else(|problem| {
                problems.push(problem);
                Vec::new()
            })
        };
        map.fill(map.files().iter().map(read).collect());
    }
    problems
}

fn networks(file: &NetworkFile) -> Result<Vec<NetworkLine>, Problem> {
    let content = open(&file.path).and_then(|opened| content(&opened));
    let lines = content.and_then(|content| Ok(NetworkLine::parse_all(&content)?));
    lines.map_err(|fault| problem(file.pointer.clone(), &file.path, &fault))
}

/// Everything that is wrong with the files that a configuration has clients checked by, those of maps among them.
#[must_use]
pub fn check(config: &Config) -> Vec<Problem> {
    let files = config.tables.maps.iter().flat_map(|map| map.files());
    let of_maps = files.filter_map(|file| networks(file).err());
    check_authentication(config).into_iter().chain(of_maps).collect()
}

/// The same of those for `authenticate` alone.
#[must_use]
pub fn check_authentication(config: &Config) -> Vec<Problem> {
    config.tables.authentications.iter().flat_map(problems).collect()
}

fn problems(authentication: &Authentication) -> Vec<Problem> {
    let of_method = |method: &Method| {
        let (option, path) = method.file()?;
        let result = open(path).and_then(|file| content(&file)).and_then(|content| match method {
            Method::Jwt(jwt) => keys(&jwt.keys, &content).map(drop),
            Method::SignedLink(_) => LinkSecrets::parse(&content).map(drop).map_err(FileFault::from),
            _ => Passwords::parse(&content).map(drop).map_err(FileFault::from),
        });
        result.err().map(|fault| problem(format!("{}/{option}", authentication.place), path, &fault))
    };
    authentication.methods.iter().filter_map(of_method).collect()
}

fn problem(pointer: String, path: &Path, fault: &FileFault) -> Problem {
    let detail = format!("The file \"{}\" cannot be used: {}.", path.display(), fault.in_full());
    Problem { pointer, detail, advice: advice(fault, path), suggestion: None, stage: Stage::Application }
}

/// How it would be right.
fn advice(fault: &FileFault, path: &Path) -> String {
    let path = path.display().to_string();
    match fault {
        FileFault::Open(error) if error.kind() == io::ErrorKind::NotFound => {
            "Make the file, or name another one.".to_owned()
        }
        FileFault::Open(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("The daemon's own user must be able to read it: chgrp its group and chmod 640 {path}")
        }
        FileFault::Line(fault) => fault.advice(&path),
        FileFault::Network(_) => "Each line is a network, with a value behind it or without.".to_owned(),
        FileFault::Key(fault) => fault.advice().to_owned(),
        FileFault::Secret(fault) => fault.advice().to_owned(),
        _ => String::new(),
    }
}

/// Larger files are most likely something else.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// `O_NONBLOCK`, on all platforms that Corral runs on.
const NONBLOCK: i32 = 0o4000;
