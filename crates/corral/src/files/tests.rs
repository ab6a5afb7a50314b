//! Files in temporary folders.

use std::os::unix::fs::symlink;

use super::*;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn document(paths: &[PathBuf]) -> Result<String, Problems> {
    let found = read(paths, &Seen::default())?;
    Ok(String::from_utf8(found.manifest.document().compact()).unwrap())
}

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "20-b.yaml", "b: 2\n");
    write(folder.path(), "10-a.json", "{\"a\": 1}");
    write(folder.path(), "30-c.yml", "c: ${file:secret.txt}\n");
    for ignored in ["secret.txt", ".hidden.json", "old.json~", "more.json/x.json"] {
        write(folder.path(), ignored, "s3cret\n");
    }
    assert_eq!(document(&[folder.path().into()]).unwrap(), r#"{"a":1,"b":2,"c":"s3cret"}"#);
    let more = tempfile::tempdir().unwrap();
    let file = write(more.path(), "z.json", "{\"z\": 0}");
    assert_eq!(document(&[file, folder.path().into()]).unwrap(), r#"{"z":0,"a":1,"b":2,"c":"s3cret"}"#);
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    let problems = document(std::slice::from_ref(&missing)).unwrap_err();
    assert_eq!(problems, [format!("{}: it does not exist", missing.display())]);
    let problems = document(&[folder.path().into()]).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].ends_with("no *.json, *.yaml or *.yml"), "{problems:?}");
}

#[test]
fn assets_lie_beside_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "site.yaml", "{}");
    write(folder.path(), "certificates/www.example.org.pem", "pem");
    write(folder.path(), "certificates/README", "no certificate");
    write(folder.path(), "certificates/.pem", "no name");
    let found = read(&[file], &Seen::default()).unwrap();
    assert_eq!(names(&found.assets, AssetKind::Certificate), ["www.example.org"]);
    assert!(found.has_folder.certificates && !found.has_folder.scripts);
    write(folder.path(), "js_modules/http.js", "export default {}");
    let found = read(&[folder.path().into()], &Seen::default()).unwrap();
    assert_eq!(found.assets.script("http").unwrap().bytes, b"export default {}");
}

#[test]
fn every_change_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one/site.json", "{\"a\": \"${file:../secret}\"}");
    write(folder.path(), "two/site.json", "{}");
    symlink("one", folder.path().join("data")).unwrap();
    let file = folder.path().join("data/site.json");
    let look = || {
        let seen = Seen::default();
        let _ = read(std::slice::from_ref(&file), &seen);
        assert_eq!(seen.before(), seen.now());
        seen
    };
    let seen = look();
    write(folder.path(), "secret", "1");
    assert_ne!(seen.before(), seen.now(), "a file that was missing");
    let seen = look();
    symlink("two", folder.path().join("data.new")).unwrap();
    fs::rename(folder.path().join("data.new"), folder.path().join("data")).unwrap();
    assert_ne!(seen.before(), seen.now(), "a link that leads elsewhere");
    let seen = look();
    write(folder.path(), "two/certificates/a.pem", "");
    assert_ne!(seen.before(), seen.now(), "a folder of assets");
    let seen = look();
    fs::remove_file(&file).unwrap();
    assert_ne!(seen.before(), seen.now(), "a file that is gone");
}
