//! The files of `--control-token-file` and `--control-read-token-file`: one line that requests to the control API have
//! to show.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, bail};
use corral_ipc::message::ControlToken;

/// Reads both, as far as they are given. A token that is both would permit more than one of them says.
pub(super) fn read_tokens(
    full: Option<&Path>,
    read: Option<&Path>,
) -> anyhow::Result<[Option<ControlToken>; 2]> {
    let tokens = [full.map(read_token).transpose()?, read.map(read_token).transpose()?];
    if tokens[0].is_some() && tokens[0] == tokens[1] {
        bail!("the tokens of --control-token-file and --control-read-token-file must differ");
    }
    Ok(tokens)
}

/// Reads the token; blanks around it do not count.
fn read_token(path: &Path) -> anyhow::Result<ControlToken> {
    let text = fs::read_to_string(path).with_context(|| format!("read the token file {}", path.display()))?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let path = path.display();
        bail!(
            "the token in {path} must be at least {SHORTEST} printable ASCII characters without blanks; `openssl rand \
             -hex 32` makes a good one"
        );
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

    #[test]
    fn the_two_tokens_differ() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let (one, other) = (write("one", "0123456789abcdef"), write("other", "0123456789abcdeg"));
        let tokens = read_tokens(Some(&one), Some(&other)).unwrap().map(Option::unwrap);
        assert_eq!(tokens.map(|token| token.0), ["0123456789abcdef", "0123456789abcdeg"]);
        assert_eq!(read_tokens(None, None).unwrap(), [None, None]);
        let same = write("same", " 0123456789abcdef\n");
        assert!(read_tokens(Some(&one), Some(&same)).unwrap_err().to_string().contains("must differ"));
        let short = write("short", "0123456789abcde");
        assert!(read_tokens(Some(&one), Some(&short)).unwrap_err().to_string().contains("at least 16"));
    }
}
