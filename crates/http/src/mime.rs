//! MIME types by file name: the table of NGINX Unit 1.35 and the configured additions to it.

use std::collections::HashMap;

/// The types in force: the defaults and what `settings.http.static.mime_types` adds or replaces.
#[derive(Debug, Clone, Default)]
pub struct MimeTypes {
    /// Lower-case key (see `key`) to type.
    overrides: HashMap<Box<[u8]>, Box<[u8]>>,
}

impl MimeTypes {
    /// Adds a type for an extension (with its dot) or for a whole file name; replaces an earlier one.
    pub fn insert(&mut self, extension: &str, mime_type: &str) {
        let extension = extension.to_ascii_lowercase().into_bytes();
        self.overrides.insert(extension.into(), mime_type.as_bytes().into());
    }

    /// The type of the file at `path`, `None` when nothing is known about its name.
    pub fn lookup(&self, path: &[u8]) -> Option<&[u8]> {
        let key = key(path);
        let mut lower = [0; MAX_KEY];
        let lower = lower.get_mut(..key.len())?;
        lower.copy_from_slice(key);
        lower.make_ascii_lowercase();
        if !self.overrides.is_empty()
            && let Some(mime_type) = self.overrides.get(&*lower)
        {
            return Some(mime_type);
        }
        default_type(lower)
    }
}

/// A file name is at most 255 bytes long on Linux.
const MAX_KEY: usize = 255;

/// From the last dot of the file name on; the whole name when it has none.
fn key(path: &[u8]) -> &[u8] {
    let name = memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..]);
    memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot..])
}

fn default_type(key: &[u8]) -> Option<&'static [u8]> {
    let text = match key {
        b".html" | b".htm" => "text/html",
        b".css" => "text/css",
        b".txt" => "text/plain",
        b".md" => "text/markdown",
        b".rst" => "text/x-rst",
        b".svg" => "image/svg+xml",
        b".webp" => "image/webp",
        b".png" => "image/png",
        b".apng" => "image/apng",
        b".jpeg" | b".jpg" => "image/jpeg",
        b".gif" => "image/gif",
        b".ico" => "image/x-icon",
        b".avif" => "image/avif",
        b".avifs" => "image/avif-sequence",
        b".woff" => "font/woff",
        b".woff2" => "font/woff2",
        b".otf" => "font/otf",
        b".ttf" => "font/ttf",
        b".js" | b".mjs" => "application/javascript",
        b".json" => "application/json",
        b".xml" => "application/xml",
        b".rss" => "application/rss+xml",
        b".atom" => "application/atom+xml",
        b".pdf" => "application/pdf",
        b".zip" => "application/zip",
        b".mp3" => "audio/mpeg",
        b".ogg" => "audio/ogg",
        b".midi" | b".mid" => "audio/midi",
        b".flac" => "audio/flac",
        b".aac" => "audio/aac",
        b".wav" => "audio/wav",
        b".mpeg" | b".mpg" => "video/mpeg",
        b".mp4" => "video/mp4",
        b".webm" => "video/webm",
        b".avi" => "video/x-msvideo",
        b".exe" | b".bin" | b".dll" | b".iso" | b".img" | b".msi" | b".deb" | b".rpm" => {
            "application/octet-stream"
        }
        b".php" => "application/x-httpd-php",
        _ => return None,
    };
    Some(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: Option<&str>) {
        let mut types = MimeTypes::default();
        types.insert(".WASM", "application/wasm");
        types.insert("Makefile", "text/x-make");
        types.insert(".css", "text/mine");
        assert_eq!(types.lookup(path.as_bytes()), expect.map(str::as_bytes), "{path}");
    }

    #[test]
    fn a_type_is_found_by_the_last_extension_in_any_case() {
        check("/srv/a.html", Some("text/html"));
        check("/srv/a.tar.ZIP", Some("application/zip"));
        check("/srv/.png", Some("image/png"));
        check("a.JpEg", Some("image/jpeg"));
    }

    #[test]
    fn configured_types_come_first() {
        check("a.css", Some("text/mine"));
        check("a.wasm", Some("application/wasm"));
        check("/x/makefile", Some("text/x-make"));
        check("/x/makefile.html", Some("text/html"));
    }

    #[test]
    fn an_unknown_name_has_no_type() {
        check("/srv/html", None);
        check("/srv/a.html/b", None);
        check("/srv/a.", None);
        check("/srv/a.htmlx", None);
        check("", None);
        check(&format!("/{}", "n".repeat(300)), None);
    }
}
