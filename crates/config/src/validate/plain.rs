//! The manual's Markdown as plain text: links lose their targets, code stays marked.

/// The text without the targets of its links.
pub(super) fn text(markdown: &str) -> String {
    let mut plain = String::new();
    let mut rest = markdown;
    while let Some((before, label, behind)) = next_link(rest) {
        plain.push_str(before);
        plain.push_str(label);
        rest = behind;
    }
    plain + rest
}

/// The text before the next link, the link's own, and the text behind it.
fn next_link(markdown: &str) -> Option<(&str, &str, &str)> {
    let (head, behind) = markdown.split_once("](")?;
    let (before, label) = head.rsplit_once('[')?;
    let (_target, behind) = behind.split_once(')')?;
    Some((before, label, behind))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[track_caller]
    fn check(markdown: &str, expect: &str) {
        assert_eq!(text(markdown), expect);
    }

    #[test]
    fn links_lose_their_targets() {
        check("see [here](a.md#b), and [`there`](../c.md)", "see here, and `there`");
        check("[all](a.md)", "all");
    }

    #[test]
    fn other_brackets_stay() {
        check("`[{}]`, or [a list](b.md)", "`[{}]`, or a list");
        check("an array [1] (of one)", "an array [1] (of one)");
        check("an open [link](", "an open [link](");
        check("", "");
    }
}
