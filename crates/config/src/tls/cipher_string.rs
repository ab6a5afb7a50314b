//! OpenSSL's cipher strings (ciphers(1)), as far as they speak of suites that there are. As there, words that
//! name nothing known select nothing.

use super::suite::CipherSuite;

/// The suites of TLS 1.2 that a string selects, in its order. `None` for an unknown `@` command.
pub(super) fn select(text: &str) -> Option<Vec<CipherSuite>> {
    let mut list = List::default();
    let is_separator = |character: char| matches!(character, ':' | ',' | ';' | ' ');
    for word in text.split(is_separator) {
        // A command may follow without a separator, as in `DEFAULT@SECLEVEL=2`.
        let (rule, command) =
            word.split_once('@').map_or((word, None), |(rule, command)| (rule, Some(command)));
        if !rule.is_empty() {
            list.apply(rule);
        }
        if let Some(command) = command {
            list.command(command)?;
        }
    }
    Some(list.selected)
}

#[derive(Default)]
struct List {
    selected: Vec<CipherSuite>,
    /// Never selected again.
    killed: Vec<CipherSuite>,
}

impl List {
    fn apply(&mut self, word: &str) {
        let (operation, rule) = match word.as_bytes()[0] {
            operation @ (b'!' | b'-' | b'+') => (Some(operation), &word[1..]),
            _ => (None, word),
        };
        let meant = of_rule(rule);
        match operation {
            Some(b'!') => {
                self.selected.retain(|suite| !meant.contains(suite));
                self.killed.extend(meant);
            }
            Some(b'-') => self.selected.retain(|suite| !meant.contains(suite)),
            Some(_) => self.selected.sort_by_key(|suite| meant.contains(suite)),
            None => {
                for suite in meant {
                    if !self.selected.contains(&suite) && !self.killed.contains(&suite) {
                        self.selected.push(suite);
                    }
                }
            }
        }
    }

    fn command(&mut self, command: &str) -> Option<()> {
        if command == "STRENGTH" {
            self.selected.sort_by_key(|suite| !is_of_256_bits(*suite));
            return Some(());
        }
        // Every suite that there is satisfies the levels up to 3.
        let level: u8 = command.strip_prefix("SECLEVEL=")?.parse().ok()?;
        (level <= 3).then_some(())
    }
}

/// Suites that all words of `A+B` mean.
fn of_rule(rule: &str) -> Vec<CipherSuite> {
    let of_tls12 = CipherSuite::ALL.into_iter().filter(|suite| !suite.is_tls13());
    of_tls12.filter(|suite| rule.split('+').all(|word| is_meant(*suite, word))).collect()
}

fn is_meant(suite: CipherSuite, word: &str) -> bool {
    use CipherSuite::{EcdsaAes128Gcm, EcdsaAes256Gcm, EcdsaChacha20, RsaAes128Gcm, RsaAes256Gcm};
    let is_ecdsa = matches!(suite, EcdsaAes256Gcm | EcdsaChacha20 | EcdsaAes128Gcm);
    let is_128 = matches!(suite, EcdsaAes128Gcm | RsaAes128Gcm);
    let is_aes = is_128 || matches!(suite, EcdsaAes256Gcm | RsaAes256Gcm);
    match word {
        "ALL" | "DEFAULT" | "HIGH" | "PROFILE=SYSTEM" | "TLSv1.2" => true,
        "ECDHE" | "EECDH" | "kECDHE" | "kEECDH" | "ECDH" => true,
        "aRSA" => !is_ecdsa,
        "aECDSA" | "ECDSA" => is_ecdsa,
        "AES" | "AESGCM" | "FIPS" => is_aes,
        "AES128" => is_128,
        "AES256" => is_aes && !is_128,
        "CHACHA20" => !is_aes,
        "SUITEB128" => is_aes && is_ecdsa,
        "SUITEB192" => is_aes && is_ecdsa && !is_128,
        name => suite.name() == name || suite.standard_name() == name,
    }
}

fn is_of_256_bits(suite: CipherSuite) -> bool {
    !is_meant(suite, "AES128")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` are the suites as `e` or `r` for the key and `2`, `1` or `c` for the cipher.
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let names = select(text).unwrap().into_iter().map(|suite| {
            let key = if is_meant(suite, "aRSA") { "r" } else { "e" };
            let cipher = [("AES256", "2"), ("AES128", "1"), ("CHACHA20", "c")];
            let cipher = cipher.iter().find(|(word, _)| is_meant(suite, word)).unwrap().1;
            key.to_owned() + cipher
        });
        assert_eq!(names.collect::<Vec<_>>().join(" "), expect, "{text}");
    }

    #[test]
    fn words_select() {
        check("ECDHE-RSA-AES128-GCM-SHA256", "r1");
        check("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "e2");
        check("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384", "r1 e2");
        check("HIGH", "e2 r2 ec rc e1 r1");
        check("HIGH:!aNULL:!MD5", "e2 r2 ec rc e1 r1");
        check("ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM", "e2 r2 e1 r1 ec rc");
        check("EECDH+AESGCM:EDH+AESGCM", "e2 r2 e1 r1");
        check("CHACHA20, aRSA AES128+aECDSA;AES256", "ec rc r2 r1 e1 e2");
    }

    #[test]
    fn operations_change_the_list() {
        check("ALL:!ECDSA", "r2 rc r1");
        check("ALL:!AES128:AES128", "e2 r2 ec rc");
        check("ALL:-AES128:AES128+aRSA", "e2 r2 ec rc r1");
        check("ALL:+AES256", "ec rc e1 r1 e2 r2");
        check("AES128:CHACHA20:@STRENGTH", "ec rc e1 r1");
        check("ALL:@SECLEVEL=2", "e2 r2 ec rc e1 r1");
        check("DEFAULT@SECLEVEL=1", "e2 r2 ec rc e1 r1");
        check("@SECLEVEL=2:AES128:CHACHA20@STRENGTH:!ECDSA", "rc r1");
    }

    #[test]
    fn what_is_not_there_selects_nothing() {
        for text in
            ["", ":", "RC4-SHA", "AES128-SHA", "DHE-RSA-AES256-GCM-SHA384", "LOW:EXPORT", "kRSA", "nonsense"]
        {
            check(text, "");
        }
        assert_eq!(select("@NONSENSE"), None);
        assert_eq!(select("ALL:@SECLEVEL=5"), None);
        assert_eq!(select("ALL@NONSENSE"), None);
    }
}
