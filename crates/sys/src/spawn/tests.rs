//! Real programs of the system, started in every way.

use std::fs::File;

use super::*;
use crate::isolation::Namespaces;
use crate::signal::Ended;

struct Run {
    argv: Vec<CString>,
    environment: Vec<CString>,
    directory: Option<CString>,
    credentials: Option<Credentials>,
    no_new_privileges: bool,
    wall: Option<OwnedFd>,
    isolation: Option<Isolation>,
}

fn shell(script: &str) -> Run {
    let argv = ["sh", "-c", script].map(|argument| CString::new(argument).unwrap());
    Run {
        argv: argv.into(),
        environment: vec![],
        directory: None,
        credentials: None,
        no_new_privileges: false,
        wall: None,
        isolation: None,
    }
}

impl Run {
    fn in_directory(mut self, directory: &str) -> Self {
        self.directory = Some(CString::new(directory).unwrap());
        self
    }

    fn with(mut self, variable: &str) -> Self {
        self.environment.push(CString::new(variable).unwrap());
        self
    }

    fn run_by(mut self, user: &str) -> Self {
        self.credentials = Some(Credentials::resolve(user, None).unwrap());
        self
    }

    fn start(&self, executable: Executable<'_>) -> Result<(String, Ended), SpawnError> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let program = Program {
            executable,
            argv: &self.argv,
            environment: &self.environment,
            pid_variable: Some("OWN_PID"),
            working_directory: self.directory.as_deref(),
            credentials: self.credentials.as_ref(),
            no_new_privileges: self.no_new_privileges,
            wall: self.wall.as_ref().map(AsFd::as_fd),
            isolation: self.isolation.as_ref(),
            fds: &[(writer.as_fd(), 1), (writer.as_fd(), 2), (writer.as_fd(), 7)],
            controlling_terminal: false,
        };
        let pid = program.spawn()?;
        drop(writer);
        let output = io::read_to_string(File::from(reader)).unwrap();
        Ok((output, signal::wait_for(pid).unwrap()))
    }

    fn run(&self) -> (String, Ended) {
        let sh = File::open("/bin/sh").unwrap();
        self.start(Executable::Open(sh.as_fd())).unwrap()
    }

    fn step_that_fails(&self) -> (StartStep, io::ErrorKind) {
        let sh = File::open("/bin/sh").unwrap();
        let error = self.start(Executable::Open(sh.as_fd())).unwrap_err();
        (error.step, error.source.kind())
    }
}

#[track_caller]
fn check(run: &Run, expected: &str) {
    assert_eq!(run.run(), (expected.to_owned(), Ended::Code(0)));
}

#[test]
fn only_the_given_descriptors_are_open() {
    check(&shell("for fd in /proc/self/fd/*; do [ -e $fd ] && echo ${fd##*/}; done"), "1\n2\n7\n");
}

#[test]
fn the_child_knows_its_own_number() {
    check(&shell("[ $OWN_PID = $$ ] && echo same"), "same\n");
    for pid in [1, 9, 10, 99_999, 4_194_304, i32::MAX] {
        let mut text = PidText::new("P");
        text.write(Pid::from_raw(pid).unwrap());
        assert_eq!(CStr::from_bytes_until_nul(&text.bytes).unwrap().to_str().unwrap(), format!("P={pid}"));
    }
}

#[test]
fn scripts_are_run_by_their_path() {
    let path = std::env::temp_dir().join(format!("corral-script-{}", std::process::id()));
    std::fs::write(&path, "#!/bin/sh\necho $1\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = CString::new(path.to_str().unwrap()).unwrap();
    let run = Run { argv: [c"script", c"hello"].map(ToOwned::to_owned).into(), ..shell("") };
    let ran = run.start(Executable::Path(&script));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ran.unwrap(), ("hello\n".to_owned(), Ended::Code(0)));
    let error = run.start(Executable::Path(c"/no/such/program")).unwrap_err();
    assert_eq!((error.step, error.source.kind()), (StartStep::Execute, io::ErrorKind::NotFound));
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    check(&shell("echo $A; echo ${HOME:-none}").with("A=1 2"), "1 2\nnone\n");
}

#[test]
fn the_directory_is_changed() {
    check(&shell("pwd").in_directory("/usr"), "/usr\n");
}

#[test]
fn signals_are_back_to_normal() {
    // The test harness ignores SIGPIPE (13) as every Rust program does.
    let script = "while read -r key value; do case $key in \
        SigBlk:) echo $((0x$value));; SigIgn:) echo $((0x$value & 0x7fffffff));; esac; done </proc/$$/status";
    check(&shell(script), "0\n0\n");
}

#[test]
fn a_group_of_its_own() {
    check(&shell("[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo leader"), "leader\n");
}

#[test]
fn exits_are_told_apart() {
    assert_eq!(shell("exit 7").run().1, Ended::Code(7));
    assert_eq!(shell("kill -9 $$").run().1, Ended::Signal(9));
}

#[test]
fn no_new_privileges_is_set_on_request() {
    let script = "grep NoNewPrivs /proc/$$/status | cut -f2";
    check(&shell(script), "0\n");
    check(&Run { no_new_privileges: true, ..shell(script) }, "1\n");
}

#[test]
fn nobody_behind_a_wall_reaches_those_outside() {
    let Some(wall) = landlock::wall() else {
        return eprintln!("skipped: this kernel has no Landlock with scopes");
    };
    let script = "kill -0 $PPID 2>/dev/null && echo outside; sleep 60 & kill $! && echo inside";
    check(&shell(script), "outside\ninside\n");
    check(&Run { no_new_privileges: true, wall: Some(wall), ..shell(script) }, "inside\n");
}

#[test]
fn a_process_keeps_what_it_was_set_apart_by() {
    // The parent writes the maps although other processes may not look into it, neither before nor after.
    process::set_undumpable().unwrap();
    let isolation = Isolation {
        namespaces: Namespaces { user: true, ..Namespaces::default() },
        maps: Some(IdMaps {
            users: format!("7 {} 1\n", user::effective_uid()),
            groups: format!("8 {} 1\n", user::effective_gid()),
            may_set_groups: false,
        }),
        ..Isolation::default()
    };
    let credentials = Credentials { uid: 7, gid: 8, groups: vec![] };
    let run = Run { credentials: Some(credentials), isolation: Some(isolation), ..shell("id -u; id -g") };
    check(&run, "7\n8\n");
}

#[test]
fn privileges_are_dropped_for_good() {
    if user::effective_uid() != 0 {
        return;
    }
    let (ids, _) = shell("id -u; id -g; grep CapEff /proc/$$/status | cut -f2").run_by("nobody").run();
    assert_eq!(ids, "65534\n65534\n0000000000000000\n");
    let (denied, _) = shell("cat /etc/shadow >/dev/null 2>&1 || echo denied").run_by("nobody").run();
    assert_eq!(denied, "denied\n");
}

#[test]
fn failures_name_their_step() {
    let missing = shell("true").in_directory("/no/such/directory");
    assert_eq!(missing.step_that_fails(), (StartStep::WorkingDirectory, io::ErrorKind::NotFound));

    let not_a_program = File::open("/etc/passwd").unwrap();
    let error = shell("true").start(Executable::Open(not_a_program.as_fd())).unwrap_err();
    assert_eq!((error.step, error.source.kind()), (StartStep::Execute, io::ErrorKind::PermissionDenied));
    assert_eq!(error.to_string(), "run the executable");
}

#[test]
fn a_test_with_its_harness_thread_is_not_forked() {
    assert!(fork().is_err(), "the harness runs this test in a second thread");
}
