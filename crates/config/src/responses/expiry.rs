//! A value of `expires`: a time with words of Cache-Control behind it.

use std::fmt::Write as _;

/// Why a text is not a value of `expires`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpiryError {
    /// A text without a word.
    #[error("The \"expires\" value must not be empty.")]
    Empty,
    /// A word that is neither a time nor one of Cache-Control.
    #[error("\"{0}\" in the \"expires\" value is neither a time nor a word of Cache-Control.")]
    Unknown(String),
    /// A time that caches do not have to understand.
    #[error("The time in the \"expires\" value must not exceed {MAX_SECONDS} seconds.")]
    TooLong,
}

/// Greater numbers may be taken for this one (RFC 9111 section 1.2.2).
const MAX_SECONDS: u64 = 2_147_483_647;

/// The value of Cache-Control that a text means; `None` where it says that nothing is sent.
///
/// # Errors
///
/// When a word of it is not known, or the time is too long.
pub fn cache_control(text: &str) -> Result<Option<String>, ExpiryError> {
    let words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let (mut seconds, mut directives) = (None, Vec::new());
    for word in words.clone() {
        match (word, time(word)) {
            ("off", _) if words.clone().count() == 1 => return Ok(None),
            ("epoch", _) => directives.push("no-cache".to_owned()),
            (_, Some(time)) => {
                let sum = seconds.unwrap_or(0_u64).saturating_add(time);
                seconds = Some(sum);
            }
            _ if is_directive(word) => directives.push(word.to_ascii_lowercase()),
            _ => return Err(ExpiryError::Unknown(word.to_owned())),
        }
    }
    let mut value = String::new();
    if let Some(seconds) = seconds {
        if seconds > MAX_SECONDS {
            return Err(ExpiryError::TooLong);
        }
        write!(value, "max-age={seconds}").expect("a string takes everything");
    }
    for directive in directives {
        let separator = if value.is_empty() { "" } else { ", " };
        value.extend([separator, &directive]);
    }
    if value.is_empty() { Err(ExpiryError::Empty) } else { Ok(Some(value)) }
}

/// The seconds of a time such as `30d` or `1h30m`; a number without a unit is in seconds.
fn time(word: &str) -> Option<u64> {
    if word == "max" {
        return Some(10 * YEAR);
    }
    let (mut rest, mut sum) = (word, 0_u64);
    while !rest.is_empty() {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = rest.split_at(n_digits);
        // A number that does not fit is too long in any unit.
        let number = if digits.is_empty() { return None } else { digits.parse().unwrap_or(u64::MAX) };
        let mut units = behind.chars();
        let unit = match units.next() {
            None if rest.len() == word.len() => 1,
            Some(letter) => UNITS.iter().find(|(known, _)| *known == letter)?.1,
            None => return None,
        };
        sum = sum.saturating_add(u64::saturating_mul(number, unit));
        rest = units.as_str();
    }
    Some(sum)
}

const DAY: u64 = 86_400;
const YEAR: u64 = 365 * DAY;

/// The letters of nginx.
const UNITS: [(char, u64); 7] =
    [('s', 1), ('m', 60), ('h', 3600), ('d', DAY), ('w', 7 * DAY), ('M', 30 * DAY), ('y', YEAR)];

/// Whether it is a word of Cache-Control for responses (RFC 9111, RFC 5861, RFC 8246).
fn is_directive(word: &str) -> bool {
    let is_named = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match word.split_once('=') {
        None => is_named(&FLAGS, word),
        Some((name, value)) => {
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            is_named(&TIMES, name) && is_number && value.len() <= 10
        }
    }
}

const FLAGS: [&str; 9] = [
    "public",
    "private",
    "immutable",
    "no-cache",
    "no-store",
    "no-transform",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
];

const TIMES: [&str; 4] = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(cache_control(text).unwrap().as_deref(), Some(expect), "{text}");
    }

    #[track_caller]
    fn check_refused(text: &str, word: &str) {
        assert_eq!(cache_control(text), Err(ExpiryError::Unknown(word.to_owned())), "{text}");
    }

    #[test]
    fn times_have_the_units_of_nginx() {
        check("30", "max-age=30");
        check("0", "max-age=0");
        check("45s", "max-age=45");
        check("5m", "max-age=300");
        check("2h", "max-age=7200");
        check("30d", "max-age=2592000");
        check("1w", "max-age=604800");
        check("1M", "max-age=2592000");
        check("1y", "max-age=31536000");
        check("1h30m", "max-age=5400");
        check(" 1d  12h ", "max-age=129600");
        check("max", "max-age=315360000");
    }

    #[test]
    fn words_of_cache_control_stand_beside_a_time_or_alone() {
        check("1y immutable", "max-age=31536000, immutable");
        check("public, 1h, Must-Revalidate", "max-age=3600, public, must-revalidate");
        check("no-cache", "no-cache");
        check("epoch", "no-cache");
        check("private no-store", "private, no-store");
        check("5m stale-while-revalidate=60", "max-age=300, stale-while-revalidate=60");
        assert_eq!(cache_control("off"), Ok(None));
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(cache_control(""), Err(ExpiryError::Empty));
        assert_eq!(cache_control(" , "), Err(ExpiryError::Empty));
        check_refused("30 days", "days");
        check_refused("access plus 1 month", "access");
        check_refused("-1", "-1");
        check_refused("30D", "30D");
        check_refused("1h30", "1h30");
        check_refused("h", "h");
        check_refused("1.5h", "1.5h");
        check_refused("off 1d", "off");
        check_refused("public=1", "public=1");
        check_refused("s-maxage=", "s-maxage=");
        check_refused("immutable\r\nX:", "immutable\r\nX:");
        for long in ["69y", "2147483648", "99999999999999999999999y", "68y 1y"] {
            assert_eq!(cache_control(long), Err(ExpiryError::TooLong), "{long}");
        }
        check("2147483647", "max-age=2147483647");
    }
}
