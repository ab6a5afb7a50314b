//! How a case is written:
//!
//! ```text
//! === what it is about
//! http: lines for nginx's http block
//! server: lines for its server block
//! apache: lines for a virtual host of Apache, which is asked in the place of nginx
//! corral: a document, or an array of routes; a listener is added
//! compare: headers, beside the status and the body
//! file: PATH = CONTENT
//! get: /path  Header: value  Header: value
//! ask: METHOD /path  Header: value
//! differs: METHOD /path  Header: value = the reason why the answers to this one must differ
//! ```
//!
//! Lines that begin with a blank continue the one before; in the content of a file they are lines of it. `{root}` is
//! the folder of the files, `{origin}` the address of a server that answers with the request that it got, `{fpm}` that
//! of a php-fpm. Headers of requests are set apart by two blanks.

use corral_testkit::Request;
use serde_json::{Value, json};

/// One configuration of nginx, the same for Corral, and the requests that both are asked.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) http: String,
    pub(crate) server: String,
    pub(crate) apache: String,
    corral: String,
    pub(crate) compared: Vec<String>,
    pub(crate) files: Vec<(String, String)>,
    pub(crate) requests: Vec<CaseRequest>,
}

/// A request, and the line that it is written in.
pub(crate) struct CaseRequest {
    pub(crate) line: String,
    pub(crate) request: Request,
    /// Corral answers in another way on purpose.
    pub(crate) differs: bool,
}

/// The words in braces.
pub(crate) struct CasePlaces {
    pub(crate) root: String,
    pub(crate) origin: String,
    pub(crate) fpm: String,
}

impl CasePlaces {
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{root}", &self.root).replace("{origin}", &self.origin).replace("{fpm}", &self.fpm)
    }
}

impl Case {
    /// The document for Corral.
    #[track_caller]
    pub(crate) fn document(&self, places: &CasePlaces, address: &str) -> Value {
        let text = places.fill(&self.corral);
        let written: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", self.name));
        let mut document = if written.is_array() { json!({ "routes": written }) } else { written };
        let listener = document.as_object_mut().expect("an object").remove("listener");
        let mut listener = listener.unwrap_or_else(|| json!({}));
        let is_named = document["routes"].is_object();
        listener["pass"] = json!(if is_named { "routes/main" } else { "routes" });
        document["listeners"] = json!({ address: listener });
        document
    }

    fn add(&mut self, key: &str, value: &str) {
        match key {
            "http" => self.http += &format!("{value}\n"),
            "server" => self.server += &format!("{value}\n"),
            "apache" => self.apache += &format!("{value}\n"),
            "corral" => self.corral += value,
            "compare" => self.compared.extend(value.split_whitespace().map(str::to_owned)),
            "file" => {
                let (path, content) = value.split_once(" =").expect("a path and its content");
                self.files.push((path.trim().to_owned(), content.trim_start().to_owned()));
            }
            "get" => self.requests.push(request(&format!("GET {value}"), false)),
            "ask" => self.requests.push(request(value, false)),
            "differs" => {
                let (line, _reason) = value.split_once(" = ").expect("a request and the reason");
                self.requests.push(request(line, true));
            }
            _ => panic!("{}: \"{key}\" is not known", self.name),
        }
    }
}

fn request(line: &str, differs: bool) -> CaseRequest {
    let mut parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
    let (method, target) =
        parts.next().and_then(|first| first.split_once(' ')).expect("a method and a target");
    let request = parts.fold(Request::new(method, target), |request, field| {
        let (name, value) = field.split_once(':').expect("a header");
        request.field(name, value.trim())
    });
    CaseRequest { line: line.to_owned(), request, differs }
}

/// The cases of a text.
#[track_caller]
pub(crate) fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in logical_lines(text) {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            continue;
        }
        let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("no key in {line:?}"));
        cases.last_mut().expect("a name").add(key, value.trim());
    }
    cases
}

/// Lines with those that continue them; empty lines and comments are left out.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push('\n');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}
