//! Right answers: their status, the size of their body, a text in it.

use std::fmt;
use std::str::FromStr;

use memchr::memmem::Finder;

use crate::failure::Failure;

/// The answer that each request has to get.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: StatusSet,
    pub(crate) body_size: Option<u64>,
    pub(crate) text: Option<Finder<'static>>,
}

impl Expectation {
    /// The first thing that is wrong with a whole answer.
    pub(crate) fn fault(&self, status: u16, body: &BodyCheck) -> Option<Failure> {
        if !self.status.contains(status) {
            Some(Failure::Status)
        } else if self.body_size.is_some_and(|size| size != body.size) {
            Some(Failure::BodySize)
        } else {
            (self.text.is_some() && !body.is_found).then_some(Failure::Body)
        }
    }
}

/// A body while it comes in.
#[derive(Debug, Default)]
pub(crate) struct BodyCheck {
    size: u64,
    is_found: bool,
    /// The end of what came, where a text may have begun; shorter than the text.
    tail: Vec<u8>,
}

impl BodyCheck {
    pub(crate) fn take(&mut self, data: &[u8], expectation: &Expectation) {
        self.size += data.len() as u64;
        let Some(finder) = expectation.text.as_ref().filter(|_| !self.is_found) else { return };
        if self.tail.is_empty() {
            self.is_found = finder.find(data).is_some();
            self.tail.extend_from_slice(last(data, finder.needle().len() - 1));
            return;
        }
        self.tail.extend_from_slice(data);
        self.is_found = finder.find(&self.tail).is_some();
        let excess = self.tail.len().saturating_sub(finder.needle().len() - 1);
        self.tail.drain(..excess);
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

fn last(data: &[u8], n_bytes: usize) -> &[u8] {
    &data[data.len().saturating_sub(n_bytes)..]
}

/// Statuses and classes of them: `200,204,3xx`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StatusSet(Vec<Mask>);

impl StatusSet {
    pub(crate) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|mask| mask.matches(status))
    }
}

impl fmt::Debug for StatusSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masks: Vec<_> = self.0.iter().map(Mask::to_string).collect();
        formatter.write_str(&masks.join(","))
    }
}

impl FromStr for StatusSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mask = |part: &str| {
            let mask = part.trim().parse().ok().filter(|mask: &Mask| mask.0.len() == 3);
            mask.ok_or_else(|| format!("expected statuses such as 200,204,3xx, found {text:?}"))
        };
        text.split(',').map(mask).collect::<Result<_, _>>().map(Self)
    }
}

/// A code in which `x` stands for any digit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask(String);

impl Mask {
    pub(crate) fn matches(&self, code: u16) -> bool {
        let digits = code.to_string();
        let is_equal = |(mask, digit): (u8, u8)| mask == b'x' || mask == digit;
        digits.len() == self.0.len() && self.0.bytes().zip(digits.bytes()).all(is_equal)
    }

    /// Whether the mask has no digit.
    pub(crate) fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'x')
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Mask {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_right =
            matches!(text.len(), 1..=3) && text.bytes().all(|byte| byte == b'x' || byte.is_ascii_digit());
        is_right.then(|| Self(text.to_owned())).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(status: &str, body_size: Option<u64>, text: Option<&str>) -> Expectation {
        let text = text.map(|text| Finder::new(text.as_bytes()).into_owned());
        Expectation { status: status.parse().expect("it is a set"), body_size, text }
    }

    #[track_caller]
    fn check(expectation: &Expectation, status: u16, pieces: &[&str], fault: Option<Failure>) {
        let mut body = BodyCheck::default();
        for piece in pieces {
            body.take(piece.as_bytes(), expectation);
        }
        assert_eq!(expectation.fault(status, &body), fault, "{status} {pieces:?}");
    }

    #[test]
    fn statuses_have_masks() {
        let set = expectation("200,3xx", None, None);
        for (status, fault) in
            [(200, None), (204, Some(Failure::Status)), (304, None), (404, Some(Failure::Status))]
        {
            check(&set, status, &[], fault);
        }
        for text in ["", "20", "2000", "2yy", "200,"] {
            assert!(text.parse::<StatusSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_exact() {
        let sized = expectation("2xx", Some(4), None);
        check(&sized, 200, &["ab", "cd"], None);
        check(&sized, 200, &["ab"], Some(Failure::BodySize));
        check(&sized, 500, &["ab"], Some(Failure::Status));
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        let text = expectation("2xx", None, Some("hello"));
        check(&text, 200, &["say hello."], None);
        check(&text, 200, &["say he", "l", "l", "o"], None);
        check(&text, 200, &["h", "hello"], None);
        check(&text, 200, &["hell", "hell", "o"], None);
        check(&text, 200, &["hel", "o"], Some(Failure::Body));
        check(&text, 200, &[], Some(Failure::Body));
        check(&expectation("2xx", None, Some("x")), 200, &["a", "x"], None);
    }

    #[test]
    fn masks_have_the_length_of_their_codes() {
        let mask: Mask = "1x4".parse().expect("it is a mask");
        assert!(mask.matches(104) && mask.matches(114) && !mask.matches(110) && !mask.matches(14));
        assert!(!mask.is_any() && "xx".parse::<Mask>().is_ok_and(|mask| mask.is_any()));
    }
}
