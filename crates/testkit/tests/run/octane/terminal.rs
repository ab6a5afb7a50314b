//! Workers of `frankenphp run` have no terminal, as those of `corral run`.

use crate::terminal::Terminal;
use crate::terminals::check_and_interrupt;

use super::project::Project;

#[test]
fn no_worker_is_at_the_terminal() {
    let project = Project::new();
    let caddyfile = project.site.path("Caddyfile").display().to_string();
    let terminal = Terminal::running(project.address, &project.command(&["run", "-c", &caddyfile]));
    project.get("/").expect(200);
    // The command, and main as its child.
    check_and_interrupt(terminal, 2, 4);
}
