//! System calls that this process and its children are refused (seccomp).

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Why calls are not refused.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    /// This machine's numbers of system calls are not known.
    #[error("system calls cannot be filtered on this kind of processor")]
    Machine(#[source] seccompiler::BackendError),
    /// The kernel refused.
    #[error("filter system calls; this needs a kernel with CONFIG_SECCOMP_FILTER")]
    Refused(#[source] seccompiler::Error),
}

/// Refuses what no web application needs and attacks on kernels often do: changing namespaces, mounts, clocks
/// and the kernel itself, looking into other processes, and parts of the kernel that had many holes. Such a call
/// fails with EPERM. Programs can gain no privileges from now on. For a process with one thread.
///
/// # Errors
/// When the kernel cannot.
pub fn refuse_dangerous_calls() -> Result<(), SeccompError> {
    // The C library tries clone3, whose flags no filter can see, and then clone.
    let unknown = compile(vec![(libc::SYS_clone3, vec![])], libc::ENOSYS)?;
    let mut calls: Vec<_> = REFUSED.iter().chain(REFUSED_HERE).map(|number| (*number, vec![])).collect();
    calls.push((libc::SYS_clone, NAMESPACES.iter().map(|flag| has_flag(0, *flag)).collect()));
    calls.push((libc::SYS_ioctl, TERMINAL_INPUT.iter().map(|request| is(1, *request)).collect()));
    let refused = with_foreign_numbers(compile(calls, libc::EPERM)?);
    for filter in [&unknown, &refused] {
        seccompiler::apply_filter(filter).map_err(SeccompError::Refused)?;
    }
    Ok(())
}

/// Everything else is allowed. A call with rules is refused when one of them applies. Calls with the numbers
/// of another machine (32-bit ones) end the process.
fn compile(calls: Vec<(libc::c_long, Vec<SeccompRule>)>, errno: i32) -> Result<BpfProgram, SeccompError> {
    let machine = std::env::consts::ARCH.try_into().map_err(SeccompError::Machine)?;
    let rules: BTreeMap<i64, Vec<SeccompRule>> = calls.into_iter().collect();
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, machine);
    filter.and_then(TryInto::try_into).map_err(SeccompError::Machine)
}

fn has_flag(argument: u8, flag: libc::c_int) -> SeccompRule {
    let flag = u64::from(flag.unsigned_abs());
    rule(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
}

fn is(argument: u8, value: u64) -> SeccompRule {
    rule(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn rule(argument: u8, len: SeccompCmpArgLen, op: SeccompCmpOp, value: u64) -> SeccompRule {
    let condition = SeccompCondition::new(argument, len, op, value).expect("calls have six arguments");
    SeccompRule::new(vec![condition]).expect("it has a condition")
}

/// Refuses the x32 numbers, a second set on x86-64 by which the same calls can be made on some kernels.
#[cfg(target_arch = "x86_64")]
fn with_foreign_numbers(filter: BpfProgram) -> BpfProgram {
    use seccompiler::sock_filter;
    const FIRST_FOREIGN: u32 = 0x4000_0000;
    let first = [
        // Load the number of the call; if it is one of those, refuse.
        sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
        sock_filter { code: 0x35, jt: 0, jf: 1, k: FIRST_FOREIGN },
        sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs() },
    ];
    first.into_iter().chain(filter).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn with_foreign_numbers(filter: BpfProgram) -> BpfProgram {
    filter
}

const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWCGROUP,
];

/// Typing into another user's terminal: TIOCSTI and TIOCLINUX.
const TERMINAL_INPUT: &[u64] = &[0x5412, 0x541c];

// Newer than the C library's list. Calls since 2019 have the same number on all machines.
const STATMOUNT: libc::c_long = 457;
const LISTMOUNT: libc::c_long = 458;
const OPEN_TREE_ATTR: libc::c_long = 467;

const REFUSED: &[libc::c_long] = &[
    // Namespaces, mounts, roots.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    STATMOUNT,
    LISTMOUNT,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The kernel itself.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_vhangup,
    // Parts of it that had many holes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Clocks.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] =
    &[libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib];

#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];
