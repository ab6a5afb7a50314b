//! `substitute`: texts of a body are replaced on its way. As much is held back as may be the beginning of one.

use aho_corasick::AhoCorasick;

/// Replaces texts in one body.
pub(crate) struct Substituter {
    finder: AhoCorasick,
    /// The texts that are looked for, in the order of the finder, and what takes the place of each.
    from: Vec<Vec<u8>>,
    to: Vec<Vec<u8>>,
    /// Bytes that were not looked through, or may be the beginning of a text.
    held: Vec<u8>,
    /// How many of them are done with.
    at: usize,
    /// Where the first one is that may be the beginning of a text.
    kept: usize,
    is_last: bool,
}

/// About so many bytes are made at a time.
const STEP: usize = 16 * 1024;

impl Substituter {
    pub(crate) fn new(finder: AhoCorasick, from: Vec<Vec<u8>>, to: Vec<Vec<u8>>) -> Self {
        Self { finder, from, to, held: Vec::new(), at: 0, kept: 0, is_last: false }
    }

    /// Takes a piece of the body, when nothing of the ones before can be made any more.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.held.drain(..std::mem::take(&mut self.at));
        self.held.extend_from_slice(piece);
        self.kept = self.beginning();
    }

    /// No more pieces come: nothing is the beginning of a text then.
    pub(crate) fn end(&mut self) {
        self.is_last = true;
        self.kept = self.held.len();
    }

    /// Makes some bytes of what was fed; false when there are no more by now.
    pub(crate) fn make(&mut self, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        while out.len() - start < STEP {
            if self.at > self.kept {
                self.kept = self.beginning();
            }
            let rest = self.held.get(self.at..).unwrap_or_default();
            let kept = self.kept - self.at;
            match self.finder.find(rest).filter(|found| found.start() < kept) {
                Some(found) => {
                    out.extend_from_slice(rest.get(..found.start()).unwrap_or_default());
                    out.extend_from_slice(self.to.get(found.pattern().as_usize()).map_or(&b""[..], |to| to));
                    self.at += found.end();
                }
                None => {
                    out.extend_from_slice(rest.get(..kept).unwrap_or_default());
                    self.at = self.kept;
                    return false;
                }
            }
        }
        true
    }

    /// Where the first beginning of a text is at the end of what is held; the end if there is none.
    fn beginning(&self) -> usize {
        let longest = self.from.iter().map(Vec::len).max().unwrap_or_default();
        let len = self.held.len();
        let first = len.saturating_sub(longest.saturating_sub(1)).max(self.at);
        let is_beginning = |at: &usize| {
            let end = self.held.get(*at..).unwrap_or_default();
            self.from.iter().any(|text| text.len() > end.len() && text.starts_with(end))
        };
        if self.is_last { len } else { (first..len).find(is_beginning).unwrap_or(len) }
    }
}

#[cfg(test)]
mod tests {
    use aho_corasick::MatchKind;

    use super::*;

    fn substituter(rules: &[(&str, &str)]) -> Substituter {
        let from: Vec<_> = rules.iter().map(|(from, _)| from.as_bytes().to_vec()).collect();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&from).unwrap();
        Substituter::new(finder, from, rules.iter().map(|(_, to)| to.as_bytes().to_vec()).collect())
    }

    fn replaced(rules: &[(&str, &str)], body: &[u8], size: usize) -> Vec<u8> {
        let (mut substituter, mut out) = (substituter(rules), Vec::new());
        for piece in body.chunks(size) {
            substituter.feed(piece);
            while substituter.make(&mut out) {}
        }
        substituter.end();
        while substituter.make(&mut out) {}
        out
    }

    #[track_caller]
    fn check(rules: &[(&str, &str)], body: &str, expect: &str) {
        for size in 1..=body.len().max(1) {
            let out = replaced(rules, body.as_bytes(), size);
            assert_eq!(String::from_utf8_lossy(&out), expect, "{body} in pieces of {size}");
        }
    }

    #[test]
    fn texts_are_replaced_wherever_a_piece_ends() {
        let rules = [("http://old", "https://new.example"), ("foo", "")];
        check(&rules, "<a href=http://old/x>foo</a>", "<a href=https://new.example/x></a>");
        check(&rules, "http://olhttp://oldfofoo", "http://olhttps://new.examplefo");
        check(&rules, "", "");
        check(&rules, "http://ol", "http://ol");
        check(&[("aa", "b")], "aaaaa", "bba");
        check(&[("abab", "x"), ("b", "y")], "ababaab", "xaay");
        check(&[("x", "xx")], "axxb", "axxxxb");
    }

    #[test]
    fn the_first_rule_that_matches_at_a_place_counts() {
        check(&[("abc", "1"), ("ab", "2")], "abcab", "12");
        check(&[("ab", "2"), ("abc", "1")], "abcab", "2c2");
        check(&[("bcd", "1"), ("abc", "2")], "abcd", "2d");
    }

    /// Bytes that cannot begin a text are sent at once.
    #[test]
    fn little_is_held_back() {
        let mut substituter = substituter(&[("</body>", "!")]);
        let mut out = Vec::new();
        substituter.feed(b"<p>hello</p>");
        while substituter.make(&mut out) {}
        assert_eq!(out, b"<p>hello</p>");
        substituter.feed(b"bye </bo");
        while substituter.make(&mut out) {}
        assert_eq!(out, b"<p>hello</p>bye ");
    }

    /// A byte that becomes a page.
    #[test]
    fn no_more_is_made_at_a_time_than_some_pages() {
        let mut substituter = substituter(&[("x", &"y".repeat(8192))]);
        substituter.feed("x".repeat(1000).as_bytes());
        substituter.end();
        let mut n_bytes = 0;
        loop {
            let mut out = Vec::new();
            let has_more = substituter.make(&mut out);
            assert!(out.len() <= STEP + 8192, "{}", out.len());
            n_bytes += out.len();
            if !has_more {
                break;
            }
        }
        assert_eq!(n_bytes, 1000 * 8192);
    }
}
