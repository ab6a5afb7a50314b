//! Which files are code: changes of these alone restart an application that is worked on.

use std::ffi::OsStr;
use std::path::Path;

/// Folders of what is not the site's own code, or is written while it runs.
const NOT_ENTERED: [&str; 20] = [
    "node_modules",
    "vendor",
    "__pycache__",
    "venv",
    "env",
    "log",
    "logs",
    "tmp",
    "temp",
    "cache",
    "var",
    "storage",
    "data",
    "uploads",
    "media",
    "coverage",
    "static",
    "htmlcov",
    "site-packages",
    "obj",
];

/// Extensions of code and of templates.
const CODE: [&str; 58] = [
    "py", "pyi", "so", "rb", "ru", "rake", "erb", "haml", "slim", "pl", "pm", "psgi", "t", "ep", "tt", "tx",
    "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "vue", "svelte", "go", "mod", "sum", "rs", "java",
    "kt", "scala", "groovy", "jsp", "jspx", "tag", "class", "jar", "war", "wasm", "html", "htm", "jinja",
    "jinja2", "j2", "mako", "ejs", "hbs", "pug", "tmpl", "tpl", "gohtml", "graphql", "php", "phtml", "twig",
    "latte",
];

/// Names of files that decide how a program runs.
const NAMES: [&str; 10] = [
    ".env",
    "package.json",
    "Procfile",
    "Gemfile",
    "Gemfile.lock",
    "requirements.txt",
    "pyproject.toml",
    "cpanfile",
    "web.xml",
    "tsconfig.json",
];

/// Whether a folder is followed.
pub(crate) fn enters(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".") && NOT_ENTERED.iter().all(|other| name != *other)
}

/// Whether a file is code or a template, or decides how a program runs.
pub(crate) fn is_code(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    // Editors write beside a file before they replace it.
    let is_visible = !name.as_encoded_bytes().starts_with(b".");
    NAMES.iter().any(|other| name == *other) || (is_visible && CODE.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_by_its_name() {
        for path in ["/a/app.py", "/a/x.rb", "/a/server.mjs", "/a/.env", "/a/package.json", "/a/t/x.html.erb"]
        {
            assert!(is_code(Path::new(path)), "{path}");
        }
        for path in
            ["/a/db.sqlite3", "/a/x.log", "/a/.app.py.swp", "/a/.#app.py", "/a/app.py~", "/a/data.json"]
        {
            assert!(!is_code(Path::new(path)), "{path}");
        }
        assert!(
            enters(OsStr::new("templates"))
                && !enters(OsStr::new(".git"))
                && !enters(OsStr::new("node_modules"))
        );
    }
}
