//! Jobs that wait until nothing is being applied.

use std::collections::VecDeque;

use corral_ipc::link::MAX_MESSAGE;
use corral_ipc::message::{GenerationId, Revocable, StartPolicy, Ticket};

use crate::configuration::build::Content;

/// Why a configuration is to be in force, and what happens when it is or cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The controller, under its own number.
    Change { generation: GenerationId, store: bool, start_policy: StartPolicy },
    /// The controller wants one application replaced, under its own number, or files have changed.
    RestartApp { ticket: Option<Ticket>, name: String },
    /// A new router has to learn what is in force.
    Restore,
    /// Listeners that could not be bound are tried again.
    Rebind,
}

impl Purpose {
    /// Whether what cannot start is done without: a server without one application or listener is
    /// better than none.
    pub(crate) fn tolerates_failures(&self) -> bool {
        match self {
            Self::Change { start_policy, .. } => *start_policy == StartPolicy::WhatStarts,
            Self::RestartApp { .. } => false,
            Self::Restore | Self::Rebind => true,
        }
    }

    /// The order of the controller that it stands for; `None` for one that main made itself.
    pub(crate) fn order(&self) -> Option<Revocable> {
        match self {
            Self::Change { generation, .. } => Some(Revocable::Change(*generation)),
            Self::RestartApp { ticket, .. } => ticket.map(Revocable::Restart),
            Self::Restore | Self::Rebind => None,
        }
    }

    /// The application that gets a new instance even if nothing has changed.
    pub(crate) fn replaces(&self) -> Option<&str> {
        match self {
            Self::RestartApp { name, .. } => Some(name.as_str()),
            Self::Change { .. } | Self::Restore | Self::Rebind => None,
        }
    }
}

/// A job for a time at which nothing else is being applied.
#[derive(Debug)]
pub(crate) enum Job {
    /// Put this configuration in force.
    Change { purpose: Purpose, content: Content },
    /// Put what is in force then in force again, with a new instance of one application.
    RestartApp { ticket: Option<Ticket>, name: String },
    /// Tell a new router what is in force then.
    Restore,
    /// Try to bind the listeners again that could not be bound.
    Rebind,
    /// Have another main process take over.
    Upgrade,
}

impl Job {
    /// As [`Purpose::order`].
    fn order(&self) -> Option<Revocable> {
        match self {
            Self::Change { purpose, .. } => purpose.order(),
            Self::RestartApp { ticket, .. } => ticket.map(Revocable::Restart),
            Self::Restore | Self::Rebind | Self::Upgrade => None,
        }
    }

    /// Bytes of what it is to put in force.
    fn size(&self) -> usize {
        match self {
            Self::Change { content, .. } => content.document.len() + content.assets.size(),
            Self::RestartApp { .. } | Self::Restore | Self::Rebind | Self::Upgrade => 0,
        }
    }
}

/// Changes that wait. Each has a whole configuration.
const MOST_JOBS: usize = 100;

/// Bytes of configurations that wait.
const MOST_WAITING: usize = 2 * MAX_MESSAGE;

/// Jobs in their order.
#[derive(Debug, Default)]
pub(super) struct Jobs(VecDeque<Job>);

impl Jobs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether more changes wait than people make.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_JOBS || self.0.iter().map(Job::size).sum::<usize>() > MOST_WAITING
    }

    pub(super) fn push(&mut self, job: Job) {
        self.0.push_back(job);
    }

    /// Has it done before all others.
    pub(super) fn push_first(&mut self, job: Job) {
        self.0.push_front(job);
    }

    /// Plans a restart that no request waits for, unless one is planned already.
    pub(super) fn restart_once(&mut self, name: String) {
        let is_same = |job: &Job| matches!(job, Job::RestartApp { name: other, .. } if *other == name);
        if !self.0.iter().any(is_same) {
            self.push(Job::RestartApp { ticket: None, name });
        }
    }

    /// The next one, or only if a router waits for it.
    pub(super) fn next(&mut self, only_restore: bool) -> Option<Job> {
        self.0.pop_front_if(|job| !only_restore || matches!(job, Job::Restore))
    }

    /// Takes out what the controller does not want any more. False if that does not wait.
    pub(super) fn revoke(&mut self, order: Revocable) -> bool {
        let n_before = self.0.len();
        self.0.retain(|job| job.order() != Some(order));
        self.0.len() < n_before
    }

    /// Forgets what the controller has asked for.
    pub(super) fn forget_controller(&mut self) {
        self.0.retain(|job| matches!(job, Job::Restore | Job::Rebind));
    }

    /// No router waits any more to be told what is in force.
    pub(super) fn forget_restore(&mut self) {
        self.0.retain(|job| !matches!(job, Job::Restore));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
