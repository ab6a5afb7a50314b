//! Reasons of failures, in words that may be an application's: they are cut to a length that every list of them has
//! room for.

/// Longest one in bytes, with the mark where something was left out.
pub const LONGEST: usize = 8 * 1024;

/// Bytes of the beginning of a long one. Most of the rest is its end: that is where a trace says what has happened.
const HEAD: usize = 2 * 1024;

/// Room for the mark between both.
const MARK: usize = 64;

/// Leaves out the middle of a text that is too long, and says so there.
#[must_use]
pub fn cut(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let head = text.floor_char_boundary(HEAD);
    let tail = text.ceil_char_boundary(text.len() - (LONGEST - HEAD - MARK));
    format!("{} [... {} bytes left out ...] {}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays_as_it_is() {
        for text in ["", "broken", &"x".repeat(LONGEST)] {
            assert_eq!(cut(text.to_owned()), text);
        }
    }

    #[test]
    fn the_middle_of_what_is_long_is_left_out() {
        for text in ["x".repeat(LONGEST + 1), "ä".repeat(20 << 20), "\u{1f600}".repeat(LONGEST)] {
            let begin_and_end = format!("begin{text}end");
            let cut = cut(begin_and_end);
            assert!(cut.len() <= LONGEST, "{}", cut.len());
            assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.contains(" bytes left out ...]"));
        }
    }
}
