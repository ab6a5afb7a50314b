//! Numbers that keep their spelling: `1e1` stays `1e1` on output.

use std::fmt;

/// Longest spelling that the dialect accepts, in bytes.
pub(super) const MAX_SPELLING: usize = 14;

/// A number as it was written, inside the dialect's range.
#[derive(Clone, PartialEq, Eq)]
pub struct Number(Box<str>);

/// Why a spelling is not a number of the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Neither a digit nor a minus sign and a digit.
    #[error("a digit is expected here")]
    NoDigits,
    /// `01`.
    #[error("a number must not have leading zeros")]
    LeadingZeros,
    /// `1.`.
    #[error("a decimal point must be followed by a digit")]
    NoFraction,
    /// `1e`.
    #[error("an exponent must contain a digit")]
    NoExponent,
    /// More than 14 characters.
    #[error("the number is too long; up to 14 characters are allowed")]
    TooLong,
    /// An absolute value above 2^63.
    #[error("the number is out of range")]
    OutOfRange,
}

impl Number {
    /// Reads the number at the start of `input`, and tells how many bytes it takes.
    ///
    /// # Errors
    ///
    /// With the offset at which the spelling goes wrong.
    pub fn scan(input: &[u8]) -> Result<(Self, usize), (NumberError, usize)> {
        let sign = usize::from(input.first() == Some(&b'-'));
        let int_end = skip_digits(input, sign);
        if int_end == sign {
            return Err((NumberError::NoDigits, sign));
        }
        if input[sign] == b'0' && int_end > sign + 1 {
            return Err((NumberError::LeadingZeros, sign));
        }
        let frac_end = scan_fraction(input, int_end)?;
        let end = scan_exponent(input, frac_end)?;
        if end > MAX_SPELLING {
            return Err((NumberError::TooLong, 0));
        }
        let spelling = std::str::from_utf8(&input[..end]).expect("only ASCII was accepted");
        let number = Self(spelling.into());
        if number.as_f64().abs() > TWO_POW_63 {
            return Err((NumberError::OutOfRange, 0));
        }
        Ok((number, end))
    }

    /// The value.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().expect("the spelling was checked when the number was made")
    }

    /// Whether the value has no fraction; `10.0` and `1e1` have none.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.as_f64().fract() == 0.0
    }

    /// The value without its fraction; 2^63 becomes the greatest `i64`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "scan keeps the value inside the range")]
    pub fn as_i64(&self) -> i64 {
        self.as_f64() as i64
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn scan_fraction(input: &[u8], start: usize) -> Result<usize, (NumberError, usize)> {
    if input.get(start) != Some(&b'.') {
        return Ok(start);
    }
    let end = skip_digits(input, start + 1);
    if end == start + 1 { Err((NumberError::NoFraction, end)) } else { Ok(end) }
}

fn scan_exponent(input: &[u8], start: usize) -> Result<usize, (NumberError, usize)> {
    if !matches!(input.get(start), Some(b'e' | b'E')) {
        return Ok(start);
    }
    let digits = start + 1 + usize::from(matches!(input.get(start + 1), Some(b'+' | b'-')));
    let end = skip_digits(input, digits);
    if end == digits { Err((NumberError::NoExponent, end)) } else { Ok(end) }
}

/// The offset behind the digits that start at `start`.
fn skip_digits(input: &[u8], start: usize) -> usize {
    let n_digits =
        input.get(start..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    start + n_digits
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
