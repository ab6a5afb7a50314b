//! `corral config apply`: configuration files, with what lies beside them, to a running daemon.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use corral_config::plan::{AssetKind, Assets};

use crate::asset;
use crate::client::{self, ApiAnswer, Daemon};
use crate::files::{self, Seen};

/// The daemon's words of success.
pub(super) fn command(daemon: &Daemon, paths: &[PathBuf]) -> anyhow::Result<Vec<u8>> {
    let found = files::read(paths, &Seen::default()).map_err(|problems| anyhow!(problems.join("\n")))?;
    upload(daemon, &found.assets)?;
    let answer = daemon.put("/config", &found.manifest.document().compact())?;
    let problems = client::problems(&answer);
    if answer.status != 200 && !problems.is_empty() {
        bail!("{}:\n{}", title(&answer), files::lines(&found.manifest.locate(&problems)).join("\n"));
    }
    answer.into_body()
}

fn upload(daemon: &Daemon, assets: &Assets) -> anyhow::Result<()> {
    for kind in [AssetKind::Certificate, AssetKind::Script] {
        for asset in assets.of_kind(kind) {
            let target = format!("{}?replace=true&ca=true", asset::target(kind, &asset.name));
            let answer = daemon.put(&target, &asset.bytes)?;
            answer.into_body().map_err(|error| anyhow!("upload \"{}\": {error:#}", asset.name))?;
        }
    }
    Ok(())
}

/// The title of a refusal.
pub(super) fn title(answer: &ApiAnswer) -> String {
    let reply: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    reply["error"].as_str().unwrap_or("The daemon refused.").trim_end_matches('.').to_owned()
}
