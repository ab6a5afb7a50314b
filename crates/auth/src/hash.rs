//! Hashes of passwords as `htpasswd -B`, `argon2` and `mkpasswd` write them. Each is bounded, so that no line of a file
//! can make a check take minutes or gigabytes.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordVerifier};
use sha_crypt::ShaCrypt;

/// The hash of one password.
#[derive(Clone)]
pub(crate) enum Hash {
    Bcrypt(String),
    Argon2(Box<PasswordHash>),
    /// `$5$` or `$6$`.
    ShaCrypt(String),
}

/// Why a text is not a hash that passwords are checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashFault {
    /// A kind that can be tried out too fast, or a password itself.
    #[error("has {0}, which is not accepted")]
    Weak(&'static str),
    /// An accepted kind, but not in its form.
    #[error("has a {0} hash that is cut off or has other characters in it")]
    Malformed(&'static str),
    /// Each check would take too long, or too much memory.
    #[error("has a {0} hash whose cost is above {1}")]
    Costly(&'static str, &'static str),
    /// Faster than bcrypt with its least cost.
    #[error("has a {0} hash whose cost is below {1}")]
    Cheap(&'static str, &'static str),
}

impl Hash {
    pub(crate) fn parse(text: &str) -> Result<Self, HashFault> {
        match kind(text) {
            HashKind::Bcrypt => bcrypt(text),
            HashKind::Argon2 => argon2(text),
            HashKind::ShaCrypt => sha_crypt(text),
            HashKind::Weak(name) => Err(HashFault::Weak(name)),
        }
    }

    /// Whether the password is this one. Takes as long for a wrong password as for the right one.
    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        match self {
            Self::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
            Self::Argon2(hash) => Argon2::default().verify_password(password, &**hash).is_ok(),
            Self::ShaCrypt(hash) => ShaCrypt::default().verify_password(password, hash.as_str()).is_ok(),
        }
    }
}

enum HashKind {
    Bcrypt,
    Argon2,
    ShaCrypt,
    Weak(&'static str),
}

fn kind(text: &str) -> HashKind {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    match text {
        _ if starts(&["$2y$", "$2b$", "$2a$"]) => HashKind::Bcrypt,
        _ if starts(&["$argon2"]) => HashKind::Argon2,
        _ if starts(&["$5$", "$6$"]) => HashKind::ShaCrypt,
        _ if starts(&["$apr1$", "$1$"]) => HashKind::Weak("an MD5 hash ($apr1$)"),
        _ if starts(&["{SHA}", "{SSHA}"]) => HashKind::Weak("a SHA-1 hash ({SHA})"),
        _ if starts(&["$"]) => HashKind::Weak("a hash of an unknown kind"),
        _ if is_des(text) => HashKind::Weak("a DES crypt hash or a plain password"),
        _ => HashKind::Weak("a plain password"),
    }
}

/// Thirteen characters of crypt's alphabet, which a plain password may be, too.
fn is_des(text: &str) -> bool {
    text.len() == 13 && text.bytes().all(is_crypt_byte)
}

fn is_crypt_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"./".contains(&byte)
}

fn bcrypt(text: &str) -> Result<Hash, HashFault> {
    let parts: bcrypt::HashParts = text.parse().map_err(|_| HashFault::Malformed("bcrypt"))?;
    match parts.get_cost() {
        ..4 => Err(HashFault::Malformed("bcrypt")),
        4..=MOST_BCRYPT_COST => Ok(Hash::Bcrypt(text.to_owned())),
        _ => Err(HashFault::Costly("bcrypt", "16")),
    }
}

fn argon2(text: &str) -> Result<Hash, HashFault> {
    let malformed = HashFault::Malformed("Argon2");
    let hash = PasswordHash::new(text).map_err(|_| malformed)?;
    let params = argon2::Params::try_from(&hash).map_err(|_| malformed)?;
    if hash.salt.is_none() || hash.hash.is_none() || argon2::Algorithm::new(hash.algorithm.as_str()).is_err()
    {
        return Err(malformed);
    }
    let work = u64::from(params.m_cost()) * u64::from(params.t_cost());
    if params.m_cost() > MOST_ARGON2_KIB || work > MOST_ARGON2_WORK {
        return Err(HashFault::Costly("Argon2", "256 MiB of memory, or 1 GiB over all passes"));
    }
    Ok(Hash::Argon2(Box::new(hash)))
}

fn sha_crypt(text: &str) -> Result<Hash, HashFault> {
    let malformed = HashFault::Malformed("SHA-crypt");
    let mut parts = text.split('$').skip(1);
    let digest_len = if parts.next() == Some("5") { 43 } else { 86 };
    let mut part = parts.next().ok_or(malformed)?;
    if let Some(rounds) = part.strip_prefix("rounds=") {
        match rounds.parse::<u32>() {
            Ok(1000..=MOST_ROUNDS) => {}
            Ok(..1000) => return Err(HashFault::Cheap("SHA-crypt", "1000 rounds")),
            Ok(_) => return Err(HashFault::Costly("SHA-crypt", "5000000 rounds")),
            Err(_) => return Err(malformed),
        }
        part = parts.next().ok_or(malformed)?;
    }
    let digest = parts.next().ok_or(malformed)?;
    let is_sound = part.len() <= 16
        && part.bytes().chain(digest.bytes()).all(is_crypt_byte)
        && digest.len() == digest_len
        && parts.next().is_none();
    if is_sound { Ok(Hash::ShaCrypt(text.to_owned())) } else { Err(malformed) }
}

/// About four seconds of a processor.
const MOST_BCRYPT_COST: u32 = 16;

/// Memory of one check, in KiB.
const MOST_ARGON2_KIB: u32 = 256 * 1024;

/// Memory times passes, in KiB.
const MOST_ARGON2_WORK: u64 = 1024 * 1024;

/// About four seconds of a processor.
const MOST_ROUNDS: u32 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, password: &str) {
        let hash = Hash::parse(text).unwrap();
        assert!(hash.verify(password.as_bytes()), "{text}");
        assert!(!hash.verify(b"other") && !hash.verify(b""), "{text}");
    }

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        let fault = Hash::parse(text).err().expect(text);
        assert!(fault.to_string().contains(expect), "{text}: {fault}");
    }

    /// By `htpasswd -nbB`, `openssl passwd -5` and `-6`, `mkpasswd -m sha-512 -R`, and `argon2`.
    #[test]
    fn passwords_are_checked_as_the_tools_have_hashed_them() {
        check("$2y$05$JsMnxMB4guSDsKQavQUTO.koKrTYwLohGPTuwiNni9SdOj0f1yHcu", "U*U*U");
        check("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!");
        check(
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
            "Hello world!",
        );
        check("$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA", "Hello world!");
        check(
            "$argon2id$v=19$m=256,t=1,p=1$c29tZXNhbHQ$J4yxEBqUowx2l7K50GzYfVzv4hFy4DewGGQb/QmZ88I",
            "Hello world!",
        );
    }

    #[test]
    fn what_is_no_slow_hash_is_named() {
        check_refused("$apr1$x$y", "MD5");
        check_refused("{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=", "SHA-1");
        check_refused("rqXexS6ZhobKA", "DES");
        check_refused("secret", "plain");
        check_refused("", "plain");
        check_refused("$7$x", "unknown kind");
        check_refused("$2x$05$0st/myh0HhGAdwbIPsR9xe3ttiN3BlI330k//huYHJ2QiF1yC9AbO", "unknown kind");
        check_refused("$2y$05$short", "bcrypt hash that is cut off");
        check_refused("$2y$31$0st/myh0HhGAdwbIPsR9xe3ttiN3BlI330k//huYHJ2QiF1yC9AbO", "above 16");
        check_refused("$argon2id$v=19$m=9999999,t=1,p=1$c29tZXNhbHQ$JGiy7b2MYFUFcvD1ZdkgAg", "above 256 MiB");
        check_refused("$argon2id$nonsense", "Argon2 hash that is cut off");
        check_refused("$6$salt$short", "SHA-crypt hash that is cut off");
        check_refused("$6$rounds=10$salt$x", "below 1000");
        check_refused("$6$rounds=99999999$salt$x", "above 5000000");
    }
}
