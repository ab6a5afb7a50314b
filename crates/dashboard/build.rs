//! Lists the files to embed: those that `scripts/build-ui` has made, or else a small page that says how to get them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Where `scripts/build-ui` puts the page. The folder is always there, as a change of it has to be seen.
const DIST: &str = "../../ui/dist";

/// The list of the files; without it, the page has not been built.
const LIST: &str = "files.txt";

fn main() {
    println!("cargo::rerun-if-changed={DIST}");
    println!("cargo::rerun-if-changed=missing");
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let dist = crate_folder.join(DIST);
    let list = fs::read_to_string(dist.join(LIST));
    let source = match &list {
        Ok(list) => embedded(&dist, list, true),
        Err(_) => embedded(&crate_folder.join("missing"), MISSING, false),
    };
    match source {
        Ok(source) => {
            let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
            fs::write(out.join("embedded.rs"), source).expect("cargo made the folder");
        }
        Err(line) => println!("cargo::error={}/{LIST} has a wrong line: {line:?}", dist.display()),
    }
}

/// The list of the small page. Its tag has to be another one whenever the page is.
const MISSING: &str = "\ttext/html; charset=utf-8\tmissing-1\trevalidated\n";

/// The source that embeds the files of a list; the line that is wrong otherwise.
fn embedded(folder: &Path, list: &str, is_built: bool) -> Result<String, String> {
    let mut source = format!("pub(super) const IS_BUILT: bool = {is_built};\n");
    source.push_str("pub(super) static FILES: &[(&str, super::PageFile)] = &[\n");
    for line in list.lines() {
        let [name, media_type, tag, change] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(line.to_owned());
        };
        let path = folder.join(if name.is_empty() { "index.html" } else { name });
        let is_immutable = change == "immutable";
        let coded = |ending: &str| format!("{}.{ending}", path.display());
        let (brotli, gzip) = (coded("br"), coded("gz"));
        writeln!(
            source,
            "({name:?}, super::PageFile {{ media_type: {media_type:?}, tag: {tag:?}, \
             brotli: include_bytes!({brotli:?}), gzip: include_bytes!({gzip:?}), is_immutable: {is_immutable} }}),"
        )
        .expect("a string takes everything");
    }
    source.push_str("];\n");
    Ok(source)
}
