//! Accounts at authorities: one for each directory and address, made when it is first needed, and made anew when the
//! authority does not know it any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use corral_config::tls::AcmeIssuer;
use instant_acme::{Account, AccountCredentials, ExternalAccountKey, NewAccount};
use tokio::sync::Mutex;

use crate::client::{self, AcmeRequests, AwayError};
use crate::failure::{FailedStep, Failure};
use crate::host::EngineHost;
use crate::nonce::patiently;
use crate::order_policy::OrderPolicy;
use crate::record::{RecordKind, account_subject};

/// All accounts that there are records of, or that were made.
pub(crate) struct Accounts {
    /// By the subjects of their records.
    slots: StdMutex<HashMap<String, Arc<Mutex<AccountSlot>>>>,
}

/// One account. A task that needs it waits while another makes it.
#[derive(Default)]
struct AccountSlot {
    /// The credentials as they are stored; JSON.
    stored: Option<Vec<u8>>,
    /// The account, with the bundle that its authority is verified by.
    account: Option<(Account, Option<Vec<u8>>)>,
}

impl Accounts {
    /// From records, by their subjects.
    pub(crate) fn new(records: impl Iterator<Item = (String, Vec<u8>)>) -> Self {
        let slot = |stored| Arc::new(Mutex::new(AccountSlot { stored: Some(stored), account: None }));
        Self { slots: StdMutex::new(records.map(|(subject, stored)| (subject, slot(stored))).collect()) }
    }

    /// The account for certificates of an issuer.
    pub(crate) async fn of(&self, policy: &OrderPolicy, host: &impl EngineHost) -> Result<Account, Failure> {
        let subject = account_subject(&policy.issuer);
        let slot = self.slot(&subject);
        let mut slot = slot.lock().await;
        if let Some((account, ca)) = &slot.account
            && *ca == policy.ca
        {
            return Ok(account.clone());
        }
        let account = match slot.stored.as_deref().map(serde_json::from_slice::<AccountCredentials>) {
            Some(Ok(credentials)) => restore(policy, credentials).await?,
            broken_or_none => {
                if broken_or_none.is_some() {
                    tracing::warn!("the record of an account at {} is broken", policy.issuer.directory);
                }
                let (account, credentials) = create(policy).await?;
                let stored = crate::record::write(&credentials);
                host.store(RecordKind::Account.record(&subject), Some(stored.clone()))
                    .await
                    .map_err(|error| Failure::not_stored(&error))?;
                tracing::info!(target: "notice", "made an account at {}", policy.issuer.directory);
                slot.stored = Some(stored);
                account
            }
        };
        slot.account = Some((account.clone(), policy.ca.clone()));
        Ok(account)
    }

    /// The authority does not know the account. Nothing is done if another one has taken its place already.
    pub(crate) async fn forget(&self, issuer: &AcmeIssuer, lost: &str, host: &impl EngineHost) {
        let subject = account_subject(issuer);
        let slot = self.slot(&subject);
        let mut slot = slot.lock().await;
        if slot.account.as_ref().is_none_or(|(account, _)| account.id() != lost) {
            return;
        }
        tracing::warn!("the authority at {} does not know the account any more", issuer.directory);
        *slot = AccountSlot::default();
        if let Err(error) = host.store(RecordKind::Account.record(&subject), None).await {
            tracing::warn!("remove the record of an account: {error}");
        }
    }

    /// Has the directory of an authority read again before its next order: URLs may have moved while it was away.
    pub(crate) async fn read_directory_again(&self, issuer: &AcmeIssuer) {
        self.slot(&account_subject(issuer)).lock().await.account = None;
    }

    fn slot(&self, subject: &str) -> Arc<Mutex<AccountSlot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(subject.to_owned()).or_default())
    }
}

async fn restore(policy: &OrderPolicy, credentials: AccountCredentials) -> Result<Account, Failure> {
    let builder = Account::builder_with_http(Box::new(requests(policy).await?));
    let account = builder.from_credentials(credentials).await;
    account.map_err(|error| Failure::of_error(FailedStep::Account, &error))
}

async fn create(policy: &OrderPolicy) -> Result<(Account, AccountCredentials), Failure> {
    let requests = requests(policy).await?;
    let contact = policy.issuer.email.as_ref().map(|email| format!("mailto:{email}"));
    let contact: Vec<_> = contact.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let eab = policy.issuer.eab.as_ref().map(|eab| ExternalAccountKey::new(eab.kid.clone(), &eab.key));
    let directory = &policy.issuer.directory;
    let created = patiently!(Account::builder_with_http(Box::new(requests.clone())).create(
        &new,
        directory.clone(),
        eab.as_ref()
    ));
    created.map_err(|error| Failure::of_error(FailedStep::Account, &error))
}

async fn requests(policy: &OrderPolicy) -> Result<AcmeRequests, Failure> {
    let roots = match (&policy.issuer.ca, &policy.ca) {
        (Some(name), Some(pem)) => client::bundle_roots(name, pem),
        (Some(name), None) => Err(AwayError::EmptyBundle(name.clone())),
        // Reads files.
        (None, _) => {
            tokio::task::spawn_blocking(client::system_roots).await.unwrap_or(Err(AwayError::NoRoots))
        }
    };
    roots.and_then(AcmeRequests::secured).map_err(|error| Failure::away(&error))
}
