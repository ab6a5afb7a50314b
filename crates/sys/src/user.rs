//! Users and groups by name, and the credentials that a process runs with.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use rustix::process::{Gid, Uid};

use crate::signal::{self, Ended};
use crate::spawn::{self, Fork};

/// A user's entry in the system's database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Number.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Home folder.
    pub home: String,
    /// Login shell.
    pub shell: String,
}

/// Why a user or group was not found.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The database has no such user.
    #[error("there is no user \"{name}\"")]
    NoUser {
        /// As asked.
        name: String,
    },
    /// The database has no such group.
    #[error("there is no group \"{name}\"")]
    NoGroup {
        /// As asked.
        name: String,
    },
    /// The database could not be read.
    #[error("look up \"{name}\" in the user database")]
    Database {
        /// As asked.
        name: String,
        /// The error that the C library reported.
        #[source]
        source: io::Error,
    },
}

/// The user and groups that a process runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Supplementary groups, the primary one included.
    pub groups: Vec<u32>,
}

impl Credentials {
    /// The user with its supplementary groups; `group` takes the place of its primary group.
    ///
    /// Numbers work too: in containers, files often belong to a number without a name. Without
    /// `group` such a number is also its group's.
    pub fn resolve(user: &str, group: Option<&str>) -> Result<Self, UserError> {
        let gid = group.map(group_by_name_or_number).transpose()?;
        match user_by_name(user).or_else(|error| user_by_number(user).ok_or(error)) {
            Ok(user) => {
                let gid = gid.unwrap_or(user.gid);
                let groups = supplementary_groups(&user.name, gid)?;
                Ok(Self { uid: user.uid, gid, groups })
            }
            Err(error) => {
                let uid = user.parse().map_err(|_| error)?;
                let gid = gid.unwrap_or(uid);
                Ok(Self { uid, gid, groups: vec![gid] })
            }
        }
    }
}

/// Looks a user up by name.
pub fn user_by_name(name: &str) -> Result<User, UserError> {
    let missing = || UserError::NoUser { name: name.to_owned() };
    let c_name = CString::new(name).map_err(|_| missing())?;
    let found = user_entry(name, |entry, buffer, result| {
        // SAFETY: all pointers are valid for the call, and the length is the buffer's.
        unsafe { libc::getpwnam_r(c_name.as_ptr(), entry, buffer.as_mut_ptr(), buffer.len(), result) }
    })?;
    found.ok_or_else(missing)
}

fn user_by_number(text: &str) -> Option<User> {
    user_by_uid(text.parse().ok()?).ok()
}

fn group_by_name_or_number(text: &str) -> Result<u32, UserError> {
    group_by_name(text).or_else(|error| text.parse().map_err(|_| error))
}

/// Looks a user up by number.
pub fn user_by_uid(uid: u32) -> Result<User, UserError> {
    let name = uid.to_string();
    let found = user_entry(&name, |entry, buffer, result| {
        // SAFETY: all pointers are valid for the call, and the length is the buffer's.
        unsafe { libc::getpwuid_r(uid, entry, buffer.as_mut_ptr(), buffer.len(), result) }
    })?;
    found.ok_or(UserError::NoUser { name })
}

/// The number of a group.
pub fn group_by_name(name: &str) -> Result<u32, UserError> {
    let missing = || UserError::NoGroup { name: name.to_owned() };
    let c_name = CString::new(name).map_err(|_| missing())?;
    let mut entry = MaybeUninit::<libc::group>::uninit();
    let mut result = ptr::null_mut();
    let mut buffer = Vec::new();
    retry_with_room(name, &mut buffer, |buffer| {
        // SAFETY: all pointers are valid for the call, and the length is the buffer's.
        unsafe {
            libc::getgrnam_r(
                c_name.as_ptr(),
                entry.as_mut_ptr(),
                buffer.as_mut_ptr(),
                buffer.len(),
                &mut result,
            )
        }
    })?;
    if result.is_null() {
        return Err(missing());
    }
    // SAFETY: success with a non-null result means that the call filled `entry` (getgrnam_r(3)).
    Ok(unsafe { entry.assume_init_ref() }.gr_gid)
}

type Lookup<'a> = dyn FnMut(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> i32 + 'a;

fn user_entry(
    name: &str,
    mut lookup: impl FnMut(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> i32,
) -> Result<Option<User>, UserError> {
    let lookup: &mut Lookup<'_> = &mut lookup;
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut result = ptr::null_mut();
    let mut buffer = Vec::new();
    retry_with_room(name, &mut buffer, |buffer| lookup(entry.as_mut_ptr(), buffer, &mut result))?;
    if result.is_null() {
        return Ok(None);
    }
    // SAFETY: success with a non-null result means that the call filled `entry` (getpwnam_r(3)).
    let entry = unsafe { entry.assume_init_ref() };
    let text = |text: *const libc::c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: all texts of an entry are NUL-terminated strings inside `buffer`, which is still alive.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    Ok(Some(User {
        name: text(entry.pw_name),
        uid: entry.pw_uid,
        gid: entry.pw_gid,
        home: text(entry.pw_dir),
        shell: text(entry.pw_shell),
    }))
}

/// Calls with a growing buffer until it is large enough.
fn retry_with_room(
    name: &str,
    buffer: &mut Vec<libc::c_char>,
    mut call: impl FnMut(&mut [libc::c_char]) -> i32,
) -> Result<(), UserError> {
    const LARGEST: usize = 1 << 20;
    buffer.resize(1024, 0);
    loop {
        match call(buffer) {
            0 => return Ok(()),
            libc::EINTR => {}
            libc::ERANGE if buffer.len() < LARGEST => buffer.resize(buffer.len() * 2, 0),
            // What the C library may return for "not found" besides a null result.
            libc::ENOENT | libc::ESRCH => return Ok(()),
            errno => {
                let source = io::Error::from_raw_os_error(errno);
                return Err(UserError::Database { name: name.to_owned(), source });
            }
        }
    }
}

fn supplementary_groups(name: &str, gid: u32) -> Result<Vec<u32>, UserError> {
    let c_name = CString::new(name).map_err(|_| UserError::NoUser { name: name.to_owned() })?;
    let mut groups = vec![0; 64];
    loop {
        let mut n_groups = libc::c_int::try_from(groups.len()).expect("at most 65536 groups");
        // SAFETY: the name is NUL-terminated, and `n_groups` is the room behind the pointer.
        let found = unsafe { libc::getgrouplist(c_name.as_ptr(), gid, groups.as_mut_ptr(), &mut n_groups) };
        if found >= 0 {
            groups.truncate(usize::try_from(n_groups).unwrap_or(0));
            return Ok(groups);
        }
        if groups.len() >= 65536 {
            let source = io::Error::other("the user is in more than 65536 groups");
            return Err(UserError::Database { name: name.to_owned(), source });
        }
        groups.resize(groups.len() * 2, 0);
    }
}

/// The user that this process runs as.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The group that this process runs as.
pub fn effective_gid() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Whether this process may start others as any user.
pub fn can_change_user() -> bool {
    let needed = rustix::thread::CapabilitySet::SETUID | rustix::thread::CapabilitySet::SETGID;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Does something in a child that runs as another user, to see whether that user can. For a process with one thread and
/// the right to change users.
///
/// # Errors
/// Errors of `attempt`, and of making the child.
pub fn try_as(credentials: &Credentials, attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if let Fork::Parent(child) = spawn::fork()? {
        return match signal::wait_for(child)? {
            Ended::Code(0) => Ok(()),
            Ended::Code(errno) => Err(io::Error::from_raw_os_error(errno)),
            Ended::Signal(number) => Err(io::Error::other(format!("the attempt ended on signal {number}"))),
        };
    }
    let groups: Vec<_> = credentials.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let tried = assume(credentials.uid, credentials.gid, Some(&groups)).and_then(|()| attempt());
    // Numbers of errors fit into the eight bits of an exit code.
    let code = tried.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
    // SAFETY: ends the child at once, without running exit handlers of the parent's program.
    unsafe { libc::_exit(code) }
}

/// The users and groups that this process has.
pub fn own_credentials() -> Credentials {
    let groups = rustix::process::getgroups().unwrap_or_default();
    let groups = groups.into_iter().map(Gid::as_raw).collect();
    Credentials { uid: effective_uid(), gid: effective_gid(), groups }
}

/// Takes on credentials for good, in a process with one thread and the right to.
///
/// # Errors
/// The errors of setgroups(2), setresgid(2) and setresuid(2).
pub fn become_for_good(credentials: &Credentials) -> io::Result<()> {
    let groups: Vec<_> = credentials.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    assume(credentials.uid, credentials.gid, Some(&groups))
}

/// Takes on credentials for good; without `groups`, the supplementary ones stay. Async-signal-safe; for
/// a process with one thread.
pub(crate) fn assume(uid: u32, gid: u32, groups: Option<&[Gid]>) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    if let Some(groups) = groups {
        rustix::thread::set_thread_groups(groups)?;
    }
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_by_name_and_number() {
        let root = user_by_name("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(user_by_uid(0).unwrap(), root);
        assert_eq!(group_by_name("root").unwrap(), 0);
    }

    #[test]
    fn credentials_take_the_named_group() {
        let nobody = Credentials::resolve("nobody", None).unwrap();
        assert!(nobody.groups.contains(&nobody.gid));
        let daemon = group_by_name("daemon").unwrap();
        let credentials = Credentials::resolve("nobody", Some("daemon")).unwrap();
        assert_eq!((credentials.uid, credentials.gid), (nobody.uid, daemon));
        assert!(credentials.groups.contains(&daemon));
    }

    #[track_caller]
    fn check_numbers(user: &str, group: Option<&str>, expected: (u32, u32)) {
        let credentials = Credentials::resolve(user, group).unwrap();
        assert_eq!((credentials.uid, credentials.gid), expected);
    }

    #[test]
    fn numbers_stand_for_themselves() {
        check_numbers("65534", None, (65534, 65534));
        check_numbers("3999999999", None, (3_999_999_999, 3_999_999_999));
        check_numbers("3999999999", Some("7"), (3_999_999_999, 7));
        check_numbers("nobody", Some("4000"), (65534, 4000));
    }

    #[track_caller]
    fn check_missing(user: &str, group: Option<&str>, expected: &str) {
        assert_eq!(Credentials::resolve(user, group).unwrap_err().to_string(), expected);
    }

    #[test]
    fn missing_names_are_named() {
        check_missing("no-such-user", None, "there is no user \"no-such-user\"");
        check_missing("-1", None, "there is no user \"-1\"");
        check_missing("", None, "there is no user \"\"");
        check_missing("a\0b", None, "there is no user \"a\0b\"");
        check_missing("nobody", Some("no-such-group"), "there is no group \"no-such-group\"");
        assert!(user_by_uid(3_999_999_999).is_err());
    }
}
