//! `$schema` and `corral schema`: what editors know of configuration files, judged by a validator of JSON Schema.

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use corral_testkit::{daemon, site};
use serde_json::{Value, json};

use crate::tool::Tool;

/// The schema, compiled as an editor does.
struct EditorSchema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl EditorSchema {
    fn of_this_version() -> Self {
        let schema = serde_json::from_str(&Tool::new(&["schema"]).output()).expect("the schema is JSON");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("corral.json", schema).expect("the schema has a draft");
        let index = compiler.compile("corral.json", &mut schemas).expect("the schema is valid");
        Self { schemas, index }
    }

    /// The complaint that an editor would show, in words.
    fn complaint(&self, document: &Value) -> Option<String> {
        self.schemas.validate(document, self.index).err().map(|error| format!("{error:#}"))
    }

    #[track_caller]
    fn check(&self, document: Value, expected: Option<&str>) {
        let complaint = self.complaint(&document);
        match expected {
            None => assert_eq!(complaint, None, "{document}"),
            Some(words) => {
                let complaint = complaint.unwrap_or_else(|| panic!("{document} is right"));
                assert!(complaint.contains(words), "{words:?} is not in {complaint}");
            }
        }
    }
}

/// Options: $schema
#[test]
fn a_configuration_may_name_its_schema() {
    let server = daemon().start_unconfigured();
    for schema in ["", "./corral.schema.json", "https://example.org/corral.schema.json"] {
        let document = json!({ "$schema": schema, "listeners": {} });
        server.control().put("/config", &document).expect_done();
        assert_eq!(server.control().get("/config").json(), document, "it is kept");
    }
    let wrong = server.control().put("/config", &json!({ "$schema": 7 }));
    wrong.expect_refused(400, "Invalid configuration.");
    let nested = json!({ "settings": { "$schema": "" } });
    server.control().put("/config", &nested).expect_refused(400, "Invalid configuration.");
}

#[test]
fn each_of_several_files_may_name_its_schema() {
    let site = site()
        .file("conf/a.json", r#"{"$schema": "./a.json", "listeners": {}}"#)
        .file("conf/b.json", r#"{"$schema": "./b.json", "routes": []}"#)
        .file("conf/c.yaml", "# yaml-language-server: $schema=./c.json\nupstreams: {}\n");
    Tool::new(&["check", "conf"]).folder(&site.path("")).output();
}

#[test]
fn editors_underline_what_is_wrong() {
    let schema = EditorSchema::of_this_version();
    schema.check(json!({}), None);
    schema.check(json!({ "$schema": "x", "listeners": { "*:80": { "pass": "routes" } } }), None);
    schema.check(json!({ "listners": {} }), Some("listners"));
    schema.check(json!({ "listeners": { "*:80": { "pass": 80 } } }), Some("/listeners/*:80/pass"));
    schema.check(json!({ "listeners": { "*:80": { "port": 80 } } }), Some("port"));
    schema.check(json!({ "routes": [{ "action": { "return": true } }] }), Some("/routes/0/action/return"));
    schema.check(json!({ "routes": { "a": [{ "action": { "share": [1] } }] } }), None);
    schema.check(json!({ "applications": { "a": { "type": "php", "processes": true } } }), Some("processes"));
    schema.check(json!({ "applications": { "a": {} } }), None);
    schema.check(json!([]), Some("object"));
}

/// The examples are right, so that no editor must say anything else.
#[test]
fn editors_have_nothing_to_say_of_the_examples() {
    let schema = EditorSchema::of_this_version();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut n_documents = 0;
    for path in documents(&examples) {
        let text = fs::read_to_string(&path).expect("an example is text");
        let Ok(document) = serde_json::from_str::<Value>(&text) else { continue };
        n_documents += 1;
        assert_eq!(schema.complaint(&document), None, "{}", path.display());
    }
    assert!(n_documents > 10, "only {n_documents} documents were found");
}

fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let is_document = |path: &PathBuf| path.file_name().is_some_and(|name| name == "corral.json");
    let found = entries.flat_map(|path| if path.is_dir() { documents(&path) } else { vec![path] });
    found.filter(is_document).collect()
}
