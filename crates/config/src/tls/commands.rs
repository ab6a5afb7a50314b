//! `conf_commands`: OpenSSL's configuration commands for a server (SSL_CONF_cmd(3)), as far as they have a
//! meaning here.

use super::cipher_string;
use super::suite::{CipherSuite, Group};
use super::{Policy, TlsSettings};

/// Why a command cannot be obeyed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command does not exist, or has no meaning here.
    #[error("The TLS configuration command \"{0}\" is not supported; supported are {SUPPORTED}.")]
    Unknown(String),
    /// Another option decides this.
    #[error("The TLS configuration command \"{command}\" is not supported: use the \"{option}\" option.")]
    Elsewhere {
        /// As it was written.
        command: String,
        /// The option of Corral.
        option: &'static str,
    },
    /// The value is not one of those that are known.
    #[error("The value \"{value}\" of the TLS configuration command \"{command}\" is invalid; {expected}.")]
    Value {
        /// As it was written.
        command: String,
        /// As it was written.
        value: String,
        /// A description of accepted values.
        expected: &'static str,
    },
    /// All commands together permit nothing.
    #[error("The TLS configuration commands leave no protocol version; supported are TLSv1.2 and TLSv1.3.")]
    NoVersion,
}

const SUPPORTED: &str = "MinProtocol, MaxProtocol, Protocol, CipherString, Ciphersuites, Groups, Curves, \
                         ECDHParameters, Options, and NumTickets";

const VERSIONS: &str = "protocol versions are None, SSLv3, TLSv1, TLSv1.1, TLSv1.2, and TLSv1.3";
const PROTOCOLS: &str = "it is a comma-separated list of ALL, SSLv2, SSLv3, TLSv1, TLSv1.1, TLSv1.2, and TLSv1.3, \
                         each with an optional + or - in front";
const CIPHERS: &str = "it selects no cipher suite that is supported: ECDHE-ECDSA-AES256-GCM-SHA384, \
                       ECDHE-RSA-AES256-GCM-SHA384, ECDHE-ECDSA-CHACHA20-POLY1305, ECDHE-RSA-CHACHA20-POLY1305, \
                       ECDHE-ECDSA-AES128-GCM-SHA256, and ECDHE-RSA-AES128-GCM-SHA256";
const SUITES: &str = "it is a list of TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256, and \
                      TLS_AES_128_GCM_SHA256, with colons between";
const GROUPS: &str = "it is a list of X25519MLKEM768, X25519, P-256, and P-384, with colons between";
const OPTIONS: &str = "it is a comma-separated list of OpenSSL's option names, of which ServerPreference and \
                       SessionTicket have an effect";
const TICKETS: &str = "it is a number from 0 to 16";

impl Policy {
    /// Obeys one command. Names of commands and of most values may be written in any case, as OpenSSL
    /// permits for commands.
    ///
    /// # Errors
    ///
    /// When the command or its value is not supported.
    pub fn obey(&mut self, command: &str, value: &str) -> Result<(), CommandError> {
        let obeyed = match command.to_ascii_lowercase().as_str() {
            "minprotocol" => self.set_least(value).ok_or(VERSIONS),
            "maxprotocol" => self.set_greatest(value).ok_or(VERSIONS),
            "protocol" => self.set_protocols(value).ok_or(PROTOCOLS),
            "cipherstring" | "ciphers" => self.set_ciphers(value).ok_or(CIPHERS),
            "ciphersuites" => self.set_suites(value).ok_or(SUITES),
            "groups" | "curves" => self.set_groups(value).ok_or(GROUPS),
            // Chooses by itself, which is what happens anyway.
            "ecdhparameters" if is_automatic(value) => Ok(()),
            "ecdhparameters" => self.set_groups(value).ok_or(GROUPS),
            "options" => self.set_options(value).ok_or(OPTIONS),
            "numtickets" => self.set_n_tickets(value).ok_or(TICKETS),
            other => return Err(unsupported(command, other)),
        };
        obeyed.map_err(|expected| CommandError::Value {
            command: command.to_owned(),
            value: value.to_owned(),
            expected,
        })
    }

    /// To be called after the last command.
    ///
    /// # Errors
    ///
    /// When no protocol version is left.
    pub fn check(&self) -> Result<(), CommandError> {
        if self.tls12 || self.tls13 { Ok(()) } else { Err(CommandError::NoVersion) }
    }

    fn set_least(&mut self, value: &str) -> Option<()> {
        let least = version(value)?;
        self.tls12 &= least <= Version::Tls12;
        Some(())
    }

    fn set_greatest(&mut self, value: &str) -> Option<()> {
        // As a greatest version, none means that there is no bound.
        let greatest = match version(value)? {
            Version::None => return Some(()),
            known => known,
        };
        self.tls12 &= greatest >= Version::Tls12;
        self.tls13 &= greatest >= Version::Tls13;
        Some(())
    }

    fn set_protocols(&mut self, value: &str) -> Option<()> {
        for (name, on) in list(value) {
            match name.to_ascii_lowercase().as_str() {
                "all" => (self.tls12, self.tls13) = (on, on),
                "tlsv1.2" => self.tls12 = on,
                "tlsv1.3" => self.tls13 = on,
                "sslv2" | "sslv3" | "tlsv1" | "tlsv1.1" => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn set_ciphers(&mut self, value: &str) -> Option<()> {
        let selected = cipher_string::select(value).filter(|selected| !selected.is_empty())?;
        self.suites.retain(|suite| suite.is_tls13());
        self.suites.extend(selected);
        Some(())
    }

    fn set_suites(&mut self, value: &str) -> Option<()> {
        let mut selected: Vec<CipherSuite> = Vec::new();
        for name in value.split(':').filter(|name| !name.is_empty()) {
            let mut known = CipherSuite::ALL.into_iter().filter(|suite| suite.is_tls13());
            match known.find(|suite| suite.name().eq_ignore_ascii_case(name)) {
                Some(suite) => selected.push(suite),
                None if is_rare_suite(name) => {}
                None => return None,
            }
        }
        // OpenSSL takes an empty list to mean that TLS 1.3 is not spoken.
        if selected.is_empty() && !value.is_empty() {
            return None;
        }
        self.tls13 &= !selected.is_empty();
        self.suites.retain(|suite| !suite.is_tls13());
        self.suites.splice(0..0, selected);
        Some(())
    }

    fn set_groups(&mut self, value: &str) -> Option<()> {
        let mut selected = Vec::new();
        for name in value.split(':') {
            let (name, may_be_unknown) = name.strip_prefix('?').map_or((name, false), |rest| (rest, true));
            match Group::from_name(name) {
                Some(group) if selected.contains(&group) => {}
                Some(group) => selected.push(group),
                None if may_be_unknown || is_rare_group(name) => {}
                None => return None,
            }
        }
        if selected.is_empty() {
            return None;
        }
        self.groups = selected;
        Some(())
    }

    fn set_options(&mut self, value: &str) -> Option<()> {
        for (name, on) in list(value) {
            match name.to_ascii_lowercase().as_str() {
                "serverpreference" => self.server_preference = on,
                "sessionticket" => self.tickets = on,
                other if OPTIONS_WITHOUT_EFFECT.contains(&other) => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn set_n_tickets(&mut self, value: &str) -> Option<()> {
        self.n_tickets = value.parse().ok().filter(|number| *number <= 16)?;
        Some(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    None,
    BeforeTls12,
    Tls12,
    Tls13,
}

fn version(name: &str) -> Option<Version> {
    Some(match name.to_ascii_lowercase().as_str() {
        "none" => Version::None,
        "sslv3" | "tlsv1" | "tlsv1.1" => Version::BeforeTls12,
        "tlsv1.2" => Version::Tls12,
        "tlsv1.3" => Version::Tls13,
        _ => return None,
    })
}

fn is_automatic(value: &str) -> bool {
    ["", "auto", "automatic", "+automatic"].iter().any(|known| known.eq_ignore_ascii_case(value))
}

/// The elements of `+A,-B,C`, and whether each is switched on.
fn list(value: &str) -> impl Iterator<Item = (&str, bool)> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(|name| match name.as_bytes()[0] {
        b'-' => (&name[1..], false),
        b'+' => (&name[1..], true),
        _ => (name, true),
    })
}

/// Suites of TLS 1.3 that are known and not supported.
fn is_rare_suite(name: &str) -> bool {
    ["TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"].contains(&name)
}

/// Groups that OpenSSL has and that are not among those that there are.
fn is_rare_group(name: &str) -> bool {
    let known = [
        "P-521",
        "secp521r1",
        "X448",
        "P-224",
        "secp224r1",
        "secp256k1",
        "brainpoolP256r1",
        "brainpoolP384r1",
    ];
    let more = ["brainpoolP512r1", "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"];
    known.iter().chain(&more).any(|rare| rare.eq_ignore_ascii_case(name))
}

/// Options that are always in effect, never, or without importance here: nothing is renegotiated or compressed, and no
/// broken peers are put up with.
const OPTIONS_WITHOUT_EFFECT: &[&str] = &[
    "allownodhekex",
    "antireplay",
    "bugs",
    "canames",
    "compression",
    "dhsingle",
    "ecdhsingle",
    "emptyfragments",
    "encryptthenmac",
    "extendedmastersecret",
    "ignoreunexpectedeof",
    "ktls",
    "middleboxcompat",
    "noencryptthenmac",
    "norenegotiation",
    "noresumptiononrenegotiation",
    "prioritizechacha",
    "strictcertcheck",
    "unsafelegacyrenegotiation",
    "unsafelegacyserverconnect",
];

fn unsupported(command: &str, lower: &str) -> CommandError {
    let option = match lower {
        "certificate" | "privatekey" | "serverinfofile" | "chaincafile" | "chaincapath" => "certificate",
        "verifymode" | "verifycafile" | "verifycapath" | "clientcafile" | "clientcapath"
        | "requestcafile" | "requestcapath" => "client",
        _ => return CommandError::Unknown(command.to_owned()),
    };
    CommandError::Elsewhere { command: command.to_owned(), option }
}

impl TlsSettings {
    /// Whether clients get tickets.
    #[must_use]
    pub fn gives_tickets(&self) -> bool {
        self.policy.tickets && self.session.tickets != super::Tickets::Off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands as `name value`; `expect` are versions, number of suites and groups of what comes out.
    #[track_caller]
    fn check(commands: &[&str], expect: &str) {
        let policy = obey(commands).unwrap();
        let versions = match (policy.tls12, policy.tls13) {
            (true, true) => "both",
            (true, false) => "1.2",
            (false, _) => "1.3",
        };
        let groups: Vec<_> = policy.groups.iter().map(|group| group.names()[0]).collect();
        let suites: Vec<_> = policy.suites.iter().map(|suite| format!("{:x}", suite.code())).collect();
        let shown = match (policy.suites == CipherSuite::ALL, policy.groups == Group::ALL) {
            (true, true) => versions.to_owned(),
            (false, true) => format!("{versions} {}", suites.join(",")),
            (_, false) => format!("{versions} {}", groups.join(",")),
        };
        assert_eq!(shown, expect, "{commands:?}");
    }

    fn obey(commands: &[&str]) -> Result<Policy, CommandError> {
        let mut policy = Policy::default();
        for command in commands {
            let (name, value) = command.split_once(' ').unwrap();
            policy.obey(name, value)?;
        }
        policy.check().map(|()| policy)
    }

    #[track_caller]
    fn check_refused(commands: &[&str], part: &str) {
        let error = obey(commands).expect_err(&commands.join(";")).to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn versions() {
        check(&[], "both");
        check(&["MinProtocol TLSv1.3"], "1.3");
        check(&["minprotocol TLSv1"], "both");
        check(&["MINPROTOCOL tlsv1.2", "maxprotocol TLSv1.2"], "1.2");
        check(&["MaxProtocol None", "MinProtocol None"], "both");
        check(&["Protocol -ALL,TLSv1.2"], "1.2");
        check(&["Protocol -TLSv1.2"], "1.3");
        check(&["Protocol ALL, -TLSv1.3, -SSLv3"], "1.2");
        check(&["protocol +TLSv1.1"], "both");
    }

    #[test]
    fn no_version_is_left() {
        check_refused(&["MaxProtocol TLSv1.1"], "TLSv1.2 and TLSv1.3");
        check_refused(&["Protocol -ALL"], "no protocol version");
        check_refused(&["MinProtocol TLSv1.3", "MaxProtocol TLSv1.2"], "no protocol version");
    }

    #[test]
    fn suites() {
        check(&["CipherString ECDHE-RSA-AES128-GCM-SHA256"], "both 1302,1303,1301,c02f");
        check(&["ciphers HIGH:!aNULL:!AES128:!CHACHA20"], "both 1302,1303,1301,c02c,c030");
        check(
            &["Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384", "ciphers AES128"],
            "both 1301,1302,c02b,c02f",
        );
        check(
            &["ciphersuites TLS_AES_128_CCM_SHA256:TLS_AES_256_GCM_SHA384", "ciphers AES128"],
            "both 1302,c02b,c02f",
        );
        check(&["ciphersuites "], "1.2 c02c,c030,cca9,cca8,c02b,c02f");
    }

    #[test]
    fn groups() {
        check(&["Curves P-256:X25519"], "both P-256,X25519");
        check(&["groups prime256v1:P-521:secp384r1:P-256"], "both P-256,P-384");
        check(&["groups ?nonsense:x25519"], "both X25519");
        check(&["ECDHParameters P-384"], "both P-384");
        check(&["ECDHParameters auto"], "both");
    }

    #[test]
    fn options() {
        let policy =
            obey(&["Options -ServerPreference,-SessionTicket,NoRenegotiation", "NumTickets 1"]).unwrap();
        assert_eq!((policy.server_preference, policy.tickets, policy.n_tickets), (false, false, 1));
        check(&["options ServerPreference, +SessionTicket, -Compression"], "both");
    }

    #[test]
    fn bad_values_name_what_is_accepted() {
        check_refused(
            &["MinProtocol TLSv1.4"],
            "\"TLSv1.4\" of the TLS configuration command \"MinProtocol\"",
        );
        check_refused(&["Protocol TLS"], "comma-separated list");
        check_refused(&["ciphers RC4"], "ECDHE-RSA-AES256-GCM-SHA384");
        check_refused(&["Ciphersuites TLS_RC4"], "TLS_AES_256_GCM_SHA384");
        check_refused(&["Ciphersuites TLS_AES_128_CCM_SHA256"], "TLS_AES_256_GCM_SHA384");
        check_refused(&["Curves "], "X25519");
        check_refused(&["Groups P-521"], "P-384");
        check_refused(&["Groups nonsense"], "P-384");
        check_refused(&["Options Nonsense"], "ServerPreference");
        check_refused(&["NumTickets -1"], "from 0 to 16");
    }

    #[test]
    fn other_commands_are_refused() {
        check_refused(&["Nonsense x"], "supported are MinProtocol, MaxProtocol");
        check_refused(&["SignatureAlgorithms RSA+SHA256"], "\"SignatureAlgorithms\" is not supported");
        check_refused(&["PrivateKey /key.pem"], "use the \"certificate\" option");
        check_refused(&["VerifyMode Require"], "use the \"client\" option");
    }
}
