//! A page that leads a browser to a link, for this user alone. All users of the machine can read the arguments of its
//! programs, and would find the token there.

use std::ffi::OsString;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The page, in a folder that is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct LinkPage {
    folder: TempDir,
}

/// Programs find out by its end what it is.
const NAME: &str = "dashboard.html";

impl LinkPage {
    pub(super) fn write(link: &str) -> io::Result<Self> {
        Self::write_in(&place(|name| std::env::var_os(name)), link)
    }

    fn write_in(place: &Path, link: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let folder =
            builder.prefix("corral-").permissions(Permissions::from_mode(0o700)).tempdir_in(place)?;
        let page = Self { folder };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(page.path())?;
        file.write_all(html(link).as_bytes())?;
        Ok(page)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }
}

/// The folder for the page. A browser of a snap sees the user's home, without what is hidden there, and neither the
/// machine's temporary folder nor the folder of the session; one of a flatpak is handed the file itself.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let folder =
        |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
    let home_with_snaps = folder("HOME").filter(|home| home.join("snap").is_dir());
    home_with_snaps.or_else(|| folder("XDG_RUNTIME_DIR")).unwrap_or_else(std::env::temp_dir)
}

fn html(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Corral</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n<a href=\"{link}\">Dashboard</a>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_page_is_the_user_s_alone_and_goes() {
        let place = tempfile::tempdir().unwrap();
        let page = LinkPage::write_in(place.path(), "http://a/#token=b").unwrap();
        let path = page.path();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("content=\"0; url=http://a/#token=b\""), "{text}");
        drop(page);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_one_whatever_is_in_it() {
        let text = html("http://a/?b&c\"<d>");
        assert!(text.contains("href=\"http://a/?b&amp;c&quot;&lt;d>\">"), "{text}");
    }

    #[test]
    fn the_place_is_one_that_browsers_see() {
        let folder = tempfile::tempdir().unwrap();
        let (home, session) = (folder.path().join("home"), folder.path().join("session"));
        let place = || {
            place(|name| match name {
                "HOME" => Some(home.clone().into()),
                "XDG_RUNTIME_DIR" => Some(session.clone().into()),
                _ => None,
            })
        };
        fs::create_dir(&home).unwrap();
        assert_eq!(place(), std::env::temp_dir());
        fs::create_dir(&session).unwrap();
        assert_eq!(place(), session);
        fs::create_dir(home.join("snap")).unwrap();
        assert_eq!(place(), home);
    }
}
