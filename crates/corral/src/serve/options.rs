//! The options of `corral run`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Folder of the site, a component of WebAssembly, an archive of Java, or a configuration file
    #[arg(default_value = ".", conflicts_with = "config")]
    pub(crate) path: PathBuf,
    /// Serve what this JSON, YAML or folder of such files says; several are merged
    #[arg(long, value_name = "FILE|FOLDER")]
    #[arg(conflicts_with_all = ["listen", "workers", "php_ini", "files", "worker", "no_worker", "user", "command"])]
    pub(crate) config: Vec<PathBuf>,
    /// Serve changed code, or changed files of --config, from the next request on; so it is at a terminal
    #[arg(long, visible_alias = "reload")]
    watch: bool,
    /// Do not look for changes
    #[arg(long, conflicts_with = "watch")]
    no_watch: bool,
    /// Print the configuration that would be served, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Serve the folder's files as they are, whatever they are
    #[arg(long = "static", conflicts_with_all = ["workers", "php_ini", "worker"])]
    pub(crate) files: bool,
    /// Answer paths without an extension that are not there by index.html, as applications in the browser need it
    #[arg(long, conflicts_with_all = ["config", "command", "worker", "workers", "php_ini"])]
    pub(crate) spa: bool,
    /// Where to listen: a port of this machine, ADDRESS:PORT, *:PORT or unix:PATH [default: 127.0.0.1:8080, with
    /// --https 127.0.0.1:8443, with --domain *:443]
    #[arg(long, visible_alias = "bind", value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The port to listen on, in place of the one in --listen
    #[arg(long, short, conflicts_with_all = ["listen", "config"], value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// The address to listen on, in place of the one in --listen: 0.0.0.0 for all of this machine
    #[arg(long, conflicts_with_all = ["listen", "config"], value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// Serve https://localhost:8443, with a certificate of a local authority; see `corral trust`
    #[arg(long, conflicts_with = "config")]
    pub(crate) https: bool,
    /// Serve this host name by HTTPS, with automatic certificates; can be given several times. With --https, one
    /// more name for the local certificate, such as shop.localhost
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) domain: Vec<String>,
    /// With --domain: where to listen for plain HTTP, which is redirected [default: *:80]
    #[arg(long, value_name = "ADDRESS", requires = "domain", conflicts_with = "https")]
    pub(crate) listen_http: Option<String>,
    /// With --domain: where the certificate authority sends warnings to
    #[arg(long, value_name = "ADDRESS", requires = "domain", conflicts_with = "https")]
    pub(crate) email: Option<String>,
    /// With --domain: the directory of the certificate authority [default: that of Let's Encrypt]
    #[arg(long, value_name = "URL", requires = "domain", conflicts_with = "https")]
    pub(crate) acme_directory: Option<String>,
    /// With --acme-directory: certificates that the directory's own is verified by [default: the system's]
    #[arg(long, value_name = "FILE", requires = "acme_directory", conflicts_with = "https")]
    pub(crate) acme_ca: Option<PathBuf>,
    /// Processes of the application; as many as the work needs when not given
    #[arg(long, visible_alias = "processes", value_name = "NUMBER", value_parser = workers)]
    pub(crate) workers: Option<NonZeroU32>,
    /// Start this command of the shell, whatever is in the folder; it serves HTTP on the port in $PORT
    #[arg(long, value_name = "COMMAND", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    #[arg(conflicts_with_all = ["files", "php_ini", "worker", "no_worker"])]
    pub(crate) command: Option<String>,
    /// The user of the application, by name or number, when root starts this [default: the folder's owner; where that
    /// is root, `nobody`, in a container root]
    #[arg(long, value_name = "USER[:GROUP]")]
    pub(crate) user: Option<String>,
    /// A PHP script below the folder that stays in memory and answers all requests
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) worker: Option<PathBuf>,
    /// Load an application of PHP for each request, even if Octane or Symfony's runtime is installed
    #[arg(long, conflicts_with = "worker")]
    pub(crate) no_worker: bool,
    /// Run Laravel's queue and scheduler beside the site
    #[arg(long, conflicts_with_all = ["config", "files"])]
    pub(crate) background: bool,
    /// A php.ini setting, for example memory_limit=256M; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = php_setting)]
    pub(crate) php_ini: Vec<(String, String)>,
}

impl RunOptions {
    /// Whether changes take effect by themselves.
    pub(crate) fn watches(&self, at_terminal: bool) -> bool {
        self.watch || (at_terminal && !self.no_watch)
    }
}

/// As many as there are digits for; the configuration knows the bound.
fn workers(text: &str) -> Result<NonZeroU32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err(
            "without a process nothing would be answered: name 1 or more, or leave it out for as many as \
                      the work needs"
                .to_owned(),
        ),
        Ok(number) => NonZeroU32::new(number).ok_or_else(String::new),
        Err(_) => Err("a number of processes is expected, such as 4".to_owned()),
    }
}

fn php_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("a setting has the form KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_setting(text: &str, expected: Option<(&str, &str)>) {
        let found = php_setting(text).ok();
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn settings_have_a_key() {
        check_setting("memory_limit=256M", Some(("memory_limit", "256M")));
        check_setting("date.timezone = Europe/Rome", Some(("date.timezone", "Europe/Rome")));
        check_setting("a=b=c", Some(("a", "b=c")));
        check_setting("a=", Some(("a", "")));
        check_setting("=b", None);
        check_setting("memory_limit", None);
    }
}
