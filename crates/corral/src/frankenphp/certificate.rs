//! The certificate for `https://`: of the local authority where that may sign for the names. Otherwise it is signed by
//! itself, and kept, so that browsers ask for an exception only once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};

use crate::authority::{LocalAuthority, is_private};
use crate::user_dirs::{self, BaseDir};

/// How long one is valid; browsers take none that is valid for longer than 398 days.
const VALIDITY: Duration = Duration::from_secs(397 * 24 * 3600);

/// A kept one that ends sooner is replaced.
const LEAST_VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);

/// A certificate and its key.
pub(super) struct LocalCertificate {
    /// Both in PEM.
    bundle: String,
    signer: Signer,
}

/// The certificate's issuer.
enum Signer {
    /// The local authority, whose certificate is in this file.
    Authority(PathBuf),
    /// The authority's own key. It is kept in this file, unless that is impossible.
    Itself(Result<PathBuf, String>),
}

impl LocalCertificate {
    /// One for these names, of which there is one at least.
    pub(super) fn of(names: &[String]) -> anyhow::Result<Self> {
        // Whatever an authority lacks, a certificate that is signed by itself is better than none.
        if names.iter().all(|name| is_private(name))
            && user_dirs::folder(BaseDir::Data, "authority").is_ok()
            && let Ok(authority) = LocalAuthority::open()
        {
            let leaf = authority.issue(names, SystemTime::now())?;
            return Ok(Self { bundle: leaf.bundle, signer: Signer::Authority(authority.path()) });
        }
        Self::kept_in(user_dirs::folder(BaseDir::State, "certificates"), names, SystemTime::now())
    }

    fn kept_in(folder: Result<PathBuf, String>, names: &[String], now: SystemTime) -> anyhow::Result<Self> {
        let path = folder.map(|folder| folder.join(file_name(names)));
        let kept = path.as_ref().ok().and_then(|path| read(path, names, now));
        if let Some(bundle) = kept {
            return Ok(Self { bundle, signer: Signer::Itself(path) });
        }
        let until = now + VALIDITY;
        let bundle = make(names, now, until).context("make a certificate for HTTPS")?;
        let keep = |path: PathBuf| {
            let written = user_dirs::write(&path, &format!("{}\n{bundle}", heading(names, until)), 0o600);
            written.map_err(|error| format!("\"{}\" cannot be written: {error}", path.display()))?;
            Ok(path)
        };
        let kept = path.and_then(keep);
        Ok(Self { bundle, signer: Signer::Itself(kept) })
    }

    /// The certificate and its key in PEM.
    pub(super) fn bundle(&self) -> &str {
        &self.bundle
    }

    /// A notice of what browsers will say, and why.
    pub(super) fn notice(&self, names: &[String]) -> String {
        let names = names.join(", ");
        let kept = match &self.signer {
            Signer::Authority(path) => {
                return format!(
                    "browsers will warn that the connection is not private until `corral trust` was called once: the \
                     certificate for {names} is signed by the local authority in \"{}\"",
                    path.display()
                );
            }
            Signer::Itself(kept) => kept,
        };
        let place = match kept {
            Ok(path) => format!("It is kept in \"{}\", so that an exception lasts", path.display()),
            Err(reason) => format!("The next start makes another one: {reason}"),
        };
        format!(
            "browsers will warn that the connection is not private: the certificate for {names} is signed by itself, \
            and by no authority that they know. {place}"
        )
    }
}

fn file_name(names: &[String]) -> String {
    names.first().map_or("localhost", |name| name).replace('*', "_") + ".pem"
}

/// The line before a kept bundle: the names that it is for, and until when.
fn heading(names: &[String], until: SystemTime) -> String {
    let until = until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("# {} until {until}", names.join(" "))
}

/// A kept bundle for these names that is valid long enough.
fn read(path: &Path, names: &[String], now: SystemTime) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (head, bundle) = text.split_once('\n')?;
    let (_, until) = head.rsplit_once(' ')?;
    let until = UNIX_EPOCH.checked_add(Duration::from_secs(until.parse().ok()?))?;
    let is_meant = head == heading(names, until) && until > now + LEAST_VALIDITY && until <= now + VALIDITY;
    is_meant.then(|| bundle.to_owned())
}

fn make(names: &[String], now: SystemTime, until: SystemTime) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    let time =
        |time: SystemTime| date_time_ymd(1970, 1, 1) + time.duration_since(UNIX_EPOCH).unwrap_or_default();
    params.not_before = time(now);
    params.not_after = time(until);
    params.distinguished_name.push(DnType::CommonName, names.first().map_or("localhost", |name| name));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.self_signed(&key)?;
    Ok(certificate.pem() + &key.serialize_pem())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn of(folder: &Path, wanted: &[&str], now: SystemTime) -> String {
        LocalCertificate::kept_in(Ok(folder.to_owned()), &names(wanted), now).unwrap().bundle
    }

    #[test]
    fn one_is_kept_until_it_ends_or_the_names_change() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        let now = SystemTime::now();
        let first = of(&folder, &["a.example", "::1"], now);
        assert!(first.starts_with("-----BEGIN CERTIFICATE-----") && first.contains("PRIVATE KEY"));
        assert_eq!(of(&folder, &["a.example", "::1"], now + Duration::from_secs(60)), first);
        let other = of(&folder, &["b.example", "::1"], now);
        assert_ne!(other, first);
        assert_eq!(of(&folder, &["a.example", "::1"], now), first, "each has its file");
        assert_ne!(of(&folder, &["a.example"], now), first);
        let late = now + VALIDITY - LEAST_VALIDITY;
        assert_ne!(of(&folder, &["b.example", "::1"], late), other);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("a.example.pem"))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_broken_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "nonsense", "# a.example until x\n", "# a.example until 99999999999999999999\n"] {
            fs::write(folder.path().join("a.example.pem"), text).unwrap();
            assert!(of(folder.path(), &["a.example"], SystemTime::now()).contains("PRIVATE KEY"), "{text}");
        }
    }

    #[test]
    fn the_notice_says_why_none_is_kept() {
        let certificate = LocalCertificate::kept_in(
            Err("there is no home".to_owned()),
            &names(&["::1"]),
            SystemTime::now(),
        );
        let notice = certificate.unwrap().notice(&names(&["::1"]));
        assert!(notice.ends_with("The next start makes another one: there is no home"), "{notice}");
    }
}
