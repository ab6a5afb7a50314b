//! A real nginx or Apache, which Corral is compared with.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::address::Address;
use crate::processes::{Signal, signal};

/// Another server that runs; ended when dropped.
#[derive(Debug)]
pub struct Reference {
    child: Child,
    address: Address,
}

impl Reference {
    /// Starts nginx with these lines in its `http` and `server` blocks. Its own files are in `folder`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn nginx(folder: &Path, root: &str, http: &str, server: &str) -> Self {
        let address = Address::fresh();
        let folder_name = folder.display();
        let text = format!(
            "user root; worker_processes 1; daemon off;\n\
             error_log {folder_name}/nginx.log; pid {folder_name}/nginx.pid;\n\
             events {{}}\n\
             http {{ access_log off; include /etc/nginx/mime.types; default_type text/plain; absolute_redirect off;\n\
             client_body_temp_path {folder_name}/body; fastcgi_temp_path {folder_name}/fastcgi;\n\
             proxy_temp_path {folder_name}/proxy; uwsgi_temp_path {folder_name}/uwsgi;\n\
             scgi_temp_path {folder_name}/scgi; server_tokens off;\n\
             {http}\n\
             server {{ listen {address}; root {root};\n{server}\n}} }}\n"
        );
        Self::start("/usr/sbin/nginx", &["-c"], folder, &text, address)
    }

    /// Starts Apache with these lines in its configuration; it obeys `.htaccess` below `root`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn apache(folder: &Path, root: &str, lines: &str) -> Self {
        let address = Address::fresh();
        let modules: String = APACHE_MODULES
            .iter()
            .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
            .collect();
        let folder_name = folder.display();
        let text = format!(
            "{modules}Listen {address}\nPidFile {folder_name}/apache.pid\nErrorLog {folder_name}/apache.log\n\
             DefaultRuntimeDir {folder_name}\nMutex flock:{folder_name} default\nUser nobody\nGroup nogroup\n\
             TypesConfig /etc/mime.types\nDocumentRoot {root}\n\
             <Directory {root}>\nAllowOverride All\nOptions +FollowSymLinks\nRequire all granted\n</Directory>\n\
             {lines}\n"
        );
        Self::start("/usr/sbin/apache2", &["-DFOREGROUND", "-f"], folder, &text, address)
    }

    fn start(program: &str, arguments: &[&str], folder: &Path, text: &str, address: Address) -> Self {
        let configuration = folder.join("reference.conf");
        fs::write(&configuration, text).expect("write the configuration");
        // Apache ends its whole process group.
        let mut command = Command::new(program);
        command.args(arguments).arg(&configuration).stdin(Stdio::null()).process_group(0);
        Self { child: command.spawn().expect("it starts: scripts/setup test"), address }
    }

    /// The address that it listens on, some time after it was started.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }
}

const APACHE_MODULES: [&str; 10] = [
    "mpm_prefork",
    "authz_core",
    "authz_host",
    "dir",
    "headers",
    "mime",
    "proxy",
    "proxy_fcgi",
    "rewrite",
    "setenvif",
];

impl Drop for Reference {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        let _ = self.child.wait();
    }
}
