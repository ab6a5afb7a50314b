//! The file of `--control-token-file`: one line that requests to the control API have to show.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, bail};
use corral_ipc::message::ControlToken;

/// Reads the token; blanks around it do not count.
pub(super) fn read_token(path: &Path) -> anyhow::Result<ControlToken> {
    let text = fs::read_to_string(path).with_context(|| format!("read the token file {}", path.display()))?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let path = path.display();
        bail!("the token in {path} must be at least {SHORTEST} printable ASCII characters without blanks");
    }
    if fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o004 != 0) {
        tracing::warn!("the token file {} can be read by every user of this machine", path.display());
    }
    Ok(ControlToken(token.to_owned()))
}

/// Shorter tokens can be guessed.
const SHORTEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, content).unwrap();
        match (read_token(&path), expect) {
            (Ok(token), Ok(expect)) => assert_eq!(token.0, expect),
            (Err(error), Err(expect)) => assert!(format!("{error:#}").contains(expect), "{error:#}"),
            (token, _) => panic!("{content:?}: {token:?}"),
        }
    }

    #[test]
    fn a_token_is_one_word_that_is_long_enough() {
        check("0123456789abcdef\n", Ok("0123456789abcdef"));
        check("  0123456789/+=-_.~x  ", Ok("0123456789/+=-_.~x"));
        check("", Err("at least 16"));
        check("short", Err("at least 16"));
        check("0123456789 abcdef", Err("without blanks"));
        assert!(read_token(Path::new("/no/such/file")).unwrap_err().to_string().contains("/no/such/file"));
    }
}
