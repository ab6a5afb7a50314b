//! Asks the daemon what the processes of an application have.

use anyhow::{Context, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use corral_config::address::ListenAddress;
use corral_config::plan::RuntimeSpec;
use corral_ipc::message::ExecContext;
use corral_sys::user;
use serde_json::Value;

use crate::asset::segment;
use crate::client::{Address, Daemon};

pub(super) fn context(application: &str, daemon: &Daemon) -> anyhow::Result<ExecContext> {
    if !matches!(daemon.address, Address::Socket(ListenAddress::Unix(_) | ListenAddress::Abstract(_))) {
        bail!(
            "\"{}\" is not a control socket of this machine: commands are run beside the daemon, by `corral exec` \
             there",
            daemon.address
        );
    }
    let answer = daemon.get(&format!("/control/applications/{}/exec", segment(application)))?;
    if answer.status == 404 {
        return Err(missing(application, daemon));
    }
    let uid = answer.uid;
    let answer: Value =
        serde_json::from_slice(&answer.into_body()?).context("understand the daemon's answer")?;
    check_version(&answer)?;
    let context = answer["context"].as_str().context("the daemon's answer has no context")?;
    let context = STANDARD.decode(context).context("decode the daemon's answer")?;
    let context = ExecContext::from_bytes(&context).context("decode the daemon's answer")?;
    let limit = if context.may_change_users { None } else { Some(context.daemon.uid) };
    if !is_trusted(uid, user::effective_uid(), limit) {
        bail!("the daemon behind this control socket is neither root's nor yours: its word is not taken");
    }
    Ok(context)
}

/// Whether the word of a daemon is taken, which decides what runs, and as which user. The word is taken if the daemon
/// is root's or of this user's `own`; root takes that of others for what these could do by themselves, as the user that
/// `limit` is.
fn is_trusted(daemon: Option<u32>, own: u32, limit: Option<u32>) -> bool {
    daemon.is_some_and(|daemon| daemon == 0 || daemon == own || (own == 0 && limit == Some(daemon)))
}

/// Refuses a daemon of another version: the contents of a context change from one version to the next.
fn check_version(answer: &Value) -> anyhow::Result<()> {
    let (own, version) = (env!("CARGO_PKG_VERSION"), answer["version"].as_str().unwrap_or("unknown"));
    if version != own {
        bail!("the daemon has version {version} and this command {own}; `corral upgrade` makes them equal");
    }
    Ok(())
}

fn missing(application: &str, daemon: &Daemon) -> anyhow::Error {
    let names = daemon.get("/config/applications").and_then(|answer| answer.into_body());
    let names = names.ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let names: Vec<_> = names.iter().filter_map(Value::as_object).flat_map(|all| all.keys()).collect();
    let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.is_empty() {
        true => anyhow!("there is no application \"{application}\", nor another one"),
        false => anyhow!("there is no application \"{application}\"; there is {}", quoted.join(", ")),
    }
}

/// A command that people run as such an application.
pub(super) fn usual_command(runtime: &RuntimeSpec) -> &'static str {
    match runtime {
        RuntimeSpec::Php(_) => "php artisan migrate",
        RuntimeSpec::Python(_) => "python manage.py shell",
        RuntimeSpec::Ruby(_) => "bundle exec rails console",
        RuntimeSpec::Perl(_)
        | RuntimeSpec::Http(_)
        | RuntimeSpec::Process(_)
        | RuntimeSpec::Wasm(_)
        | RuntimeSpec::Unusable(_) => "sh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(daemon: Option<u32>, own: u32, limit: Option<u32>, expected: bool) {
        assert_eq!(is_trusted(daemon, own, limit), expected);
    }

    #[test]
    fn another_user_s_daemon_decides_for_that_user_alone() {
        check(Some(0), 0, None, true);
        check(Some(0), 1000, None, true);
        check(Some(1000), 1000, Some(1000), true);
        check(Some(1000), 0, Some(1000), true);
        check(Some(1000), 1001, Some(1001), false);
        check(Some(1000), 0, Some(0), false);
        check(Some(1000), 0, None, false);
        check(None, 0, None, false);
    }
}
