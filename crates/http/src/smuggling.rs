//! The table of request-smuggling cases (`tests/data/smuggling.txt`), for tests here and of the daemon.

/// Bytes that a client sends over one connection, and what it must get.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Unique, for messages.
    pub name: String,
    /// The rule that the case is about.
    pub about: String,
    /// Whether `settings.http.chunked_transform` has to be off for it.
    pub without_chunked: bool,
    /// Requests that are answered normally before anything is refused.
    pub n_accepted: usize,
    /// The status of the last reply, after which the connection is closed; `None`: nothing is refused.
    pub refused: Option<u16>,
    /// Bytes that are sent.
    pub bytes: Vec<u8>,
}

/// All cases of the table. Panics when the table is malformed.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "case" {
            cases.push(Case { name: rest.into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case begins with its name");
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{line:?} has no number"));
        match word {
            "about" => case.about = rest.into(),
            "chunked" => case.without_chunked = rest == "no",
            "accepted" => case.n_accepted = number(rest),
            "refused" => case.refused = Some(number(rest) as u16),
            "send" => unescape(rest, &mut case.bytes),
            "repeat" => {
                let (n, text) = rest.split_once(' ').expect("a count and a text");
                (0..number(n)).for_each(|_| unescape(text, &mut case.bytes));
            }
            _ => panic!("unknown line {line:?}"),
        }
    }
    cases
}

fn unescape(text: &str, out: &mut Vec<u8>) {
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        out.push(match bytes.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b's') => b' ',
            Some(b'\\') => b'\\',
            Some(b'x') => hex_pair(&mut bytes),
            other => panic!("unknown escape {other:?} in {text:?}"),
        });
    }
}

fn hex_pair(bytes: &mut impl Iterator<Item = u8>) -> u8 {
    let mut digit = || bytes.next().and_then(corral_syntax::hex_digit).expect("two hexadecimal digits");
    digit() << 4 | digit()
}

const TABLE: &str = include_str!("../tests/data/smuggling.txt");

#[cfg(test)]
mod tests;
