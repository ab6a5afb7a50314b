//! A real nginx or Apache, ended when dropped.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use corral_testkit::{Address, Signal};

use crate::case::{Case, CasePlaces};

/// One that runs.
pub(crate) struct Reference {
    child: Child,
    pub(crate) address: Address,
}

impl Reference {
    /// Starts the server that a case has lines for.
    pub(crate) fn start(case: &Case, places: &CasePlaces, folder: &Path) -> Self {
        let address = Address::fresh();
        let configuration = folder.join("reference.conf");
        let (program, option, text) = if case.apache.is_empty() {
            ("/usr/sbin/nginx", "-c", nginx(case, places, folder, &address))
        } else {
            ("/usr/sbin/apache2", "-f", apache(case, places, folder, &address))
        };
        fs::write(&configuration, text).expect("write the configuration");
        let mut command = Command::new(program);
        if !case.apache.is_empty() {
            command.arg("-DFOREGROUND");
        }
        // Apache ends its whole process group.
        let child = command
            .args([option, &configuration.display().to_string()])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("it starts: scripts/setup test");
        Self { child, address }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        corral_testkit::signal(self.child.id(), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn nginx(case: &Case, places: &CasePlaces, folder: &Path, address: &Address) -> String {
    let [http, server] = [&case.http, &case.server].map(|lines| places.fill(lines));
    let (folder, root) = (folder.display(), &places.root);
    format!(
        "user root; worker_processes 1; daemon off; error_log {folder}/nginx.log; pid {folder}/nginx.pid;\n\
         events {{}}\n\
         http {{ access_log off; include /etc/nginx/mime.types; default_type text/plain; absolute_redirect off;\n\
         client_body_temp_path {folder}/body; fastcgi_temp_path {folder}/fastcgi; proxy_temp_path {folder}/proxy;\n\
         uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; server_tokens off;\n\
         {http}\n\
         server {{ listen {address}; server_name localhost; root {root};\n{server}\n}} }}\n"
    )
}

fn apache(case: &Case, places: &CasePlaces, folder: &Path, address: &Address) -> String {
    let modules =
        ["mpm_prefork", "authz_core", "authz_host", "dir", "headers", "mime", "proxy", "proxy_fcgi"];
    let modules = modules.into_iter().chain(["rewrite", "setenvif"]);
    let modules: String = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .collect();
    let (folder, root, lines) = (folder.display(), &places.root, places.fill(&case.apache));
    format!(
        "{modules}Listen {address}\nServerName localhost\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n\
         DefaultRuntimeDir {folder}\nMutex flock:{folder} default\nUser nobody\nGroup nogroup\n\
         TypesConfig /etc/mime.types\nDocumentRoot {root}\n\
         <Directory {root}>\nAllowOverride All\nOptions +FollowSymLinks\nRequire all granted\n</Directory>\n\
         {lines}\n"
    )
}
