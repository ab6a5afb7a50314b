//! Section 26: the entrypoint of Unit's images.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use corral_testkit::{Address, Site, site};

use crate::tool::{Ended, Tool, text};

/// A container's folders, and a command that ends by itself after the setup.
struct Container {
    site: Site,
    address: Address,
}

impl Container {
    fn new(site: Site) -> Self {
        Self { site, address: Address::fresh() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.site.path(name)
    }

    /// `corral entrypoint` with a daemon as its command.
    fn entrypoint(&self, command: &[&str]) -> Tool {
        let arguments = [&["entrypoint"], command].concat();
        Tool::new(&arguments)
            .environment("CORRAL_ENTRYPOINT_DIR", text(&self.path("entrypoint.d")))
            .environment("CORRAL_ENTRYPOINT_WELCOME", text(&self.path("welcome")))
            .environment("CORRAL_ENTRYPOINT_LISTEN", &self.address.to_string())
            .environment("MARK", text(&self.path("mark")))
    }

    /// Runs the setup. The last option makes the daemon itself end at once, after the setup: the temporary
    /// daemon goes through the same program, which is told apart by `--no-daemon`.
    fn set_up(&self) -> Ended {
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *--no-daemon*) exec '{corral}' daemon \"$@\";; *) echo \"became $0 $*\";; \
            esac\n",
            corral = corral_testkit::executables().corral.display()
        );
        let program = self.path("bin/unitd");
        self.site.write("bin/unitd", script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("make it a program");
        let control = format!("unix:{}", self.path("control").display());
        let [state, pid, log] = ["state", "pid", "log"].map(|name| self.path(name));
        let options = [
            "--control",
            &control,
            "--statedir",
            text(&state),
            "--pid",
            text(&pid),
            "--log",
            text(&log),
            "--tmpdir",
            "/tmp",
        ];
        self.entrypoint(&[&[text(&program)], &options[..]].concat()).run()
    }

    fn stored(&self) -> String {
        fs::read_to_string(self.path("state/conf.json")).unwrap_or_default()
    }
}

fn answers(address: Address, status: u16) -> String {
    format!(
        "{{\"listeners\": {{\"{address}\": {{\"pass\": \"routes\"}}}}, \"routes\": [{{\"action\": {{\"return\": \
        {status}}}}}]}}"
    )
}

#[test]
fn files_are_applied_in_the_order_of_their_names() {
    let container = Container::new(site());
    container.site.write("entrypoint.d/20.json", answers(container.address, 202));
    container.site.write("entrypoint.d/10.json", answers(container.address, 201));
    container.site.write("entrypoint.d/sub/30.json", answers(container.address, 203));
    container.site.write("entrypoint.d/run.sh", "echo ran > \"$MARK\"");
    container.site.write("entrypoint.d/notes.txt", "hello");
    let ended = container.set_up();
    assert!(ended.success, "{ended:#?}");
    assert!(container.stored().contains("\"return\":203"), "the last one wins: {ended:#?}");
    assert_eq!(fs::read_to_string(container.path("mark")).expect("the script ran"), "ran\n");
    let said = &ended.stdout;
    let place = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text:?} is not in {said}"));
    assert!(place("10.json") < place("20.json") && place("20.json") < place("sub/30.json"), "{said}");
    assert!(place("sub/30.json") < place("launching"), "{said}");
    assert!(said.contains("ignoring") && said.contains("notes.txt"), "{said}");
    assert!(said.trim_end().lines().last().expect("a line").starts_with("became "), "{said}");
    assert!(!container.path("control").exists(), "the daemon of the setup is gone");
}

#[test]
fn state_is_left_alone() {
    let container = Container::new(site().file("state/conf.json", "{}"));
    container.site.write("entrypoint.d/10.json", answers(container.address, 201));
    let ended = container.set_up();
    assert!(ended.success && ended.stdout.contains("is not empty"), "{ended:#?}");
    assert_eq!(container.stored(), "{}");
}

#[test]
fn a_refusal_ends_the_container_with_code_and_body() {
    let container = Container::new(site().file("entrypoint.d/10.json", "{\"lisners\": {}}"));
    let ended = container.set_up();
    assert!(!ended.success, "{ended:#?}");
    for text in ["10.json", "'400'", "Invalid configuration.", "lisners"] {
        assert!(ended.stderr.contains(text), "{text:?} is not in {ended:#?}");
    }
    assert!(!ended.stdout.contains("became"), "{ended:#?}");
    assert!(!container.path("control").exists(), "the daemon of the setup is gone");
}

#[test]
fn a_script_that_fails_ends_the_container() {
    let container = Container::new(site().file("entrypoint.d/run.sh", "exit 3"));
    let ended = container.set_up();
    assert!(!ended.success && ended.stderr.contains("run.sh ended with"), "{ended:#?}");
}

#[test]
fn without_files_there_is_a_welcome() {
    for site in [site(), site().writable_folder("entrypoint.d")] {
        let container = Container::new(site);
        let ended = container.set_up();
        assert!(ended.success && ended.stdout.contains("welcome"), "{ended:#?}");
        let stored = container.stored();
        assert!(stored.contains("welcome.html") && stored.contains("welcome.md"), "{stored}");
        assert!(stored.contains(&container.address.to_string()), "{stored}");
    }
}

#[test]
fn other_commands_are_only_run() {
    let container = Container::new(site().file("entrypoint.d/10.json", "{"));
    let ended = container.entrypoint(&["echo", "hello", "--control"]).run();
    assert!(ended.success && ended.stdout == "hello --control\n", "{ended:#?}");
    container.entrypoint(&["/nonexistent/program"]).fails(&["/nonexistent/program"]);
    let version = container.entrypoint(&["unitd", "--version"]).run();
    assert!(version.success && version.stderr.starts_with("unit version"), "{version:#?}");
}
