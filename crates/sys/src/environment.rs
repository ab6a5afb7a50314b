//! The variables of this process.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::process;

/// Puts variables, `NAME=value` each, in the place of all that there are.
///
/// # Errors
/// When other threads could be reading them.
pub fn replace(variables: &[CString]) -> io::Result<()> {
    if !process::is_single_threaded() {
        return Err(io::Error::other("the environment of a process with several threads cannot be replaced"));
    }
    let before: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    for name in before {
        // SAFETY: this is the only thread, so nothing reads the environment meanwhile.
        unsafe { std::env::remove_var(name) };
    }
    for variable in variables {
        let Some((name, value)) = split(variable.as_bytes()) else { continue };
        // SAFETY: as above. The name is not empty and has no `=`, and no C string has a NUL within.
        unsafe { std::env::set_var(name, value) };
    }
    Ok(())
}

/// Name and value; nothing for what is not a variable.
fn split(variable: &[u8]) -> Option<(&OsStr, &OsStr)> {
    let end = variable.iter().position(|b| *b == b'=').filter(|end| *end > 0)?;
    Some((OsStr::from_bytes(&variable[..end]), OsStr::from_bytes(&variable[end + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variable: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        assert_eq!(split(variable.as_bytes()), expected);
    }

    #[test]
    fn a_variable_has_a_name() {
        check("A=b", Some(("A", "b")));
        check("A=", Some(("A", "")));
        check("A=b=c", Some(("A", "b=c")));
        check("=b", None);
        check("A", None);
        check("", None);
    }

    #[test]
    fn threads_could_be_reading_it() {
        assert!(replace(&[]).is_err(), "the harness has threads");
        assert!(std::env::var_os("PATH").is_some());
    }
}
