//! Authorities that are made, kept, replaced and broken, and what they sign.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_authority_is_made_once_and_its_key_is_its_user_s() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a/authority");
    let now = SystemTime::now();
    let first = LocalAuthority::in_folder(&folder, now).unwrap();
    assert!(first.is_new && first.name().starts_with("Corral local authority "), "{}", first.name());
    let second = LocalAuthority::in_folder(&folder, now).unwrap();
    assert!(!second.is_new && second.certificate() == first.certificate());
    assert_eq!((mode(&folder), mode(&folder.join(PRIVATE)), mode(&first.path())), (0o700, 0o600, 0o644));
    assert!(!fs::read_to_string(first.path()).unwrap().contains("PRIVATE"));
    fs::write(first.path(), "changed").unwrap();
    assert_eq!(read(&folder).unwrap().unwrap().0.certificate(), first.certificate());
    assert_eq!(fs::read_to_string(first.path()).unwrap(), first.certificate());
}

#[test]
fn an_authority_says_which_public_domains_it_may_sign_for() {
    let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
    let permitted = ["localhost", "home.arpa", "local", "dev", "my-laptop"];
    let permitted_subtrees =
        permitted.iter().map(|domain| rcgen::GeneralSubtree::DnsName((*domain).to_owned())).collect();
    make(folder.path(), now, NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() }).unwrap();
    let old = LocalAuthority::in_folder(folder.path(), now).unwrap();
    assert!(!old.is_new && old.public == ["dev"], "{:?}", old.public);
    let remedy = format!("remove \"{}\"", old.folder().display());
    assert!(old.warning().is_some_and(|text| text.contains("below dev,") && text.contains(&remedy)));
    let folder = tempfile::tempdir().unwrap();
    assert!(LocalAuthority::in_folder(folder.path(), now).unwrap().warning().is_none());
}

#[test]
fn an_authority_that_nears_its_end_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let first = LocalAuthority::in_folder(folder.path(), now).unwrap();
    let late = now + VALIDITY - LEAST_VALIDITY;
    assert!(!LocalAuthority::in_folder(folder.path(), late - Duration::from_secs(60)).unwrap().is_new);
    let second = LocalAuthority::in_folder(folder.path(), late + Duration::from_secs(60)).unwrap();
    assert!(second.is_new && second.name() != first.name());
}

#[test]
fn a_broken_authority_is_left_for_its_user_to_remove() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    LocalAuthority::in_folder(folder.path(), now).unwrap();
    let path = folder.path().join(PRIVATE);
    let text = fs::read_to_string(&path).unwrap();
    let other = tempfile::tempdir().unwrap();
    LocalAuthority::in_folder(other.path(), now).unwrap();
    let other = fs::read_to_string(other.path().join(PRIVATE)).unwrap();
    let (certificate, _) = text.split_at(text.find(KEY_BLOCK).unwrap());
    let (_, key) = other.split_at(other.find(KEY_BLOCK).unwrap());
    for broken in ["", "nonsense", certificate, key, &(certificate.to_owned() + key), &text[..text.len() / 2]]
    {
        fs::write(&path, broken).unwrap();
        let error = LocalAuthority::in_folder(folder.path(), now).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("is broken; remove it")), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
    fs::remove_file(&path).unwrap();
    assert!(LocalAuthority::in_folder(folder.path(), now).unwrap().is_new);
}

#[test]
fn commands_that_start_together_have_the_same_authority() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = || LocalAuthority::in_folder(folder.path(), SystemTime::now()).unwrap().certificate;
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(certificate)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|certificate| *certificate == found[0]));
}

#[test]
fn certificates_end_after_ninety_days_and_are_renewed_before() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let authority = LocalAuthority::in_folder(folder.path(), now).unwrap();
    let leaf = authority.issue(&names(&["localhost", "*.localhost", "::1"]), now).unwrap();
    let pem = Pem::iter_from_buffer(leaf.bundle.as_bytes()).next().unwrap().unwrap();
    let certificate = pem.parse_x509().unwrap();
    let validity = certificate.validity();
    let days = (validity.not_after.timestamp() - validity.not_before.timestamp()) / 86_400;
    assert_eq!(days, 90);
    let left = validity.not_after.timestamp()
        - i64::try_from(leaf.renewal.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    assert_eq!(left / 86_400, 30);
    let ca = Pem::iter_from_buffer(authority.certificate().as_bytes()).next().unwrap().unwrap();
    let ca = ca.parse_x509().unwrap();
    assert_eq!(certificate.issuer(), ca.subject());
    assert!(ca.name_constraints().unwrap().unwrap().critical);
}
