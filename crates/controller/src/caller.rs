//! The side that has sent a request, as far as that is known, in words for the history and the log.

use std::net::IpAddr;
use std::time::Duration;

use corral_sys::user::user_by_uid;
use tokio::time::timeout;

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A process of this machine, with its user where the kernel says that.
    Socket { uid: Option<u32> },
    /// Any process that reaches the port.
    Port(IpAddr),
}

impl Caller {
    /// The user of the process that asks.
    pub(crate) fn uid(self) -> Option<u32> {
        match self {
            Self::Socket { uid } => uid,
            Self::Port(_) => None,
        }
    }

    /// The name of the user, or the address.
    pub(crate) async fn name(self) -> String {
        match self {
            Self::Socket { uid: Some(uid) } => user_name(uid).await,
            Self::Socket { uid: None } => "a user that the kernel does not tell".to_owned(),
            Self::Port(address) => address.to_canonical().to_string(),
        }
    }
}

/// The login name, or the number where there is none or the system's database does not answer.
async fn user_name(uid: u32) -> String {
    if uid == 0 {
        return "root".to_owned();
    }
    // The database may be on another machine.
    let found = tokio::task::spawn_blocking(move || user_by_uid(uid));
    match timeout(LONGEST_LOOKUP, found).await {
        Ok(Ok(Ok(user))) => user.name.chars().take(LONGEST_NAME).collect(),
        _ => format!("user {uid}"),
    }
}

const LONGEST_LOOKUP: Duration = Duration::from_secs(1);

/// Characters of a name.
const LONGEST_NAME: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(caller: Caller, expected: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(caller.name()), expected);
    }

    #[test]
    fn users_have_names_and_ports_have_addresses() {
        check(Caller::Socket { uid: Some(0) }, "root");
        check(Caller::Socket { uid: Some(4_000_000_001) }, "user 4000000001");
        check(Caller::Socket { uid: None }, "a user that the kernel does not tell");
        check(Caller::Port([192, 0, 2, 7].into()), "192.0.2.7");
        check(Caller::Port(std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()), "127.0.0.1");
    }
}
