//! A real nginx, ended when dropped.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use corral_testkit::{Address, Signal};

/// One that runs.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) address: Address,
}

impl Nginx {
    /// Starts one with these lines in its `http` and `server` blocks.
    pub(crate) fn start(folder: &Path, http: &str, server: &str, root: &str) -> Self {
        let address = Address::fresh();
        let configuration = folder.join("nginx.conf");
        fs::write(&configuration, text(folder, http, server, root, &address))
            .expect("write the configuration");
        let child = Command::new("/usr/sbin/nginx")
            .args(["-c", &configuration.display().to_string()])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("nginx starts: scripts/setup test");
        Self { child, address }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        corral_testkit::signal(self.child.id(), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn text(folder: &Path, http: &str, server: &str, root: &str, address: &Address) -> String {
    let folder = folder.display();
    format!(
        "user root; worker_processes 1; daemon off; error_log {folder}/nginx.log; pid {folder}/nginx.pid;\n\
         events {{}}\n\
         http {{ access_log off; include /etc/nginx/mime.types; default_type text/plain;\n\
         client_body_temp_path {folder}/body; fastcgi_temp_path {folder}/fastcgi; proxy_temp_path {folder}/proxy; absolute_redirect off;\n\
         uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; server_tokens off;\n\
         {http}\n\
         server {{ listen {address}; server_name localhost; root {root};\n{server}\n}} }}\n"
    )
}
