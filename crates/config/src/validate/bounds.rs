//! The greatest values of numbers that would cost the machine something, each with its reason. Rows name them
//! (`Label::at_most`); what no row bounds so has a range of its own where it is read, or costs nothing.

/// The greatest value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Maximum {
    pub(super) most: u32,
    /// The reason, as the end of a sentence.
    pub(super) why: &'static str,
}

impl Maximum {
    const fn new(most: u32, why: &'static str) -> Self {
        Self { most, why }
    }

    /// The words for a greater value.
    pub(super) fn refusal(&self, name: &str) -> String {
        format!("The \"{name}\" number must not exceed {}: {}.", self.most, self.why)
    }
}

/// Far more than a machine carries, which is asked when the configuration is applied.
pub(super) const PROCESSES: Maximum = Maximum::new(1_000_000, "each is a process of the system");

pub(super) const THREADS: Maximum =
    Maximum::new(1024, "each process starts as many threads, with a stack each");

pub(super) const THREAD_STACK: Maximum =
    Maximum::new(1 << 30, "every thread of every process has as many bytes of memory set aside");

/// Jobs of a queue for each process.
pub(super) const JOBS: Maximum = Maximum::new(1_000_000_000, "no process would ever be started");

/// Requests that wait, or that are with workers.
pub(super) const REQUESTS: Maximum = Maximum::new(1_000_000, "each request takes memory of the router");

/// Requests that one program has at a time.
pub(super) const PROGRAM_REQUESTS: Maximum =
    Maximum::new(100_000, "each request takes a connection to the process");

pub(super) const SCRIPTS: Maximum = Maximum::new(10_000, "each script is a process of the system");

pub(super) const KEPT_CONNECTIONS: Maximum = Maximum::new(100_000, "each connection takes an open file");

/// Clients that send datagrams.
pub(super) const SESSIONS: Maximum = Maximum::new(1_000_000, "each session takes a port and an open file");

/// Datagrams for one.
pub(super) const RESPONSES: Maximum =
    Maximum::new(1_000_000, "a client that lies about its address would have them sent to others");

pub(super) const RETRIES: Maximum = Maximum::new(1000, "each is a further connection for the same request");

/// Checks or failures in a row.
pub(super) const STREAK: Maximum = Maximum::new(1_000_000, "a server would never be judged");

pub(super) const TLS_SESSIONS: Maximum = Maximum::new(10_000_000, "each session takes memory of the router");

pub(super) const HEAD_BUFFER: Maximum =
    Maximum::new(16 << 20, "a client may fill each buffer before its request is known");

pub(super) const HEAD_BUFFERS: Maximum =
    Maximum::new(1024, "a client may fill them all before its request is known");

/// A buffer that is in memory as a whole.
pub(super) const IN_MEMORY: Maximum =
    Maximum::new(1 << 30, "as many bytes are held in memory for one client");

pub(super) const CGROUP_PIDS: Maximum = Maximum::new(4_194_304, "the system has no more");
