//! Expressions of Apache, which search the name of one file, as expressions that search a path for such a name.

use std::iter::Peekable;
use std::str::Chars;

use corral_config::pattern::{Flavor, PatternSet};

/// The same expression for one segment of a path: its anchors hold at the segment's ends, and nothing of it matches a
/// slash. `None` where that cannot be said, or where the text is not an expression.
pub(super) fn of_segments(expression: &str) -> Option<String> {
    let mut found = String::new();
    let mut rest = expression.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '^' => found.push_str(BEGIN),
            '$' => found.push_str(END),
            '.' => found.push_str(&one(".")),
            '[' => found.push_str(&one(&class(&mut rest)?)),
            '\\' => found.push_str(&escape(rest.next()?)?),
            '(' => found.push_str(&group(&mut rest)?),
            other => found.push_str(&literal(other)),
        }
    }
    let found = format!("(?:{found})");
    PatternSet::default().add(format!("~{found}").as_bytes(), Flavor::PercentEncoded).ok()?;
    Some(found)
}

/// Where a segment begins, and where it ends.
const BEGIN: &str = "(?<![^/])";
const END: &str = "(?![^/])";

/// One character, which is not a slash.
fn one(text: &str) -> String {
    format!("(?:(?!/){text})")
}

/// No name has a slash; a percent sign would begin an escape of the configuration's.
fn literal(character: char) -> String {
    match character {
        '/' => "(?:(?!))".to_owned(),
        '%' => PERCENT.to_owned(),
        other => other.to_string(),
    }
}

const PERCENT: &str = "\\x25";

fn escape(character: char) -> Option<String> {
    match character {
        'A' => Some(BEGIN.to_owned()),
        'z' | 'Z' => Some(END.to_owned()),
        'D' | 'W' | 'S' | 'H' | 'V' | 'N' => Some(one(&format!("\\{character}"))),
        '/' | '%' => Some(literal(character)),
        'b' | 'B' | 'd' | 'w' | 's' | 'h' | 'v' | 'n' | 't' | 'r' | 'f' | 'a' | 'e' | 'x' => {
            Some(format!("\\{character}"))
        }
        other => (!other.is_ascii_alphabetic()).then(|| format!("\\{other}")),
    }
}

/// The content of brackets, of which the first one is read.
fn class(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut found = "[".to_owned();
    found.extend(rest.next_if_eq(&'^'));
    found.extend(rest.next_if_eq(&']'));
    loop {
        match rest.next()? {
            ']' => break,
            '%' => found.push_str(PERCENT),
            '\\' => match rest.next()? {
                'Q' | 'E' => return None,
                '%' => found.push_str(PERCENT),
                other => found.extend(['\\', other]),
            },
            '[' if rest.peek() == Some(&':') => {
                found.push('[');
                while !found.ends_with(":]") {
                    found.push(rest.next()?);
                }
            }
            other => found.push(other),
        }
    }
    found.push(']');
    Some(found)
}

/// The beginning of a group: up to what is searched for in it.
fn group(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    if rest.peek() == Some(&'*') {
        return None;
    }
    if rest.next_if_eq(&'?').is_none() {
        return Some("(".to_owned());
    }
    let mut kind = String::new();
    let end = loop {
        match rest.next()? {
            end @ (':' | '=' | '!' | '>' | '|' | ')') => break end,
            other => kind.push(other),
        }
    };
    is_known(&kind, end).then(|| format!("(?{kind}{end}"))
}

/// Groups, assertions, names and flags; no comments, calls and conditions, and not the flag for free spacing.
fn is_known(kind: &str, end: char) -> bool {
    let name = kind.strip_prefix("P<").or_else(|| kind.strip_prefix('<'));
    match (kind, end) {
        ("", ')') => false,
        ("", _) | ("<", '=' | '!') => true,
        (_, '>') => name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')),
        (flags, ':' | ')') => flags.chars().all(|flag| matches!(flag, 'i' | 'm' | 's' | '-')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, found: &[&str], others: &[&str]) {
        let expression = of_segments(expression).unwrap();
        let mut patterns = PatternSet::default();
        patterns.add(format!("~{expression}").as_bytes(), Flavor::PercentEncoded).unwrap();
        for path in found {
            assert!(patterns.matches(path.as_bytes()).unwrap(), "{path} by {expression}");
        }
        for path in others {
            assert!(!patterns.matches(path.as_bytes()).unwrap(), "{path} by {expression}");
        }
    }

    #[test]
    fn names_are_found_in_paths() {
        check("\\.(log|ini)$", &["/a.log", "/b/a.ini", "/a.log/x"], &["/a.logs", "/log", "/a.ini.txt"]);
        check("^secret", &["/secret", "/a/secrets.txt"], &["/a-secret", "/topsecret/a"]);
        check("(?i)^read.me$", &["/READ.ME", "/a/readXme"], &["/read/me", "/readme.txt"]);
        check("^[^.]+$", &["/a", "/x.y/a"], &["/a.b", "/.a/b.c"]);
        check("^a\\W*b$", &["/ab", "/a--b"], &["/a/b"]);
        check("^\\.(?!well-known)|^\\d+%$", &["/.git", "/a/.x", "/50%"], &["/.well-known/a.b", "/50"]);
        check("\\Aa\\z", &["/a", "/b/a"], &["/aa"]);
        check("a/b", &[], &["/a/b"]);
        check("[[:digit:]\\]%]$", &["/1", "/a]", "/%"], &["/a"]);
        check("(?<kind>x|y)\\.\\1$", &["/x.x"], &["/x.y"]);
    }

    /// The one that Drupal brings.
    #[test]
    fn drupal_s_own_is_understood() {
        let names = "\\.(engine|inc|install|make|module|profile|po|sh|.*sql|theme|twig|tpl(\\.php)?|xtmpl|yml)(~|\\.sw[op]|\\.bak|\\.orig|\\.save)?$|^(\\.(?!well-known).*|Entries.*|Repository|Root|Tag|Template|composer\\.(json|lock)|web\\.config|yarn\\.lock|package\\.json)$|^#.*#$|\\.php(~|\\.sw[op]|\\.bak|\\.orig|\\.save)$";
        check(
            names,
            &["/a.module", "/core/a.yml.bak", "/composer.json", "/x/#a#", "/index.php~", "/dump.old.sql"],
            &["/index.php", "/core/misc/drupal.js", "/.well-known/x", "/yml", "/my-composer.json"],
        );
    }

    #[test]
    fn what_is_not_understood_is_nothing() {
        for expression in [
            "(",
            "[a",
            "a\\",
            "(?x) a b",
            "\\Qa.b\\E",
            "(*ACCEPT)a",
            "(?R)a",
            "a\\Kb",
            "\\p{L}",
            "(?#x)a",
            "*",
        ] {
            assert_eq!(of_segments(expression), None, "{expression}");
        }
    }
}
