//! Text with `*` for any run of bytes, in the shape that is cheapest to test.

use memchr::memmem::Finder;

use super::Anchor;

/// A compiled wildcard pattern.
#[derive(Debug, Clone)]
pub(super) enum Wildcard {
    /// No star: the whole value.
    Exact(LiteralText),
    /// `a*b`, where `a` and `b` may be empty.
    Ends { prefix: LiteralText, suffix: LiteralText },
    /// `a*x*…*b`: the middle pieces in order between prefix and suffix.
    Pieces { prefix: LiteralText, middle: Box<[Piece]>, suffix: LiteralText },
}

/// Literal bytes; lower-case already when `fold` is set.
#[derive(Debug, Clone)]
pub(super) struct LiteralText {
    bytes: Box<[u8]>,
    fold: bool,
}

/// A literal that may stand anywhere.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Search(Box<Finder<'static>>),
    Folded(LiteralText),
}

impl Wildcard {
    /// From the literals between the stars, in order; at least one. No literal but the first and the
    /// last may be empty. With `fold`, the case of ASCII letters does not matter.
    pub(super) fn new(mut literals: Vec<Vec<u8>>, fold: bool) -> Self {
        let last = literals.pop().expect("a text has at least one piece");
        let suffix = LiteralText::new(last, fold);
        if literals.is_empty() {
            return Self::Exact(suffix);
        }
        let prefix = LiteralText::new(literals.remove(0), fold);
        if literals.is_empty() {
            return Self::Ends { prefix, suffix };
        }
        let middle = literals.into_iter().map(|literal| Piece::new(literal, fold)).collect();
        Self::Pieces { prefix, middle, suffix }
    }

    /// A text that every value has that matches.
    pub(super) fn anchor(&self) -> Option<Anchor<'_>> {
        match self {
            Self::Exact(text) => Some(Anchor::Exact(&text.bytes)),
            Self::Ends { prefix, suffix } | Self::Pieces { prefix, suffix, .. } => {
                if prefix.len() > 0 {
                    return Some(Anchor::Prefix(&prefix.bytes));
                }
                (suffix.len() > 0).then_some(Anchor::Suffix(&suffix.bytes))
            }
        }
    }

    pub(super) fn matches(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(text) => text.len() == value.len() && text.starts(value),
            Self::Ends { prefix, suffix } => between(value, prefix, suffix).is_some(),
            Self::Pieces { prefix, middle, suffix } => {
                between(value, prefix, suffix).is_some_and(|inside| in_order(inside, middle))
            }
        }
    }
}

/// The rest of `value` without its prefix and its suffix, which must not overlap.
fn between<'a>(value: &'a [u8], prefix: &LiteralText, suffix: &LiteralText) -> Option<&'a [u8]> {
    let end = value.len().checked_sub(suffix.len()).filter(|&end| end >= prefix.len())?;
    (prefix.starts(value) && suffix.starts(&value[end..])).then(|| &value[prefix.len()..end])
}

/// Whether the pieces occur one behind the other. Taking each as early as possible is enough: it
/// leaves the most for the next.
fn in_order(mut inside: &[u8], pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| match piece.end_in(inside) {
        Some(end) => {
            inside = &inside[end..];
            true
        }
        None => false,
    })
}

impl LiteralText {
    fn new(mut bytes: Vec<u8>, fold: bool) -> Self {
        if fold {
            bytes.make_ascii_lowercase();
        }
        Self { bytes: bytes.into(), fold }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether `value` starts with this text.
    fn starts(&self, value: &[u8]) -> bool {
        match value.get(..self.len()) {
            Some(head) if self.fold => head.eq_ignore_ascii_case(&self.bytes),
            Some(head) => *head == *self.bytes,
            None => false,
        }
    }
}

impl Piece {
    fn new(literal: Vec<u8>, fold: bool) -> Self {
        if fold {
            return Self::Folded(LiteralText::new(literal, fold));
        }
        Self::Search(Box::new(Finder::new(&literal).into_owned()))
    }

    /// Where the first occurrence of this piece in `value` ends.
    fn end_in(&self, value: &[u8]) -> Option<usize> {
        match self {
            Self::Search(finder) => Some(finder.find(value)? + finder.needle().len()),
            Self::Folded(text) => {
                let start = (0..value.len()).find(|&start| text.starts(&value[start..]))?;
                Some(start + text.len())
            }
        }
    }
}
