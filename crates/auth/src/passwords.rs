//! Files of users and hashes of passwords, as `htpasswd` writes them.

use std::collections::HashMap;
use std::fmt;

use crate::hash::Hash;
pub use crate::hash::HashFault;

/// The users of one file.
pub struct Passwords {
    users: HashMap<Box<[u8]>, Hash>,
    /// Checked for names without a user, so that the time does not tell which users exist.
    decoy: Hash,
}

/// The first fault of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    /// Counted from one.
    pub line: usize,
    /// The user of the line, as far as it has one.
    pub user: String,
    /// The fault of the line.
    pub cause: Cause,
}

/// The fault of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// No colon.
    #[error("is not of the form USER:HASH")]
    Form,
    /// Nothing before the colon, or control characters.
    #[error("has a user name that is empty or has control characters")]
    User,
    /// The user is there already.
    #[error("names the user a second time")]
    Twice,
    /// The hash.
    #[error(transparent)]
    Hash(#[from] HashFault),
    /// More than a password file should have.
    #[error("is behind the most users that a file may have")]
    TooMany,
}

impl Passwords {
    /// Reads a file. Empty lines and those with `#` in front are passed over.
    ///
    /// # Errors
    ///
    /// With the first line that is wrong. No part of a password or a hash is in the error.
    pub fn parse(text: &[u8]) -> Result<Self, LineFault> {
        let mut users = HashMap::new();
        let mut decoy = None;
        for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let text = text.trim_ascii_end();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let (user, hash) = entry(text).map_err(|cause| fault(line, text, cause))?;
            decoy.get_or_insert_with(|| hash.clone());
            if users.len() >= MOST_USERS {
                return Err(fault(line, text, Cause::TooMany));
            }
            if users.insert(user.into(), hash).is_some() {
                return Err(fault(line, text, Cause::Twice));
            }
        }
        let decoy = decoy.unwrap_or_else(|| Hash::Bcrypt(DECOY.to_owned()));
        Ok(Self { users, decoy })
    }

    /// Whether it is the user's password. Takes a long time, and the same for unknown users.
    #[must_use]
    pub fn check(&self, user: &[u8], password: &[u8]) -> bool {
        match self.users.get(user) {
            Some(hash) => hash.verify(password),
            None => {
                self.decoy.verify(password);
                false
            }
        }
    }
}

/// The user and the hash of a line. What follows a second colon is a remark, as for nginx.
fn entry(text: &[u8]) -> Result<(&[u8], Hash), Cause> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let (user, hash) = parts.next().zip(parts.next()).ok_or(Cause::Form)?;
    if user.is_empty() || user.iter().any(u8::is_ascii_control) {
        return Err(Cause::User);
    }
    // A plain password in whatever encoding is refused as one.
    let hash = Hash::parse(std::str::from_utf8(hash).unwrap_or_default())?;
    Ok((user, hash))
}

fn fault(line: usize, text: &[u8], cause: Cause) -> LineFault {
    let user = text.split(|&byte| byte == b':').next().filter(|_| text.contains(&b':')).unwrap_or_default();
    LineFault { line, user: user.escape_ascii().to_string(), cause }
}

impl LineFault {
    /// How it would be right, for a file of this name.
    #[must_use]
    pub fn advice(&self, file: &str) -> String {
        let user = if self.user.is_empty() { "USER" } else { &self.user };
        match self.cause {
            Cause::Hash(_) | Cause::Form => format!("Make a new line by: htpasswd -B {file} {user}"),
            Cause::Twice => "Remove one of the lines.".to_owned(),
            Cause::User | Cause::TooMany => String::new(),
        }
    }
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user.as_str() {
            "" => write!(f, "line {} {}", self.line, self.cause),
            user => write!(f, "line {} (user \"{user}\") {}", self.line, self.cause),
        }
    }
}

impl std::error::Error for LineFault {}

impl fmt::Debug for Passwords {
    /// Without the hashes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

/// For files without users: any hash of `htpasswd -B`'s usual cost.
const DECOY: &str = "$2y$05$0st/myh0HhGAdwbIPsR9xe3ttiN3BlI330k//huYHJ2QiF1yC9AbO";

/// Beyond this a database is the place for users.
const MOST_USERS: usize = 100_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HASH: &str = "$2y$05$0st/myh0HhGAdwbIPsR9xe3ttiN3BlI330k//huYHJ2QiF1yC9AbO";

    #[track_caller]
    fn check_fault(text: &str, expect: &str) {
        let fault = Passwords::parse(text.as_bytes()).expect_err(text).to_string();
        assert_eq!(fault, expect, "{text}");
    }

    #[test]
    fn users_are_known_by_their_passwords() {
        let text = format!("# users\n\nalice:{HASH}\r\nbob:{HASH}:a remark\n");
        let passwords = Passwords::parse(text.as_bytes()).unwrap();
        assert!(passwords.check(b"alice", b"U*U*U") && passwords.check(b"bob", b"U*U*U"));
        for (user, password) in [("alice", "u"), ("", "U*U*U"), ("carol", "U*U*U"), ("alice:", "U*U*U")] {
            assert!(!passwords.check(user.as_bytes(), password.as_bytes()), "{user}");
        }
        assert!(!Passwords::parse(b"").unwrap().check(b"", b"U*U*U"), "an empty file lets nobody in");
    }

    #[test]
    fn lines_that_are_wrong_are_named() {
        check_fault("alice", "line 1 is not of the form USER:HASH");
        check_fault("#\n:x", "line 2 has a user name that is empty or has control characters");
        check_fault(&format!("a:{HASH}\na:{HASH}"), "line 2 (user \"a\") names the user a second time");
        check_fault("bob:secret", "line 1 (user \"bob\") has a plain password, which is not accepted");
        check_fault("bob:$apr1$a$b", "line 1 (user \"bob\") has an MD5 hash ($apr1$), which is not accepted");
        let fault = Passwords::parse(b"bob:secret").unwrap_err();
        assert_eq!(fault.advice("/etc/x"), "Make a new line by: htpasswd -B /etc/x bob");
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "[a-c:$0-9{}# \n]{0,80}", bytes in any::<Vec<u8>>()) {
            crate::fuzz::fuzz_passwords(text.as_bytes());
            crate::fuzz::fuzz_passwords(&bytes);
        }
    }
}
