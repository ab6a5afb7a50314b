//! A certificate for unit tests.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SerialNumber, date_time_ymd};

use crate::record::CertificateRecord;

/// A certificate for `name` by an authority of its own, valid in all of 2026.
pub(crate) fn record(name: &str) -> CertificateRecord {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "Test CA");
    let authority = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params.serial_number = Some(SerialNumber::from_slice(&[0xca, 0xfe]));
    params.use_authority_key_identifier_extension = true;
    let chain = params.signed_by(&key, &authority).unwrap().pem();
    CertificateRecord {
        directory: "https://ca.example/directory".to_owned(),
        on_demand: false,
        order: "https://ca.example/order/1".to_owned(),
        chain,
        key: key.serialize_pem(),
    }
}
