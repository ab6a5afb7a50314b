//! Which users and groups a user namespace has: what the document says, or those that the application
//! needs, unchanged.

use corral_config::plan::{IdRange, Isolation};
use corral_sys::isolation::IdMaps;
use corral_sys::user::{self, Credentials};

/// Why the maps of a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MapError {
    /// The application's user would not exist.
    #[error("no \"container\" range of \"uidmap\" holds the user {0}, which the application runs as")]
    NoUser(u32),
    /// One of its groups would not exist.
    #[error(
        "no \"container\" range of \"gidmap\" holds the group {0}, which the application's user belongs to"
    )]
    NoGroup(u32),
    /// The kernel lets a process without privileges map only its own user and group.
    #[error(
        "without root, \"{name}\" can have one range only: {{\"container\": {container}, \"host\": {host}, \
         \"size\": 1}}"
    )]
    OnlyItself {
        /// The option.
        name: &'static str,
        /// The number inside.
        container: u32,
        /// The daemon's own.
        host: u32,
    },
}

/// The maps for an application that runs as `credentials`, which are numbers of the namespace.
pub(super) fn privileged(isolation: &Isolation, credentials: &Credentials) -> Result<IdMaps, MapError> {
    let mut groups: Vec<u32> = credentials.groups.clone();
    groups.push(credentials.gid);
    groups.sort_unstable();
    groups.dedup();
    let users = or_unchanged(&isolation.uidmap, &[credentials.uid]);
    let is_held = |ranges: &[IdRange], id: u32| ranges.iter().any(|range| range.holds(id));
    if !is_held(&users, credentials.uid) {
        return Err(MapError::NoUser(credentials.uid));
    }
    let group_ranges = or_unchanged(&isolation.gidmap, &groups);
    if let Some(group) = groups.iter().find(|group| !is_held(&group_ranges, **group)) {
        return Err(MapError::NoGroup(*group));
    }
    Ok(IdMaps { users: lines(&users), groups: lines(&group_ranges), may_set_groups: true })
}

/// As `privileged`, for a daemon that may not change users: its own are all that can be mapped.
pub(super) fn unprivileged(isolation: &Isolation, credentials: &Credentials) -> Result<IdMaps, MapError> {
    let itself = |name, ranges: &[IdRange], container, host| {
        let only = IdRange { container, host, size: 1 };
        if ranges.iter().any(|range| *range != only) {
            return Err(MapError::OnlyItself { name, container, host });
        }
        Ok(lines(&[only]))
    };
    Ok(IdMaps {
        users: itself("uidmap", &isolation.uidmap, credentials.uid, user::effective_uid())?,
        groups: itself("gidmap", &isolation.gidmap, credentials.gid, user::effective_gid())?,
        may_set_groups: false,
    })
}

fn or_unchanged(given: &[IdRange], needed: &[u32]) -> Vec<IdRange> {
    if given.is_empty() {
        return needed.iter().map(|id| IdRange { container: *id, host: *id, size: 1 }).collect();
    }
    given.to_vec()
}

fn lines(ranges: &[IdRange]) -> String {
    let line = |range: &IdRange| format!("{} {} {}\n", range.container, range.host, range.size);
    ranges.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn isolation(users: &[(u32, u32, u32)], groups: &[(u32, u32, u32)]) -> Isolation {
        let ranges = |map: &[(u32, u32, u32)]| {
            let ranges = map.iter().map(|&(container, host, size)| IdRange { container, host, size });
            ranges.collect::<Vec<_>>()
        };
        Isolation { uidmap: ranges(users), gidmap: ranges(groups), ..Isolation::default() }
    }

    /// User 10 with group 20 and a supplementary group 30.
    fn credentials() -> Credentials {
        Credentials { uid: 10, gid: 20, groups: vec![20, 30] }
    }

    #[track_caller]
    fn check(isolation: &Isolation, expected: Result<(&str, &str), MapError>) {
        let found = privileged(isolation, &credentials()).map(|maps| (maps.users, maps.groups));
        assert_eq!(found, expected.map(|(users, groups)| (users.to_owned(), groups.to_owned())));
    }

    #[test]
    fn without_maps_everybody_stays_who_they_are() {
        check(&isolation(&[], &[]), Ok(("10 10 1\n", "20 20 1\n30 30 1\n")));
    }

    #[test]
    fn maps_must_hold_all_that_the_application_is() {
        let all = isolation(&[(0, 1000, 11)], &[(20, 1, 1), (30, 7, 1)]);
        check(&all, Ok(("0 1000 11\n", "20 1 1\n30 7 1\n")));
        check(&isolation(&[(0, 1000, 10)], &[]), Err(MapError::NoUser(10)));
        check(&isolation(&[], &[(20, 20, 10)]), Err(MapError::NoGroup(30)));
    }

    #[test]
    fn without_privileges_only_oneself_can_be_mapped() {
        let (own_user, own_group) = (user::effective_uid(), user::effective_gid());
        let maps = unprivileged(&isolation(&[(10, own_user, 1)], &[]), &credentials()).unwrap();
        assert_eq!(maps.users, format!("10 {own_user} 1\n"));
        assert_eq!(maps.groups, format!("20 {own_group} 1\n"));
        assert!(!maps.may_set_groups);
        for wrong in [(10, own_user, 2), (11, own_user, 1), (10, own_user + 1, 1)] {
            assert!(unprivileged(&isolation(&[wrong], &[]), &credentials()).is_err());
        }
    }
}
