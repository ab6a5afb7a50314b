//! The step at which starting a child failed, on its way to the parent.

use std::fmt;

/// The step of a child at which starting it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartStep {
    /// Before there was a child.
    Fork,
    /// Leaving the session of its parent, and the terminal with it.
    Session,
    /// Making namespaces with it.
    Namespaces,
    /// Writing the map of users of its namespace.
    UserMap,
    /// Writing the map of groups of its namespace.
    GroupMap,
    /// Joining its control group.
    Cgroup,
    /// Making that the root of all that it sees of control groups.
    CgroupNamespace,
    /// Keeping its mounts for itself.
    Propagation,
    /// Finding its root.
    Root,
    /// The mount with this index.
    Mount(u16),
    /// Changing the root.
    ChangeRoot,
    /// Placing the descriptors.
    Descriptors,
    /// Making a terminal the one of its session.
    Terminal,
    /// Changing user and groups.
    Credentials,
    /// Putting it behind a wall.
    Wall,
    /// Changing to the working directory.
    WorkingDirectory,
    /// Running the program.
    Execute,
}

/// Bytes of a step on its way.
pub(super) const WIRE_LEN: usize = 3;

/// By their numbers. `Mount` comes with its index.
const STEPS: [StartStep; 17] = [
    StartStep::Fork,
    StartStep::Session,
    StartStep::Namespaces,
    StartStep::UserMap,
    StartStep::GroupMap,
    StartStep::Cgroup,
    StartStep::CgroupNamespace,
    StartStep::Propagation,
    StartStep::Root,
    StartStep::Mount(0),
    StartStep::ChangeRoot,
    StartStep::Descriptors,
    StartStep::Terminal,
    StartStep::Credentials,
    StartStep::Wall,
    StartStep::WorkingDirectory,
    StartStep::Execute,
];

impl StartStep {
    /// Async-signal-safe.
    pub(super) fn to_wire(self) -> [u8; WIRE_LEN] {
        let idx = if let Self::Mount(idx) = self { idx } else { 0 };
        let kind = if let Self::Mount(_) = self { Self::Mount(0) } else { self };
        let number = (0_u8..).zip(STEPS).find(|(_, step)| *step == kind).map_or(0, |(number, _)| number);
        let [a, b] = idx.to_ne_bytes();
        [number, a, b]
    }

    pub(super) fn from_wire([number, a, b]: [u8; WIRE_LEN]) -> Self {
        match STEPS.get(usize::from(number)) {
            Some(Self::Mount(_)) => Self::Mount(u16::from_ne_bytes([a, b])),
            step => step.copied().unwrap_or(Self::Fork),
        }
    }
}

impl fmt::Display for StartStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fork => "create a process",
            Self::Session => "give the new process a session of its own",
            Self::Namespaces => "create a process in namespaces of its own",
            Self::UserMap => "map the users of the new namespace",
            Self::GroupMap => "map the groups of the new namespace",
            Self::Cgroup => "move the new process to its control group",
            Self::CgroupNamespace => "create a namespace of control groups",
            Self::Propagation => "keep the mounts of the new process for itself",
            Self::Root => "open the new root",
            Self::Mount(_) => "mount below the new root",
            Self::ChangeRoot => "change the root",
            Self::Descriptors => "hand descriptors to the new process",
            Self::Terminal => "give the new process its terminal",
            Self::Credentials => "change to the user of the new process",
            Self::Wall => "keep the new process from others of its user",
            Self::WorkingDirectory => "change to the working directory",
            Self::Execute => "run the executable",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_arrive_as_they_were_sent() {
        for step in STEPS.into_iter().chain([StartStep::Mount(7), StartStep::Mount(u16::MAX)]) {
            assert_eq!(StartStep::from_wire(step.to_wire()), step);
        }
    }
}
