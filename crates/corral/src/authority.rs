//! The local authority: signs certificates for names of this machine and of private networks, and for no others. It is
//! made once for each user, and a browser that trusts it opens `https://localhost` without a warning.

mod names;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, NameConstraints, PublicKeyData, date_time_ymd,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, GeneralSubtree};
use x509_parser::pem::Pem;

pub(crate) use self::names::{host_names, is_private};
use crate::user_dirs::{self, BaseDir};

/// How long an authority is valid: ten years.
const VALIDITY: Duration = Duration::from_secs(3650 * DAY);

/// An authority that ends sooner is replaced, so that whatever it signs can have its whole time.
const LEAST_VALIDITY: Duration = Duration::from_secs(180 * DAY);

/// How long a certificate for a site is valid.
const LEAF_VALIDITY: Duration = Duration::from_secs(90 * DAY);

/// A certificate for a site is replaced when less is left of its time.
const LEAST_LEAF_VALIDITY: Duration = Duration::from_secs(30 * DAY);

/// Certificates count from so long before they were made, as clocks of virtual machines and phones are late.
const SLACK: Duration = Duration::from_secs(3600);

const DAY: u64 = 24 * 3600;

/// The certificate alone, which all users may read.
const CERTIFICATE: &str = "certificate.pem";

/// The certificate, and the key that belongs to it: one file, so that the two always fit.
const PRIVATE: &str = "authority.pem";

/// Held while an authority is read or made: several commands may want the first one at the same time.
const LOCK: &str = "lock";

/// An authority with its key.
pub(crate) struct LocalAuthority {
    folder: PathBuf,
    /// In PEM.
    certificate: String,
    /// The common name, which no other authority has.
    name: String,
    issuer: Issuer<'static, KeyPair>,
    /// Whether the authority was made just now, and is not trusted anywhere yet.
    pub(crate) is_new: bool,
    /// Public domains that it may sign for, as authorities were made before on machines with such a name.
    pub(crate) public: Vec<String>,
}

/// A certificate for a site, and its key.
pub(crate) struct Leaf {
    /// Both in PEM.
    pub(crate) bundle: String,
    /// When a new one is to take its place.
    pub(crate) renewal: SystemTime,
}

impl LocalAuthority {
    /// This user's authority, made if there is none.
    pub(crate) fn open() -> anyhow::Result<Self> {
        Self::in_folder(&Self::place()?, SystemTime::now())
    }

    /// This user's authority, if there is one.
    pub(crate) fn existing() -> anyhow::Result<Option<Self>> {
        let folder = Self::place()?;
        read(&folder).map(|found| found.map(|(authority, _)| authority))
    }

    fn place() -> anyhow::Result<PathBuf> {
        let folder = user_dirs::folder_or_state(BaseDir::Data, "authority");
        folder.map_err(|reason| anyhow!("there is no place for the key of a local authority: {reason}"))
    }

    fn in_folder(folder: &Path, now: SystemTime) -> anyhow::Result<Self> {
        let context = || format!("make a local authority in \"{}\"", folder.display());
        user_dirs::make_folder(folder).with_context(context)?;
        let lock = File::create(folder.join(LOCK)).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.with_context(context)?;
        if let Some((authority, until)) = read(folder)?
            && until > now + LEAST_VALIDITY
        {
            return Ok(authority);
        }
        make(folder, now, names::constraints()).with_context(context)?;
        let (authority, _) = read(folder)?.with_context(context)?;
        Ok(Self { is_new: true, ..authority })
    }

    /// The name that stores of certificates know it by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The certificate in PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The file that has the certificate alone.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(CERTIFICATE)
    }

    /// The folder of its key and certificate.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says that it may sign for more than one that is made now, and how it is replaced.
    pub(crate) fn warning(&self) -> Option<String> {
        let domains = self.public.join(", ");
        (!domains.is_empty()).then(|| {
            format!(
                "warning: the local authority may sign for all names below {domains}, which are others'; for one that \
                 may not: `corral trust --remove`, remove \"{}\", and `corral trust`",
                self.folder.display()
            )
        })
    }

    /// A new certificate for names and addresses, of which there is one at least, and which are all private.
    pub(crate) fn issue(&self, names: &[String], now: SystemTime) -> anyhow::Result<Leaf> {
        let until = now - SLACK + LEAF_VALIDITY;
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        set_validity(&mut params, now, until);
        params.distinguished_name = common_name(names.first().map_or("localhost", |name| name));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer).context("sign a certificate")?;
        let bundle = certificate.pem() + &key.serialize_pem();
        Ok(Leaf { bundle, renewal: until - LEAST_LEAF_VALIDITY })
    }
}

/// The authority in a folder, and when it ends.
fn read(folder: &Path) -> anyhow::Result<Option<(LocalAuthority, SystemTime)>> {
    let path = folder.join(PRIVATE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("read \"{}\"", path.display()))?,
    };
    let (authority, until) = parse(folder, &text).with_context(|| {
        format!(
            "\"{}\" is broken; remove it, and another authority is made, to be trusted anew",
            path.display()
        )
    })?;
    // The public file is a copy, which may have been changed.
    let public = authority.path();
    if fs::read(&public).ok().as_deref() != Some(authority.certificate.as_bytes()) {
        user_dirs::write(&public, &authority.certificate, 0o644)
            .with_context(|| format!("write \"{}\"", public.display()))?;
    }
    Ok(Some((authority, until)))
}

fn parse(folder: &Path, text: &str) -> anyhow::Result<(LocalAuthority, SystemTime)> {
    let (certificate, key) = text.split_at(text.find(KEY_BLOCK).context("there is no private key")?);
    let key = KeyPair::from_pem(key).context("the private key is not valid")?;
    let pem = Pem::iter_from_buffer(certificate.as_bytes()).next().context("there is no certificate")??;
    let parsed = pem.parse_x509().context("the certificate is not valid")?;
    if parsed.public_key().raw != key.subject_public_key_info() {
        bail!("the private key belongs to another certificate");
    }
    let name = parsed.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
    let name = name.context("the certificate has no name")?.to_owned();
    let until = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or_default();
    let public = public_domains(&parsed);
    let issuer = Issuer::from_ca_cert_der(&pem.contents.as_slice().into(), key)?;
    let (folder, certificate) = (folder.to_owned(), certificate.to_owned());
    let authority = LocalAuthority { folder, certificate, name, issuer, is_new: false, public };
    Ok((authority, UNIX_EPOCH + Duration::from_secs(until)))
}

fn public_domains(certificate: &X509Certificate<'_>) -> Vec<String> {
    let constraints = certificate.name_constraints().ok().flatten();
    let permitted = constraints.and_then(|found| found.value.permitted_subtrees.as_ref());
    let public = |subtree: &GeneralSubtree<'_>| match subtree.base {
        GeneralName::DNSName(name) if names::is_public(name) => Some(name.to_owned()),
        _ => None,
    };
    permitted.into_iter().flatten().filter_map(public).collect()
}

const KEY_BLOCK: &str = "-----BEGIN PRIVATE KEY";

fn make(folder: &Path, now: SystemTime, constraints: NameConstraints) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    set_validity(&mut params, now, now + VALIDITY);
    // In a browser's list, the name shows where the authority comes from, and which of several it is.
    let mark =
        params.key_identifier(&key).iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>();
    let host = names::host().unwrap_or_else(|| "this machine".to_owned());
    params.distinguished_name = common_name(&format!("Corral local authority {mark} of {host}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.name_constraints = Some(constraints);
    let certificate = params.self_signed(&key)?;
    user_dirs::write(&folder.join(PRIVATE), &(certificate.pem() + &key.serialize_pem()), 0o600)?;
    Ok(())
}

fn common_name(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn set_validity(params: &mut CertificateParams, now: SystemTime, until: SystemTime) {
    let date =
        |time: SystemTime| date_time_ymd(1970, 1, 1) + time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (params.not_before, params.not_after) = (date(now - SLACK), date(until));
}

#[cfg(test)]
mod tests;
