//! Programs that end because they want a port which is taken: by this very server, more often than not.

use corral_sys::listening;

/// Words by which languages say that an address is taken, in lower case.
const TAKEN: [&str; 3] = ["address already in use", "eaddrinuse", "is in use"];

/// More numbers than this are not looked up.
const MOST_NUMBERS: usize = 16;

/// Advice about the last lines of a program, if they are about a taken port.
pub(super) fn advice(words: &[String]) -> Option<String> {
    about(words, listening::is_own)
}

fn about(words: &[String], is_own: impl Fn(u16) -> bool) -> Option<String> {
    let says_so = |line: &&String| {
        let line = line.to_lowercase();
        TAKEN.iter().any(|words| line.contains(words))
    };
    let lines: Vec<_> = words.iter().filter(says_so).collect();
    if lines.is_empty() {
        return None;
    }
    let mut ports = lines.iter().flat_map(|line| numbers(line)).take(MOST_NUMBERS);
    Some(match ports.find(|port| is_own(*port)) {
        Some(port) => format!(
            "Corral itself listens on port {port}: have the program listen on the port in its variable PORT, or give \
             Corral another one"
        ),
        None => "have the program listen on the port in its variable PORT, which is free".to_owned(),
    })
}

/// Numbers of ports in a line.
fn numbers(line: &str) -> impl Iterator<Item = u16> + '_ {
    line.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let found = about(&["starting".to_owned(), line.to_owned()], |port| port == 8080);
        match (found, expected) {
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => assert_eq!(found.as_deref(), expected),
        }
    }

    #[test]
    fn a_taken_port_is_recognised_in_the_words_of_languages() {
        let own = Some("Corral itself listens on port 8080");
        check("Error: listen EADDRINUSE: address already in use :::8080", own);
        check("listen tcp :8080: bind: address already in use", own);
        check("Address already in use - bind(2) for \"127.0.0.1\" port 8080 (Errno::EADDRINUSE)", own);
        check(
            "[Errno 98] error while attempting to bind on address ('127.0.0.1', 8080): address already in use",
            own,
        );
        check("Port 8080 is in use by another program.", own);
        check("OSError: [Errno 98] Address already in use", Some("which is free"));
        check("listen tcp :99999999999999: bind: address already in use", Some("which is free"));
        check("listening on port 8080", None);
        check("", None);
    }
}
