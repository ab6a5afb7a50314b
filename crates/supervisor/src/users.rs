//! The users of processes: the daemon's own, and applications that name no user.
//!
//! An application has the daemon's user only if its configuration says so. Then it gets a Landlock domain with both
//! scopes between fork and exec, and `sharing` warns.

use std::fs;
use std::ops::RangeInclusive;

use corral_sys::user::{self, Credentials, UserError};

/// The users that the daemon was told to run its processes as. Without the right to change users nothing of it counts.
#[derive(Debug, Clone)]
pub struct UserOptions {
    /// The controller and the router; without one they have a user of their own.
    pub daemon: Option<Account>,
    /// Their group in that case; without one they have it of their own, too.
    pub daemon_group: Option<String>,
    /// Applications that name no user.
    pub applications: Account,
}

/// A user by name or number.
#[derive(Debug, Clone)]
pub struct Account {
    /// The user.
    pub user: String,
    /// The group; `None` means the user's primary group.
    pub group: Option<String>,
}

/// The users that this process may start others as.
#[derive(Debug, Clone)]
pub(crate) struct Users {
    /// The user of the controller and the router.
    pub(crate) daemon: Identity,
    /// The user of applications that name none.
    pub(crate) applications: Identity,
}

/// A user, by name for messages and because an application may name only its group.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) credentials: Credentials,
}

/// The account that packages make for the daemon.
const OWN_ACCOUNT: &str = "corral";

/// Numbers that no account has: Debian keeps 65000 to 65533 free, and systemd gives out those below 65520.
const UNNAMED: RangeInclusive<u32> = 65_520..=65_533;

/// With all others that need no user.
const LAST_RESORT: &str = "nobody";

impl UserOptions {
    /// The same user for all.
    #[must_use]
    pub fn shared(account: Account) -> Self {
        Self { daemon: Some(account.clone()), daemon_group: None, applications: account }
    }

    /// The credentials of the controller and the router; nothing where this process may not change users.
    ///
    /// # Errors
    /// When there is no such user or group.
    pub fn daemon_credentials(&self) -> Result<Option<Credentials>, UserError> {
        let users = user::can_change_user().then(|| Users::of(self)).transpose()?;
        Ok(users.map(|users| users.daemon.credentials))
    }
}

impl Users {
    /// For a process that may change users.
    pub(crate) fn of(options: &UserOptions) -> Result<Self, UserError> {
        let daemon = match &options.daemon {
            Some(account) => Identity::of(account)?,
            None => own_identity(options.daemon_group.clone())?,
        };
        Ok(Self { daemon, applications: Identity::of(&options.applications)? })
    }
}

impl Identity {
    fn of(account: &Account) -> Result<Self, UserError> {
        let credentials = Credentials::resolve(&account.user, account.group.as_deref())?;
        Ok(Self { user: account.user.clone(), credentials })
    }
}

/// The user of the daemon's account, else a number that no account has.
fn own_identity(group: Option<String>) -> Result<Identity, UserError> {
    let user = if user::user_by_name(OWN_ACCOUNT).is_ok() {
        OWN_ACCOUNT.to_owned()
    } else {
        unnamed().map_or_else(|| LAST_RESORT.to_owned(), |number| number.to_string())
    };
    if user == LAST_RESORT {
        tracing::warn!(
            "there is no user \"{OWN_ACCOUNT}\", and no number from {} to {} can be used here: the daemon's own \
             processes run as \"{LAST_RESORT}\"",
            UNNAMED.start(),
            UNNAMED.end()
        );
    }
    Identity::of(&Account { user, group })
}

/// A number without an account that this process' namespace knows.
fn unnamed() -> Option<u32> {
    let maps = ["uid_map", "gid_map"].map(|name| fs::read_to_string(format!("/proc/self/{name}")).ok());
    // A process that cannot read a map is in the namespace of the machine as far as that can be known.
    let is_mapped = |number: &u32| maps.iter().flatten().all(|map| holds(map, *number));
    let is_free = |number: &u32| matches!(user::user_by_uid(*number), Err(UserError::NoUser { .. }));
    UNNAMED.filter(is_mapped).find(is_free)
}

/// Whether a map has a number inside: lines of `inside outside length`.
fn holds(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(Ok(len))) = (numbers.next(), numbers.nth(1)) else { return false };
        number.checked_sub(first).is_some_and(|offset| offset < len)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str) -> Account {
        Account { user: user.to_owned(), group: None }
    }

    #[test]
    fn a_map_tells_which_numbers_there_are() {
        let machine = "         0          0 4294967295\n";
        let container = "0 100000 65536\n";
        let rootless = "0 1000 1\n1 100000 65519\n";
        assert!(holds(machine, 65_520) && holds(container, 65_520));
        assert!(!holds(rootless, 65_520), "its numbers end at 65519");
        assert!(!holds("0 0 65520\n", 65_520) && holds("65520 1 1\n", 65_520));
        assert!(!holds("", 0) && !holds("0", 0) && !holds("x y z", 0));
    }

    #[test]
    fn the_daemon_has_a_user_whom_nobody_shares() {
        let options = UserOptions { daemon: None, daemon_group: None, applications: account("nobody") };
        let users = Users::of(&options).unwrap();
        let (daemon, applications) = (&users.daemon.credentials, &users.applications.credentials);
        assert_ne!(daemon.uid, applications.uid);
        assert_ne!(daemon.uid, 0);
        assert!(daemon.groups.iter().all(|group| *group == daemon.gid), "{daemon:?}");
    }

    #[test]
    fn its_group_can_be_another_one() {
        let daemon_group = Some("daemon".to_owned());
        let options = UserOptions { daemon: None, daemon_group, applications: account("nobody") };
        let group = user::group_by_name("daemon").unwrap();
        assert_eq!(Users::of(&options).unwrap().daemon.credentials.gid, group);
    }

    #[test]
    fn whoever_is_named_is_shared() {
        let users = Users::of(&UserOptions::shared(account("nobody"))).unwrap();
        assert_eq!(users.daemon.credentials, users.applications.credentials);
        let error = Users::of(&UserOptions::shared(account("no-such"))).unwrap_err();
        assert_eq!(error.to_string(), "there is no user \"no-such\"");
    }
}
