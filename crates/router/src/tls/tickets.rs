//! Session tickets: the session as the client keeps it, encrypted and authenticated in the layout that
//! RFC 5077 section 4 recommends (key name, IV, AES-CBC, HMAC-SHA256), so that servers with the same keys
//! resume each other's sessions.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::{digest, hmac, rand};
use corral_config::plan::Asset;
use corral_config::tls::{TicketKey, Tickets, Verify};
use rustls::server::ProducesTickets;

/// Length of a key's name, and of an initialisation vector.
const BLOCK: usize = 16;

/// Length of the authentication code.
const TAG: usize = 32;

/// Seconds since 1970 in front of the session, within what is encrypted.
const TIME: usize = 8;

/// Encrypts and decrypts the tickets of one listener.
pub(super) struct Ticketer {
    /// The last one encrypts.
    keys: Vec<SessionTicketKey>,
    timeout: Duration,
    /// Authenticated, not sent: what the listener asks of clients.
    scope: Vec<u8>,
}

struct SessionTicketKey {
    name: [u8; BLOCK],
    mac: hmac::Key,
    encrypt: PaddedBlockEncryptingKey,
    decrypt: PaddedBlockDecryptingKey,
}

impl Ticketer {
    /// With the keys of the configuration, or those of this process. Tickets that were made for another
    /// `scope`, the clients' authorities, are not taken.
    pub(super) fn new(
        tickets: &Tickets,
        timeout: Duration,
        scope: Option<(Verify, &[Asset])>,
    ) -> anyhow::Result<Self> {
        let keys = match tickets {
            Tickets::Keys(keys) => keys.iter().map(SessionTicketKey::new).collect::<Result<_, _>>()?,
            Tickets::Off | Tickets::Random => vec![SessionTicketKey::new(own_key()?)?],
        };
        Ok(Self { keys, timeout, scope: scope.map(scope_digest).unwrap_or_default() })
    }

    fn seal(&self, session: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys.last()?;
        let mut content = Vec::with_capacity(TIME + session.len() + BLOCK);
        content.extend_from_slice(&now().to_be_bytes());
        content.extend_from_slice(session);
        let DecryptionContext::Iv128(iv) = key.encrypt.encrypt(&mut content).ok()? else { return None };
        let iv: &[u8; BLOCK] = iv.as_ref();
        let mut ticket = [&key.name[..], iv, &content].concat();
        let tag = self.tag(key, &ticket);
        ticket.extend_from_slice(tag.as_ref());
        Some(ticket)
    }

    fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (authentic, tag) = ticket.split_at_checked(ticket.len().checked_sub(TAG)?)?;
        let (name, rest) = authentic.split_first_chunk::<BLOCK>()?;
        let (iv, content) = rest.split_first_chunk::<BLOCK>()?;
        let key = self.keys.iter().rev().find(|key| key.name == *name)?;
        self.verify(key, authentic, tag)?;
        let mut content = content.to_vec();
        let context = DecryptionContext::Iv128(iv.into());
        let content = key.decrypt.decrypt(&mut content, context).ok()?;
        let (time, session) = content.split_first_chunk::<TIME>()?;
        let age = now().saturating_sub(u64::from_be_bytes(*time));
        (age < self.timeout.as_secs()).then(|| session.to_vec())
    }

    fn tag(&self, key: &SessionTicketKey, ticket: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&key.mac);
        context.update(ticket);
        context.update(&self.scope);
        context.sign()
    }

    fn verify(&self, key: &SessionTicketKey, ticket: &[u8], tag: &[u8]) -> Option<()> {
        let content = [ticket, &self.scope].concat();
        hmac::verify(&key.mac, &content, tag).ok()
    }
}

impl SessionTicketKey {
    fn new(key: &TicketKey) -> anyhow::Result<Self> {
        let algorithm = if key.aes.len() == 16 { &AES_128 } else { &AES_256 };
        let cipher = || UnboundCipherKey::new(algorithm, &key.aes);
        let keys = cipher()
            .and_then(PaddedBlockEncryptingKey::cbc_pkcs7)
            .and_then(|encrypt| Ok((encrypt, cipher().and_then(PaddedBlockDecryptingKey::cbc_pkcs7)?)));
        let (encrypt, decrypt) = keys.ok().context("use a ticket key")?;
        Ok(Self { name: key.name, mac: hmac::Key::new(hmac::HMAC_SHA256, &key.hmac), encrypt, decrypt })
    }
}

/// The key of this process, the same for all listeners and configurations.
fn own_key() -> anyhow::Result<&'static TicketKey> {
    static KEY: OnceLock<TicketKey> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(key);
    }
    let mut bytes = [0; BLOCK + 2 * 32];
    rand::fill(&mut bytes).ok().context("make a random ticket key")?;
    let (name, rest) = bytes.split_first_chunk().context("make a random ticket key")?;
    let (hmac, aes) = rest.split_at(32);
    Ok(KEY.get_or_init(|| TicketKey { name: *name, hmac: hmac.to_vec(), aes: aes.to_vec() }))
}

/// A digest of the authorities that may vouch for clients, and of whether they must.
fn scope_digest((verify, authorities): (Verify, &[Asset])) -> Vec<u8> {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&[u8::from(verify == Verify::Required)]);
    for asset in authorities {
        context.update(&(asset.bytes.len() as u64).to_be_bytes());
        context.update(&asset.bytes);
    }
    context.finish().as_ref().to_vec()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher)
    }
}

impl fmt::Debug for Ticketer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticketer").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn key(name: u8, aes_len: usize) -> TicketKey {
        TicketKey { name: [name; 16], hmac: vec![name ^ 1; aes_len], aes: vec![name ^ 2; aes_len] }
    }

    fn ticketer(keys: &[TicketKey]) -> Ticketer {
        Ticketer::new(&Tickets::Keys(keys.to_vec()), MINUTE, None).unwrap()
    }

    #[test]
    fn tickets_come_back() {
        for len in [16, 32] {
            for size in [0, 1, 15, 16, 17, 1000] {
                let session = vec![7; size];
                let (here, there) = (ticketer(&[key(1, len)]), ticketer(&[key(1, len)]));
                assert_eq!(there.open(&here.seal(&session).unwrap()), Some(session));
            }
        }
    }

    #[test]
    fn the_last_key_encrypts_and_all_decrypt() {
        let (old, both) = (ticketer(&[key(1, 16)]), ticketer(&[key(1, 16), key(2, 32)]));
        let new = ticketer(&[key(2, 32)]);
        assert_eq!(both.open(&old.seal(b"x").unwrap()).as_deref(), Some(&b"x"[..]));
        let ticket = both.seal(b"x").unwrap();
        assert_eq!(new.open(&ticket).as_deref(), Some(&b"x"[..]));
        assert_eq!(old.open(&ticket), None);
    }

    #[test]
    fn what_was_changed_is_refused() {
        let ticketer = ticketer(&[key(1, 16)]);
        let ticket = ticketer.seal(b"session").unwrap();
        for position in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[position] ^= 1;
            assert_eq!(ticketer.open(&changed), None, "byte {position}");
        }
        for len in 0..ticket.len() {
            assert_eq!(ticketer.open(&ticket[..len]), None, "the first {len} bytes");
        }
    }

    #[test]
    fn other_authorities_are_another_scope() {
        let asset = |text: &str| Asset { name: "ca".to_owned(), bytes: text.as_bytes().to_vec() };
        let scoped = |verify, text| {
            Ticketer::new(&Tickets::Random, MINUTE, Some((verify, &[asset(text)][..]))).unwrap()
        };
        let ticket = scoped(Verify::Required, "a").seal(b"x").unwrap();
        assert!(scoped(Verify::Required, "a").open(&ticket).is_some());
        assert!(scoped(Verify::Required, "b").open(&ticket).is_none());
        assert!(scoped(Verify::Optional, "a").open(&ticket).is_none());
        assert!(Ticketer::new(&Tickets::Random, MINUTE, None).unwrap().open(&ticket).is_none());
    }

    #[test]
    fn old_tickets_are_refused() {
        let ticketer = Ticketer::new(&Tickets::Random, Duration::ZERO, None).unwrap();
        assert_eq!(ticketer.open(&ticketer.seal(b"x").unwrap()), None);
    }
}
