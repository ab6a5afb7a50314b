//! Debian's nginx with a configuration of its own, in a temporary folder and at ports that were free.

use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Nginx {
    process: Child,
    folder: TempDir,
    ports: [u16; 2],
}

impl Nginx {
    /// Starts nginx with a server; `@A` and `@B` in its directives are ports, `@D` the folder.
    pub(crate) fn start(folder: TempDir, server: &str) -> Self {
        let ports = free_ports();
        let directory = folder.path().to_str().expect("temporary folders have plain names");
        let server = server.replace("@A", &ports[0].to_string()).replace("@B", &ports[1].to_string());
        let configuration = CONFIGURATION.replace("@SERVER", &server).replace("@D", directory);
        fs::write(folder.path().join("nginx.conf"), configuration).expect("the folder takes files");
        let process = Command::new("nginx")
            .args(["-p", directory, "-c", "nginx.conf", "-e", "error.log"])
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is installed: scripts/setup test");
        let nginx = Self { process, folder, ports };
        nginx.wait_until_ready();
        nginx
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}/", self.ports[0])
    }

    /// The lines of its access log, once there are so many.
    #[track_caller]
    pub(crate) fn log(&self, n_lines: usize) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().map(str::to_owned).collect();
            if lines.len() >= n_lines || Instant::now() > deadline {
                return lines;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.ports[0])).is_err() {
            let log = || fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "nginx does not listen: {}", log());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // As nginx ends its workers only if it is asked to.
        let pid = self.process.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        drop(self.process.wait());
    }
}

pub(crate) fn folder() -> TempDir {
    let folder = TempDir::new().expect("there is a place for temporary folders");
    // Workers of nginx may run as another user.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    folder
}

/// Ports that the system has chosen, free again.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("there is a free port"));
    listeners.map(|listener| listener.local_addr().expect("it has an address").port())
}

const CONFIGURATION: &str = r#"
daemon off;
worker_processes 1;
pid @D/nginx.pid;
error_log @D/error.log;
events { worker_connections 1024; }
http {
    log_format plain '$request $connection $status';
    access_log @D/access.log plain;
    client_body_temp_path @D/body;
    proxy_temp_path @D/proxy;
    fastcgi_temp_path @D/fastcgi;
    uwsgi_temp_path @D/uwsgi;
    scgi_temp_path @D/scgi;
    server { @SERVER }
}
"#;
