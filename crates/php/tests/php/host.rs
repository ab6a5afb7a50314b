//! A `corral-php prototype` as main starts it, with this test in the place of main and router.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use corral_channel::message;
use corral_channel::{
    Bell, ChannelShape, Flags, FrameHead, FrameKind, Lane, LaneReceiver, RequestId, RequestSlot, WorkerPort,
};
use corral_config::plan::{
    AppSpec, Isolation, Limits, PhpSpec, PhpTarget, PoolGrowth, Processes, Restart, RuntimeSpec,
};
use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, ToPrototype, WorkerId};
use corral_sys::spawn::{Executable, Program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use crate::messages::{Request, Response};

const SHAPE: ChannelShape = ChannelShape { n_lanes: 1 };
const LANE: Lane = Lane(0);

/// How long anything may take before the test gives up.
const DEADLINE: Duration = Duration::from_secs(30);

/// An application before it is started.
pub(crate) struct App {
    folder: TempDir,
    php: PhpSpec,
    limits: Limits,
    environment: Vec<String>,
    stderr: Option<PathBuf>,
}

/// An application with the given scripts in its root.
pub(crate) fn app(files: &[(&str, &str)]) -> App {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let target = PhpTarget {
        name: String::new(),
        root,
        root_varies: false,
        script: None,
        index: "index.php".into(),
        worker: None,
    };
    let php = PhpSpec { targets: vec![target], ..PhpSpec::default() };
    let app = App { folder, php, limits: Limits::default(), environment: vec![], stderr: None };
    for (name, content) in files {
        app.write(name, content);
    }
    app.admin("opcache.revalidate_freq", "0").admin("opcache.file_update_protection", "0")
}

impl App {
    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(&self.php.targets[0].root).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.php.targets[0].root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn admin(mut self, name: &str, value: &str) -> Self {
        self.php.admin.push((name.into(), value.into()));
        self
    }

    pub(crate) fn user(mut self, name: &str, value: &str) -> Self {
        self.php.user.push((name.into(), value.into()));
        self
    }

    pub(crate) fn script(mut self, script: &str) -> Self {
        self.php.targets[0].script = Some(script.into());
        self
    }

    pub(crate) fn target(mut self, name: &str, root: &str, script: Option<&str>) -> Self {
        let root = self.php.targets[0].root.join(root);
        let script = script.map(PathBuf::from);
        self.php.targets.push(PhpTarget {
            root_varies: false,
            name: name.into(),
            root,
            script,
            index: "index.php".into(),
            worker: None,
        });
        self
    }

    pub(crate) fn sapi_name(mut self, name: &str) -> Self {
        self.php.sapi_name = Some(name.into());
        self
    }

    pub(crate) fn ini_file(mut self, content: &str) -> Self {
        let path = self.folder.path().join("php.ini");
        fs::write(&path, content).unwrap();
        self.php.ini_file = Some(path);
        self
    }

    pub(crate) fn variable(mut self, variable: &str) -> Self {
        self.environment.push(variable.into());
        self
    }

    pub(crate) fn stderr(mut self, path: &Path) -> Self {
        self.stderr = Some(path.into());
        self
    }

    pub(crate) fn requests(mut self, n: u32) -> Self {
        self.limits.requests = std::num::NonZeroU32::new(n);
        self
    }

    /// Starts the prototype and waits until it is ready.
    #[track_caller]
    pub(crate) fn start(self) -> Host {
        let (host, answer) = self.launch();
        host.expect_ready(answer)
    }

    /// Starts a prototype that is going to fail, and returns its reason.
    #[track_caller]
    pub(crate) fn fail(self) -> String {
        match self.launch().1 {
            (FromPrototype::Failed { reason }, _) => reason,
            (other, _) => panic!("the prototype says {other:?}"),
        }
    }

    fn launch(self) -> (Starting, (FromPrototype, Vec<std::os::fd::OwnedFd>)) {
        let log = self.folder.path().join("log");
        let (link, theirs) = Link::pair().unwrap();
        let pid = spawn(&self, &theirs, &File::create(&log).unwrap());
        drop(theirs);
        let spec = self.spec();
        link.send(&ToPrototype::Start { spec, n_lanes: SHAPE.n_lanes }, &[]).unwrap();
        let answer = link
            .recv::<FromPrototype>()
            .unwrap()
            .unwrap_or_else(|| panic!("the prototype is gone: {}", fs::read_to_string(&log).unwrap()));
        (Starting { app: self, link, log, pid }, answer)
    }

    fn spec(&self) -> AppSpec {
        AppSpec {
            name: "test".into(),
            module: env!("CARGO_BIN_EXE_corral-php").into(),
            user: None,
            group: None,
            working_directory: None,
            environment: vec![],
            inherit_environment: true,
            stdout: None,
            stderr: self.stderr.clone(),
            isolation: Isolation::default(),
            processes: Processes {
                max: std::num::NonZeroU32::MIN,
                spare: 1,
                idle_timeout: Duration::from_secs(15),
                growth: PoolGrowth::ByRequests,
            },
            limits: self.limits.clone(),
            restart: Restart::default(),
            runtime: RuntimeSpec::Php(self.php.clone()),
        }
    }
}

fn spawn(app: &App, link: &Link, log: &File) -> rustix::process::Pid {
    // Another build of the host, or one under a tool such as valgrind.
    let other = std::env::var_os("CORRAL_PHP_HOST");
    let executable = File::open(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_corral-php").into())).unwrap();
    let argv = ["corral-php", "prototype"].map(|argument| CString::new(argument).unwrap());
    let path = ["PATH=/usr/bin:/bin".to_owned()];
    let variables = path.iter().chain(&app.environment);
    let environment: Vec<_> = variables.map(|variable| CString::new(variable.as_str()).unwrap()).collect();
    let null = File::open("/dev/null").unwrap();
    let program = Program {
        executable: Executable::Open(executable.as_fd()),
        argv: &argv,
        environment: &environment,
        pid_variable: None,
        working_directory: None,
        credentials: None,
        no_new_privileges: false,
        wall: None,
        isolation: None,
        controlling_terminal: false,
        fds: &[(null.as_fd(), 0), (log.as_fd(), 1), (log.as_fd(), 2), (link.as_fd(), 3)],
    };
    program.spawn().unwrap()
}

struct Starting {
    app: App,
    link: Link,
    log: PathBuf,
    pid: rustix::process::Pid,
}

impl Starting {
    #[track_caller]
    fn expect_ready(self, answer: (FromPrototype, Vec<std::os::fd::OwnedFd>)) -> Host {
        let (FromPrototype::Ready, mut descriptors) = answer else {
            panic!("the prototype says {:?}", answer.0);
        };
        let memory = descriptors.remove(0);
        let bell = Bell::map(memory, descriptors, 1).unwrap();
        Host { app: self.app, link: self.link, log: self.log, pid: self.pid, bell, n_workers: 0 }
    }
}

/// A prototype that is ready.
pub(crate) struct Host {
    app: App,
    link: Link,
    log: PathBuf,
    pid: rustix::process::Pid,
    bell: Bell,
    n_workers: u32,
}

impl Host {
    /// Forks a worker.
    #[track_caller]
    pub(crate) fn worker(&mut self) -> Worker {
        let number = WorkerId(self.n_workers);
        self.n_workers += 1;
        self.link.send(&ToPrototype::Fork { worker: number }, &[]).unwrap();
        let (message, mut descriptors) = self.link.recv::<FromPrototype>().unwrap().unwrap();
        let FromPrototype::Forked { worker, pid, .. } = message else {
            panic!("the prototype says {message:?}");
        };
        assert_eq!(worker, number);
        let (port, mut lanes) = WorkerPort::map(descriptors.swap_remove(0), SHAPE).unwrap();
        Worker { number, pid, port, lane: lanes.pop().unwrap(), n_requests: 0 }
    }

    /// Waits until a worker has ended.
    #[track_caller]
    pub(crate) fn exit_of(&self, worker: &Worker) -> Exit {
        let timeout = Timespec::try_from(DEADLINE).unwrap();
        let n_ready = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&timeout)).unwrap();
        assert_eq!(n_ready, 1, "the worker does not end");
        match self.link.recv::<FromPrototype>().unwrap().unwrap().0 {
            FromPrototype::Exited { worker: ended, exit } if ended == worker.number => exit,
            other => panic!("the prototype says {other:?}"),
        }
    }

    pub(crate) fn kill(&self, worker: &Worker) {
        self.link.send(&ToPrototype::Kill { worker: worker.number }, &[]).unwrap();
    }

    /// Ends everything and returns how the prototype ended.
    pub(crate) fn stop(self) -> corral_sys::signal::Ended {
        self.link.send(&ToPrototype::Stop, &[]).unwrap();
        corral_sys::signal::wait_for(self.pid).unwrap()
    }

    /// Ends the prototype as the kernel does when memory is short.
    pub(crate) fn kill_prototype(self) {
        corral_sys::signal::kill(self.pid, corral_sys::signal::Signal::KILL).unwrap();
        corral_sys::signal::wait_for(self.pid).unwrap();
    }

    /// Goes away as a main that dies, and returns how the prototype ended.
    pub(crate) fn vanish(self) -> corral_sys::signal::Ended {
        let Self { link, pid, .. } = self;
        drop(link);
        corral_sys::signal::wait_for(pid).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }
}

/// A worker and the router's side of its channel.
pub(crate) struct Worker {
    pub(crate) number: WorkerId,
    pub(crate) pid: u32,
    pub(crate) port: WorkerPort,
    lane: LaneReceiver,
    n_requests: u32,
}

/// A request that was sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) id: RequestId,
    pub(crate) slot: RequestSlot,
}

impl Worker {
    /// Sends a request and waits until the worker is free again.
    #[track_caller]
    pub(crate) fn ask(&mut self, host: &Host, request: &Request) -> Response {
        let sent = self.submit(request);
        self.answer(host, sent, request)
    }

    /// Queues a request; its body too when it travels inline.
    pub(crate) fn submit(&mut self, request: &Request) -> Sent {
        let id = RequestId(self.n_requests);
        let slot = RequestSlot::new(self.n_requests as usize % corral_channel::N_SLOTS).unwrap();
        self.n_requests += 1;
        self.port.submit(slot, id, LANE, &[&request.encode()]).unwrap();
        self.port.wake();
        Sent { id, slot }
    }

    /// Sends the rest of a body and takes frames until the worker is free again.
    #[track_caller]
    pub(crate) fn answer(&mut self, host: &Host, sent: Sent, request: &Request) -> Response {
        let mut body = if request.is_inline() { &[][..] } else { &request.body[..] };
        let mut window = 0;
        let mut response = Response::default();
        loop {
            while !body.is_empty() && window > 0 {
                let n = body.len().min(window).min(16 * 1024);
                let (now, later) = body.split_at(n);
                self.port.body(sent.id, LANE, now, later.is_empty()).unwrap();
                self.port.wake();
                (body, window) = (later, window - n);
            }
            let (head, payload) = self.frame(host);
            assert_eq!(head.request, sent.id, "a frame of another request");
            if head.kind == FrameKind::BodyCredit {
                window += head.aux as usize;
            } else if self.take(&mut response, head, &payload) {
                return response;
            }
        }
    }

    /// Adds a frame to a response, gives credit for it, and says whether the request is done.
    pub(crate) fn take(&mut self, response: &mut Response, head: FrameHead, payload: &[u8]) -> bool {
        response.frames.push((head.kind, head.flags));
        let mut piece = payload;
        if head.kind == FrameKind::Response {
            let (view, body_offset) = message::decode_response(payload).unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            response.status = view.status;
            response.fields = view.fields.map(|(name, value)| (text(name), text(value))).collect();
            piece = &payload[body_offset..];
        }
        response.body.extend_from_slice(piece);
        let done = head.flags.contains(Flags::DONE);
        if !piece.is_empty() && !done {
            self.port.credit(head.request, LANE, piece.len() as u32).unwrap();
            self.port.wake();
        }
        done
    }

    /// The next frame, without giving credit for it.
    #[track_caller]
    pub(crate) fn frame(&mut self, host: &Host) -> (FrameHead, Vec<u8>) {
        let until = Instant::now() + DEADLINE;
        let mut payload = vec![];
        loop {
            if let Some(head) = self.lane.recv(&mut payload).unwrap() {
                if !self.lane.has_frames() {
                    self.lane.wake_producer();
                }
                return (head, payload);
            }
            assert!(Instant::now() < until, "the worker is silent; log: {}", host.log());
            self.sleep(host, Duration::from_secs(1));
        }
    }

    /// Whether nothing arrives for a moment.
    pub(crate) fn is_silent(&mut self, host: &Host) -> bool {
        self.sleep(host, Duration::from_millis(200));
        !self.lane.has_frames()
    }

    fn sleep(&self, host: &Host, at_most: Duration) {
        host.bell.announce_sleep(LANE);
        if !self.lane.has_frames() {
            let eventfd = host.bell.eventfd(LANE).unwrap();
            let timeout = Timespec::try_from(at_most).unwrap();
            poll(&mut [PollFd::new(&eventfd, PollFlags::IN)], Some(&timeout)).unwrap();
            let _ = rustix::io::read(eventfd, &mut [0; 8]);
        }
        host.bell.cancel_sleep(LANE);
    }

    pub(crate) fn cancel(&mut self, sent: Sent) {
        self.port.cancel(sent.id, LANE).unwrap();
        self.port.wake();
    }

    pub(crate) fn credit(&mut self, sent: Sent, bytes: u32) {
        self.port.credit(sent.id, LANE, bytes).unwrap();
        self.port.wake();
    }

    pub(crate) fn take_back(&mut self, sent: Sent) -> bool {
        self.port.take_back(sent.slot, sent.id, LANE)
    }

    pub(crate) fn quit(&mut self) {
        self.port.quit().unwrap();
        self.port.wake();
    }
}

/// A file whose appearance a script waits for, or the other way round.
pub(crate) fn wait_for(path: &Path) {
    let until = Instant::now() + DEADLINE;
    while !path.exists() {
        assert!(Instant::now() < until, "{} does not appear", path.display());
        std::thread::yield_now();
    }
}
