//! Advice about a folder of sources that Corral cannot start: what was seen, and what would help.

use std::path::{Path, PathBuf};

use super::folder::{INDEXES, MOST_SOURCES, entries, has, read_text};
use super::program::{self, PACKAGE, PROCFILE};
use super::{Site, python};

/// The content of a folder, and the remedy.
pub(super) type SourceAdvice = (String, String);

/// The step that is needed before a folder can be served; nothing for one that holds files for browsers.
pub(super) fn what_to_do(project: &Path) -> Option<SourceAdvice> {
    let looks = [package, python, ruby, php, archives, by_build_file, sources];
    looks.iter().find_map(|look| look(project))
}

/// Several projects, or one beside files for browsers.
pub(super) fn projects_below(folder: &Path, found: &[Site]) -> SourceAdvice {
    let name = |site: &Site| {
        let below = site.root.strip_prefix(folder).ok();
        let name = below.and_then(|below| below.components().next());
        name.map_or_else(|| site.root.clone(), |name| folder.join(name))
    };
    let what: Vec<_> = found.iter().map(ToString::to_string).collect();
    let remedies: Vec<_> = found.iter().map(|site| format!("corral run {}", name(site).display())).collect();
    let what = format!("projects below it ({})", what.join("; "));
    (what, format!("name the one to serve: {}", remedies.join(", or ")))
}

fn package(project: &Path) -> Option<SourceAdvice> {
    if let Err(error) = program::package(project)? {
        let what = format!("a {PACKAGE} that is not valid JSON ({error})");
        return Some((what, "mend it".to_owned()));
    }
    let remedy = match program::built_folder(project) {
        Some(folder) => format!("serve what was built: corral run {}", project.join(folder).display()),
        None => "add one to its \"scripts\", such as \"start\": \"node server.js\", or build it and name the folder \
                 that comes out, such as dist"
            .to_owned(),
    };
    Some((format!("a {PACKAGE} without a \"start\" script"), remedy))
}

fn python(project: &Path) -> Option<SourceAdvice> {
    if has(project, "manage.py") {
        let what = "a manage.py, but no folder with Django's wsgi.py or asgi.py".to_owned();
        return Some((what, "name Django's own folder of the project, or add its wsgi.py".to_owned()));
    }
    let module = python::modules(project).next().map(|module| format!("{module}.py"));
    let known_by = python::known_by(project);
    let what = match (&module, known_by) {
        (Some(file), _) => format!("a {file} in which neither \"app\" nor \"application\" is given a value"),
        (None, Some(file)) => format!("a {file}, but no application in wsgi.py, asgi.py, app.py or main.py"),
        (None, None) => return None,
    };
    let file = module.unwrap_or_else(|| "app.py".to_owned());
    let start = procfile(&format!("python3 {file}"));
    Some((
        what,
        format!("call its WSGI or ASGI application \"app\" there; if it is a server itself, {start}"),
    ))
}

fn ruby(project: &Path) -> Option<SourceAdvice> {
    let sinatra = with_extension(project, "rb").take(MOST_SOURCES).find_map(|path| {
        let text = read_text(&path);
        let class = text.lines().find_map(sinatra_class);
        let is_classic = || text.lines().any(|line| is_required(line, "sinatra"));
        class.or_else(|| is_classic().then(|| "Sinatra::Application".to_owned())).zip(name(&path))
    });
    if let Some((class, file)) = sinatra {
        let what = format!("{file}, an application of Sinatra, but no config.ru");
        let required = file.trim_end_matches(".rb");
        let remedy =
            format!("write one with the two lines `require_relative \"{required}\"` and `run {class}`");
        return Some((what, remedy));
    }
    has(project, "Gemfile").then(|| {
        let remedy = format!("write a config.ru that runs its application, or {}", procfile("COMMAND"));
        ("a Gemfile, but no config.ru".to_owned(), remedy)
    })
}

/// The class that a line defines, if that is an application of Sinatra.
fn sinatra_class(line: &str) -> Option<String> {
    let (class, parent) = line.trim().strip_prefix("class ")?.split_once('<')?;
    let is_one = ["Sinatra::Base", "Sinatra::Application"].contains(&parent.trim());
    is_one.then(|| class.trim().to_owned())
}

/// Whether a line of Ruby loads this.
fn is_required(line: &str, library: &str) -> bool {
    let argument = line.trim().strip_prefix("require").map(|rest| rest.trim_matches([' ', '(', ')']));
    argument.is_some_and(|argument| argument.trim_matches(['"', '\'']) == library)
}

fn php(project: &Path) -> Option<SourceAdvice> {
    let remedy = "name the folder that its index.php is in".to_owned();
    has(project, "composer.json").then(|| ("a composer.json, but no index.php".to_owned(), remedy))
}

/// Advice about several archives, none of which can be preferred.
fn archives(project: &Path) -> Option<SourceAdvice> {
    let archive = with_extension(project, "war").next()?;
    let remedy = format!("name the one to serve: corral run {}", archive.display());
    Some(("several .war files".to_owned(), remedy))
}

/// Files that show that something has to be built or started, with the language and the command.
const BUILD_FILES: [(&str, &str, &str); 9] = [
    ("pom.xml", "Java", "mvn package"),
    ("build.gradle", "Java", "gradle war"),
    ("build.gradle.kts", "Java", "gradle war"),
    ("go.mod", "Go", "go run ./cmd/NAME"),
    ("Cargo.toml", "Rust", "cargo run"),
    ("mix.exs", "Elixir", "mix phx.server"),
    ("deno.json", "JavaScript for Deno", "deno task start"),
    ("cpanfile", "Perl", "perl NAME.pl"),
    ("Makefile.PL", "Perl", "perl NAME.pl"),
];

fn by_build_file(project: &Path) -> Option<SourceAdvice> {
    let (file, language, command) = BUILD_FILES.into_iter().find(|(file, ..)| has(project, file))?;
    let what = format!("a project in {language} ({file}), but nothing that can be started");
    let remedy = if language == "Java" {
        format!(
            "build its .war first ({command}); if it is a server itself, {}",
            procfile("java -jar NAME.jar")
        )
    } else {
        procfile(command)
    };
    Some((what, remedy))
}

/// Extensions of sources; not those of scripts that browsers load.
const SOURCES: [&str; 20] = [
    "py", "rb", "pl", "psgi", "ru", "go", "rs", "java", "kt", "ts", "ex", "cs", "lua", "cgi", "c", "cpp",
    "sh", "jsp", "wsgi", "aspx",
];

/// Sources with nothing beside them that a browser would be shown.
fn sources(project: &Path) -> Option<SourceAdvice> {
    let is_shown = INDEXES.iter().any(|name| has(project, name));
    let source = SOURCES.iter().find_map(|extension| with_extension(project, extension).next());
    let file = source.filter(|_| !is_shown).and_then(|path| name(&path))?;
    let what = format!("sources ({file}), but nothing that is known to be an application");
    Some((what, procfile("COMMAND")))
}

fn procfile(command: &str) -> String {
    format!("write how it is started into a file named {PROCFILE}: `web: {command}`")
}

fn with_extension<'a>(folder: &Path, extension: &'a str) -> impl Iterator<Item = PathBuf> + use<'a> {
    let is_one =
        move |path: &PathBuf| path.extension().is_some_and(|found| found == extension) && path.is_file();
    entries(folder).into_iter().filter(is_one)
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}
