//! The `options` of a PHP application as php.ini text.
//!
//! Many settings count only while PHP starts (opcache's memory, preloading, extensions), so all of
//! them are given to it in the syntax of php.ini; afterwards each is checked and protected.

use std::ffi::CString;

use corral_config::plan::PhpSpec;

/// Directives of php.ini that load something and leave no setting behind.
const LOADERS: [&str; 2] = ["extension", "zend_extension"];

/// The text that PHP reads after its files; what is `forced` comes last and counts.
pub(crate) fn ini_entries(spec: &PhpSpec, forced: &str) -> CString {
    let mut text = String::new();
    for (name, value) in spec.admin.iter().chain(&spec.user) {
        if let Some(quoted) = quote(value).filter(|_| is_plain(name)) {
            text.push_str(&format!("{name}={quoted}\n"));
        }
    }
    text.push_str(forced);
    CString::new(text).expect("quote() and is_plain() let no NUL through")
}

/// Whether PHP keeps a value for it that can be checked.
pub(crate) fn is_kept(name: &str) -> bool {
    !LOADERS.contains(&name)
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// A value that the scanner of php.ini gives back byte by byte. There is no notation for some:
/// single quotes cannot be escaped between single quotes, and `${` stands for a variable between
/// double ones. These can only be set after the start.
fn quote(value: &str) -> Option<String> {
    if value.contains('\0') {
        return None;
    }
    if !value.contains('\'') {
        return Some(format!("'{value}'"));
    }
    let needs_escape = |c| matches!(c, '"' | '\\' | '$');
    (!value.contains(needs_escape)).then(|| format!("\"{value}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expected: &str) {
        let spec = PhpSpec { admin: vec![(name.into(), value.into())], ..PhpSpec::default() };
        assert_eq!(ini_entries(&spec, "").to_str().unwrap(), expected);
    }

    #[test]
    fn values_are_quoted_so_that_nothing_in_them_is_syntax() {
        check("memory_limit", "64M", "memory_limit='64M'\n");
        check("a.b", "x;y \"z\" ${HOME} [s]\n\\", "a.b='x;y \"z\" ${HOME} [s]\n\\'\n");
        check("a", "it's", "a=\"it's\"\n");
        check("a", "", "a=''\n");
    }

    #[test]
    fn what_cannot_be_written_is_left_to_the_check_after_the_start() {
        check("a", "it's ${HOME}", "");
        check("a", "it's \"so\"", "");
        check("a", "it's \\", "");
        check("a", "\0", "");
        check("[section]\na", "b", "");
        check("a=b\nc", "d", "");
        check("", "d", "");
    }

    #[test]
    fn user_settings_come_last() {
        let pair = |value: &str| vec![("a".to_owned(), value.to_owned())];
        let spec = PhpSpec { admin: pair("1"), user: pair("2"), ..PhpSpec::default() };
        assert_eq!(ini_entries(&spec, "").to_str().unwrap(), "a='1'\na='2'\n");
    }
}
