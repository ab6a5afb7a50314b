//! Why a record could not be put into the DNS, in words that say what to do.

use std::io;
use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::Duration;

use super::record::RecordAction;

/// The reason, for the people who own the zone.
#[derive(Debug, thiserror::Error)]
pub enum DnsError {
    /// The record's name, or one of the configuration, is not one of the DNS.
    #[error("the name \"{name}\" is not valid in the DNS: {reason}")]
    Name {
        /// As it was given.
        name: String,
        /// How it is wrong.
        reason: String,
    },
    /// The file does not exist.
    #[error(
        "the program {program} does not exist, or the interpreter in its first line does not; correct \"program\" of \
         the challenge \"dns\""
    )]
    ProgramMissing {
        /// The path of the program.
        program: String,
    },
    /// Permissions are against it.
    #[error(
        "the program {program} may not be executed by the daemon's user (uid {user}); correct its permissions"
    )]
    ProgramForbidden {
        /// The path of the program.
        program: String,
        /// The number of the user.
        user: u32,
    },
    /// Other reasons not to start.
    #[error("start the program {program}")]
    ProgramStart {
        /// The path of the program.
        program: String,
        /// As the system says.
        #[source]
        source: io::Error,
    },
    /// The program has ended with an error.
    #[error("\"{program} {action}\" has failed ({status}): {said}")]
    ProgramFailed {
        /// The path of the program.
        program: String,
        /// The word that it got.
        action: RecordAction,
        /// How it ended.
        status: ExitStatus,
        /// The first lines of its standard error.
        said: String,
    },
    /// The program ran too long, and was killed.
    #[error(
        "\"{program} {action}\" has not ended within {} s and was killed: {said}; if it needs longer, raise \
        \"timeout\" of the challenge \"dns\"",
        limit.as_secs()
    )]
    ProgramTimeout {
        /// The path of the program.
        program: String,
        /// The word that it got.
        action: RecordAction,
        /// How long it was permitted to run.
        limit: Duration,
        /// The first lines of its standard error.
        said: String,
    },
    /// A configured DNS server has no address.
    #[error("look up the DNS server {server}")]
    ServerName {
        /// As it is configured.
        server: String,
        /// As the system says.
        #[source]
        source: io::Error,
    },
    /// A server does not answer.
    #[error("the DNS server {server} does not answer; check its address, and that UDP and TCP reach it")]
    Silent {
        /// The address of the server.
        server: SocketAddr,
        /// As the system says of the last attempt.
        #[source]
        source: io::Error,
    },
    /// An answer that cannot be read.
    #[error("the DNS server {server} sent an invalid answer: {reason}")]
    Invalid {
        /// The address of the server.
        server: SocketAddr,
        /// How it is wrong.
        reason: String,
    },
    /// The server does not have the zone of a name.
    #[error(
        "the DNS server {server} has no zone for {name} ({reason}); \"server\" of the challenge \"dns\" must be the \
         primary server of the zone; if it does not tell the zone, set \"zone\""
    )]
    NoZone {
        /// The address of the server.
        server: SocketAddr,
        /// The record's name.
        name: String,
        /// The response code's words.
        reason: String,
    },
    /// The configured zone does not have the name.
    #[error(
        "{name} does not lie in the zone {zone}; correct \"zone\" of the challenge \"dns\", or leave it out"
    )]
    OutsideZone {
        /// The record's name, after aliases.
        name: String,
        /// The configured zone.
        zone: String,
    },
    /// `REFUSED` (RFC 2136 section 2.2).
    #[error(
        "the DNS server {server} refuses to change the zone {zone}; permit it there for {who} (BIND: \"update-policy\" \
         or \"allow-update\")"
    )]
    Refused {
        /// The address of the server.
        server: SocketAddr,
        /// The zone.
        zone: String,
        /// The key that has signed, or none.
        who: String,
    },
    /// `NOTAUTH` (RFC 2136 section 2.2), for no reason of TSIG.
    #[error(
        "the DNS server {server} is not the primary server of a zone {zone} (NOTAUTH); correct \"server\" or \"zone\" \
         of the challenge \"dns\""
    )]
    NotAuthoritative {
        /// The address of the server.
        server: SocketAddr,
        /// The zone.
        zone: String,
    },
    /// `BADKEY` (RFC 8945 section 5.2.1).
    #[error(
        "the DNS server {server} does not know the key \"{key}\" with this algorithm (BADKEY); correct \"name\" and \
         \"algorithm\" of \"key\", or give the key to the server"
    )]
    UnknownKey {
        /// The address of the server.
        server: SocketAddr,
        /// The key's name.
        key: String,
    },
    /// `BADSIG` (RFC 8945 section 5.2.2).
    #[error(
        "the DNS server {server} has another secret for the key \"{key}\" (BADSIG); copy \"secret\" of \"key\" from \
        the server"
    )]
    WrongSecret {
        /// The address of the server.
        server: SocketAddr,
        /// The key's name.
        key: String,
    },
    /// `BADTIME` (RFC 8945 section 5.2.3).
    #[error(
        "the clocks of this machine and of the DNS server {server} differ too much{difference} (BADTIME); set them \
        right"
    )]
    Clocks {
        /// The address of the server.
        server: SocketAddr,
        /// By how much, if it tells.
        difference: String,
    },
    /// A success that anybody may have sent.
    #[error(
        "the answer of the DNS server {server} is not signed by the key \"{key}\" ({reason}); the server does not use \
         keys, or somebody answers in its place"
    )]
    Unsigned {
        /// The address of the server.
        server: SocketAddr,
        /// The key's name.
        key: String,
        /// How the signature is wrong.
        reason: String,
    },
    /// Any other refusal.
    #[error("the DNS server {server} answers \"{code}\" to a change of the zone {zone}; its log says why")]
    Code {
        /// The address of the server.
        server: SocketAddr,
        /// The zone.
        zone: String,
        /// The response code's words.
        code: String,
    },
    /// The resolver does not tell which servers have the zone.
    #[error(
        "the servers of the zone of {name} are not known ({reason}); set \"resolver\" of the challenge \"dns\" to a \
         DNS server that knows them, or \"timeout\" to 0"
    )]
    NoServers {
        /// The record's name, after aliases.
        name: String,
        /// The resolver's answer.
        reason: String,
    },
    /// The record was put into the DNS, but not all servers have it.
    #[error(
        "after {} s not all servers of the zone have the record of {name}: {servers}; if they need longer, raise \
         \"timeout\" of the challenge \"dns\"",
        timeout.as_secs()
    )]
    NotSeen {
        /// The record's name, after aliases.
        name: String,
        /// How long they were asked.
        timeout: Duration,
        /// Which of them have answered what.
        servers: String,
    },
}

impl DnsError {
    /// The whole reason, with its cause.
    #[must_use]
    pub fn words(&self) -> String {
        let cause = std::error::Error::source(self);
        cause.map_or_else(|| self.to_string(), |cause| format!("{self}: {cause}"))
    }
}
