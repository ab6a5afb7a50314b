//! Hosts for several PHP libraries in one folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{daemon, executables, php_app, site, version_of};
use serde_json::json;

/// The host, asking for a library of another name.
fn host_for(library: &str) -> Vec<u8> {
    let mut host = fs::read(executables().dir.join("corral-php")).expect("it is built");
    let own = format!("libphp{}.so\0", version_of("php"));
    let other = format!("{library}\0");
    assert_eq!(own.len(), other.len(), "{own}");
    let at = host.windows(own.len()).position(|bytes| bytes == own.as_bytes());
    let at = at.unwrap_or_else(|| panic!("the host asks for another library than {own}"));
    host[at..at + own.len()].copy_from_slice(other.as_bytes());
    host
}

/// All libraries call themselves `libphp.so`: with that name, both hosts would load the same one.
#[test]
fn a_host_whose_library_is_missing_is_not_offered() {
    let site =
        site().file("index.php", "<?= PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;").writable_folder("modules");
    let put = |name: &str, host: &[u8]| {
        let path = site.path(&format!("modules/{name}"));
        fs::write(&path, host).expect("write the host");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it is ours");
    };
    // The first by its name, and the newest.
    put("corral-php-a", &host_for("libphp9.9.so"));
    put("corral-php-b", &fs::read(executables().dir.join("corral-php")).expect("it is built"));
    let modules = site.path("modules").display().to_string();
    let server = daemon().argument("--modulesdir").argument(&modules).application(php_app(&site)).start();
    server.get("/").expect(200).expect_body(version_of("php"));
    server.expect_log("corral-php-a\": `describe` exited with code 127: ");
    server.expect_log("libphp9.9.so: cannot open shared object file");
    let listed = server.control().get("/status/modules/php").json();
    // Of several, it would be a list.
    assert_eq!(listed["lib"], json!(format!("{modules}/corral-php-b")), "{listed}");
}
