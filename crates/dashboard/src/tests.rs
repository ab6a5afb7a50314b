//! The files that were embedded are complete, small, and what their names and tags say.

use std::io::Read;

use sha2::{Digest, Sha256};

use super::embedded::FILES;
use super::{IS_BUILT, PageFile, find};

/// The most bytes that a browser fetches to show the page.
const MOST_BYTES: usize = 120_000;

fn from_brotli(file: &PageFile) -> Vec<u8> {
    let mut content = Vec::new();
    brotli::Decompressor::new(file.brotli, 4096).read_to_end(&mut content).unwrap();
    content
}

fn from_gzip(file: &PageFile) -> Vec<u8> {
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(file.gzip).read_to_end(&mut content).unwrap();
    content
}

fn page() -> String {
    String::from_utf8(from_brotli(find("").expect("there is always a page"))).unwrap()
}

/// The values of an attribute in the page.
fn values(page: &str, attribute: &str) -> Vec<String> {
    let begin = format!(" {attribute}=\"");
    page.split(&begin).skip(1).filter_map(|piece| piece.split('"').next()).map(str::to_owned).collect()
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn both_codings_hold_the_same() {
    for (name, file) in FILES {
        assert!(!from_brotli(file).is_empty(), "{name:?}");
        assert_eq!(from_brotli(file), from_gzip(file), "{name:?}");
    }
}

#[test]
fn every_file_that_the_page_names_is_there() {
    let page = page();
    let named = [values(&page, "src"), values(&page, "href")].concat();
    assert!(!named.is_empty(), "{page}");
    for name in named.iter().filter(|name| !name.starts_with("data:")) {
        assert!(find(name).is_some(), "{name}");
    }
    let endings: &[&str] = if IS_BUILT { &[".js", ".css", ".svg"] } else { &[] };
    for ending in endings {
        assert!(named.iter().any(|name| name.ends_with(ending)), "{ending}");
    }
}

#[test]
fn names_and_tags_stand_for_the_content() {
    for (name, file) in FILES.iter().filter(|_| IS_BUILT) {
        let hash = hash(&from_brotli(file));
        assert!(hash.starts_with(file.tag) && file.tag.len() >= 16, "{name:?}: {}", file.tag);
        assert_eq!(file.is_immutable, !name.is_empty(), "{name:?}");
        let in_name = name.rsplit('.').nth(1);
        assert!(in_name.is_none_or(|part| hash.starts_with(part) && part.len() >= 12), "{name}");
    }
}

#[test]
fn media_types_follow_from_the_names() {
    for (name, file) in FILES {
        let expected = match name.rsplit_once('.') {
            None => "text/html; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            Some((_, "txt")) => "text/plain; charset=utf-8",
            Some(_) => panic!("what is {name}?"),
        };
        assert_eq!(file.media_type, expected, "{name:?}");
    }
}

/// The policy of the page permits neither.
#[test]
fn the_page_has_no_script_and_no_style_of_its_own() {
    let page = page();
    for (at, _) in page.match_indices("<script") {
        assert!(page[at..].contains("></script>"), "{page}");
    }
    for word in ["<style", " style=", " onload=", " onclick=", "javascript:", "http:", "https:"] {
        assert!(!page.contains(word), "{word}\n{page}");
    }
}

#[test]
fn little_is_fetched() {
    let is_needed = |name: &str| !name.ends_with(".txt");
    let n_bytes: usize =
        FILES.iter().filter(|(name, _)| is_needed(name)).map(|(_, file)| file.brotli.len()).sum();
    assert!(n_bytes <= MOST_BYTES, "{n_bytes} bytes");
}

#[test]
fn other_names_are_unknown() {
    for name in ["index.html", "assets/", "assets", "/", "../Cargo.toml", "files.txt", "assets/app.js"] {
        assert!(find(name).is_none(), "{name}");
    }
}

#[test]
fn without_npm_a_page_says_how_to_get_the_dashboard() {
    let missing = include_bytes!("../missing/index.html");
    let file = PageFile {
        media_type: "text/html; charset=utf-8",
        tag: "",
        brotli: include_bytes!("../missing/index.html.br"),
        gzip: include_bytes!("../missing/index.html.gz"),
        is_immutable: false,
    };
    // After a change: node ui/compress.mjs crates/dashboard/missing/index.html
    assert_eq!((from_brotli(&file), from_gzip(&file)), (missing.to_vec(), missing.to_vec()));
    assert!(String::from_utf8_lossy(missing).contains("npm"));
}
