//! The user that an application runs as, and whether processes of the daemon have the same one.

use corral_config::plan::{AppSpec, Isolation};
use corral_sys::user::{self, Credentials};

use super::LaunchError;
use crate::users::Users;

/// The credentials that an application runs with; `None` when the daemon's own user is meant and cannot change.
pub(super) fn of(spec: &AppSpec, users: Option<&Users>) -> Result<Option<Credentials>, LaunchError> {
    let Some(users) = users else {
        return if spec.isolation.namespaces.credential {
            of_namespace(spec).map(Some)
        } else {
            own_suffice(spec).map(|()| None)
        };
    };
    let default = &users.applications;
    match (&spec.user, &spec.group) {
        (None, None) => Ok(Some(default.credentials.clone())),
        (user, group) => {
            let user = user.as_deref().unwrap_or(&default.user);
            Credentials::resolve(user, group.as_deref()).map(Some).map_err(LaunchError::User)
        }
    }
}

/// Whether an application's processes belong to the user of the controller and the router, and can see them.
pub(super) fn are_shared(
    isolation: &Isolation,
    credentials: Option<&Credentials>,
    users: Option<&Users>,
) -> bool {
    if isolation.namespaces.pid {
        return false;
    }
    match (users, credentials) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(users), Some(credentials)) => {
            outside(isolation, credentials.uid) == users.daemon.credentials.uid
        }
    }
}

/// The number that a user of an application's namespace has outside of it.
pub(super) fn outside(isolation: &Isolation, uid: u32) -> u32 {
    let range = isolation.uidmap.iter().find(|range| range.holds(uid));
    // `uidmap` comes only with a namespace.
    range.map_or(uid, |range| range.host.saturating_add(uid - range.container))
}

/// For a daemon that may not change users: an application may name the user that it is anyway.
fn own_suffice(spec: &AppSpec) -> Result<(), LaunchError> {
    if spec.user.is_none() && spec.group.is_none() {
        return Ok(());
    }
    let wanted = named(spec)?;
    let same_group = spec.group.is_none() || wanted.gid == user::effective_gid();
    let is_own = wanted.uid == user::effective_uid() && same_group;
    if is_own { Ok(()) } else { Err(LaunchError::MayNotChangeUser) }
}

/// For the same daemon: in a user namespace it can be called by any number, and is itself outside.
fn of_namespace(spec: &AppSpec) -> Result<Credentials, LaunchError> {
    let own = Credentials { uid: user::effective_uid(), gid: user::effective_gid(), groups: vec![] };
    if spec.user.is_none() && spec.group.is_none() {
        return Ok(own);
    }
    named(spec).map(|wanted| Credentials { groups: vec![], ..wanted })
}

/// The user that the document names, this process's user where it names only a group.
fn named(spec: &AppSpec) -> Result<Credentials, LaunchError> {
    let own_user = user::effective_uid();
    let own_name = user::user_by_uid(own_user).map_or_else(|_| own_user.to_string(), |user| user.name);
    let user = spec.user.as_deref().unwrap_or(&own_name);
    Credentials::resolve(user, spec.group.as_deref()).map_err(LaunchError::User)
}

#[cfg(test)]
mod tests {
    use corral_config::plan::{IdRange, Namespaces};

    use crate::testing::{spec, users};

    use super::*;

    #[track_caller]
    fn check(user: Option<&str>, group: Option<&str>, expected: Result<(u32, u32), &str>) {
        let spec = AppSpec { user: user.map(Into::into), group: group.map(Into::into), ..spec("a=/a") };
        let found = of(&spec, Some(&users("daemon"))).map(|found| {
            let found = found.expect("a daemon that may change users");
            (found.uid, found.gid)
        });
        let found = found.map_err(|error| std::error::Error::source(&error).unwrap().to_string());
        assert_eq!(found, expected.map_err(ToOwned::to_owned));
    }

    #[test]
    fn nobody_is_the_default() {
        check(None, None, Ok((65534, 65534)));
        check(Some("root"), None, Ok((0, 0)));
        check(None, Some("root"), Ok((65534, 0)));
        check(Some("no-such"), None, Err("there is no user \"no-such\""));
    }

    #[track_caller]
    fn check_shared(daemon: &str, user: u32, isolation: &Isolation, expected: bool) {
        let credentials = Credentials { uid: user, gid: user, groups: vec![] };
        assert_eq!(are_shared(isolation, Some(&credentials), Some(&users(daemon))), expected);
    }

    #[test]
    fn users_are_compared_as_they_are_outside() {
        let plain = Isolation::default();
        check_shared("nobody", 65534, &plain, true);
        check_shared("nobody", 4001, &plain, false);
        let mapped = |container, host, size| Isolation {
            namespaces: Namespaces { credential: true, ..Namespaces::default() },
            uidmap: vec![IdRange { container, host, size }],
            ..Isolation::default()
        };
        check_shared("nobody", 1, &mapped(0, 65533, 2), true);
        check_shared("nobody", 65534, &mapped(65534, 4001, 1), false);
        let namespaces = Namespaces { pid: true, ..Namespaces::default() };
        check_shared("nobody", 65534, &Isolation { namespaces, ..plain }, false);
        assert!(are_shared(&Isolation::default(), None, None), "a daemon without privileges");
    }
}
