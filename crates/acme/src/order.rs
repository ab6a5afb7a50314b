//! One order, from the account to the certificate. Each record is written before the step that depends on it, so that
//! an order that was interrupted anywhere is taken up again where it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use corral_ipc::message::{IssuedSecret, IssuedSecretKind};
use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeStatus, Error, Identifier, NewOrder, Order,
    OrderStatus, Problem, RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};

use crate::account::Accounts;
use crate::challenge_response::{self, ChallengeResponse};
use crate::failure::{Blame, FailedStep, Failure, is_lost_order};
use crate::host::EngineHost;
use crate::issued_certificate::IssuedCertificate;
use crate::nonce::patiently;
use crate::order_policy::{ChallengeMethod, OrderPolicy};
use crate::record::{CertificateRecord, OpenOrder, OrderRecord, RecordKind, Trouble, write};
use crate::schedule::Suggestion;

/// The parts that all orders share.
pub(crate) struct OrderContext<H> {
    pub(crate) host: H,
    pub(crate) accounts: Accounts,
    pub(crate) orders: Orders,
}

/// The records of orders, as they are stored.
#[derive(Default)]
pub(crate) struct Orders {
    by_name: Mutex<HashMap<String, OrderRecord>>,
}

/// A certificate to order.
pub(crate) struct OrderJob {
    pub(crate) name: String,
    pub(crate) policy: Arc<OrderPolicy>,
    pub(crate) method: ChallengeMethod,
    pub(crate) replaces: Option<CertificateIdentifier<'static>>,
    pub(crate) on_demand: bool,
}

impl Orders {
    pub(crate) fn new(records: impl Iterator<Item = (String, OrderRecord)>) -> Self {
        Self { by_name: Mutex::new(records.collect()) }
    }

    fn open(&self, name: &str) -> Option<OpenOrder> {
        self.by_name().get(name).and_then(|record| record.open.clone())
    }

    fn by_name(&self) -> std::sync::MutexGuard<'_, HashMap<String, OrderRecord>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a record, and gives it as it is to be stored.
    fn change(&self, name: &str, change: impl FnOnce(&mut OrderRecord)) -> Vec<u8> {
        let mut by_name = self.by_name();
        let record = by_name.entry(name.to_owned()).or_default();
        change(record);
        write(record)
    }
}

impl<H: EngineHost> OrderContext<H> {
    /// Comes to a certificate that is stored and that routers show to clients.
    pub(crate) async fn obtain(&self, job: &OrderJob) -> Result<IssuedCertificate, Failure> {
        let account = self.accounts.of(&job.policy, &self.host).await?;
        match self.order(job, &account).await {
            Err(failure) if failure.blame == Blame::LostAccount => {
                self.accounts.forget(&job.policy.issuer, account.id(), &self.host).await;
                let account = self.accounts.of(&job.policy, &self.host).await?;
                self.order(job, &account).await
            }
            Err(failure) if failure.blame == Blame::Authority => {
                self.accounts.read_directory_again(&job.policy.issuer).await;
                Err(failure)
            }
            result => result,
        }
    }

    /// Remembers why an order failed. An order that has come to nothing is forgotten.
    pub(crate) async fn note_trouble(&self, name: &str, blame: Blame, trouble: Trouble) {
        let record = self.orders.change(name, |record| {
            record.trouble = Some(trouble);
            if blame == Blame::Name {
                record.open = None;
            }
        });
        if let Err(error) = self.host.store(RecordKind::Order.record(name), Some(record)).await {
            tracing::warn!("keep why the order for {name} failed: {error}");
        }
    }

    /// When the authority wants a certificate to be renewed; nothing when it does not say.
    pub(crate) async fn suggestion(
        &self,
        policy: &OrderPolicy,
        id: &CertificateIdentifier<'_>,
    ) -> Option<Suggestion> {
        let account = self.accounts.of(policy, &self.host).await.ok()?;
        match account.renewal_info(id).await {
            Ok((info, ask_after)) => Some(Suggestion {
                start: SystemTime::from(info.suggested_window.start),
                end: SystemTime::from(info.suggested_window.end),
                ask_after,
            }),
            Err(error) => {
                tracing::debug!("ask when to renew {id}: {error}");
                None
            }
        }
    }

    async fn order(&self, job: &OrderJob, account: &Account) -> Result<IssuedCertificate, Failure> {
        let (mut order, open) = match self.taken_up(job, account).await? {
            Some(found) => found,
            None => self.begin(job, account).await?,
        };
        if order.state().status == OrderStatus::Pending {
            self.prove(&mut order, job).await?;
        }
        let key =
            KeyPair::from_pem(&open.key).map_err(|_| Failure::of_name("the key of the order is broken"))?;
        if order.state().status == OrderStatus::Ready {
            let request = request(&job.name, &key).map_err(|error| Failure::of_name(error.to_string()))?;
            patiently!(order.finalize_csr(&request))
                .map_err(|error| Failure::of_error(FailedStep::Order, &error))?;
        }
        let chain = match order.state().status {
            OrderStatus::Valid => patiently!(order.certificate()).map(Option::unwrap_or_default),
            _ => patiently!(order.poll_certificate(&POLLING)),
        };
        let chain = chain.map_err(|error| Failure::of_error(FailedStep::Order, &error))?;
        let record = CertificateRecord {
            directory: job.policy.issuer.directory.clone(),
            on_demand: job.on_demand,
            order: open.url,
            chain,
            key: open.key,
        };
        self.keep(&job.name, &record).await
    }

    /// The order of an earlier try, if it may still come to something.
    async fn taken_up(
        &self,
        job: &OrderJob,
        account: &Account,
    ) -> Result<Option<(Order, OpenOrder)>, Failure> {
        let open = self.orders.open(&job.name).filter(|open| open.account == account.id());
        let Some(open) = open else { return Ok(None) };
        match patiently!(account.order(open.url.clone())) {
            Ok(mut order) => Ok((order.state().status != OrderStatus::Invalid).then_some((order, open))),
            Err(error) if is_lost_order(&error) => Ok(None),
            Err(error) => Err(Failure::of_error(FailedStep::Order, &error)),
        }
    }

    async fn begin(&self, job: &OrderJob, account: &Account) -> Result<(Order, OpenOrder), Failure> {
        check_profile(&job.policy, account)?;
        let order = match new_order(job, account, job.replaces.clone()).await {
            // Another order has replaced it, or the authority does not know its own certificate: each says so in its
            // own way. What holds for orders without it as well is said once more.
            Err(failure)
                if job.replaces.is_some()
                    && !matches!(failure.blame, Blame::RateLimit | Blame::LostAccount) =>
            {
                tracing::debug!("order {} without what it replaces: {}", job.name, failure.words);
                new_order(job, account, None).await?
            }
            result => result?,
        };
        let key = KeyPair::generate().map_err(|error| Failure::of_name(format!("make a key: {error}")))?;
        let (account, url) = (account.id().to_owned(), order.url().to_owned());
        let open = OpenOrder { account, url, key: key.serialize_pem() };
        let record = self.orders.change(&job.name, |record| record.open = Some(open.clone()));
        self.host
            .store(RecordKind::Order.record(&job.name), Some(record))
            .await
            .map_err(|error| Failure::not_stored(&error))?;
        Ok((order, open))
    }

    /// Has the authority look at the answer.
    async fn prove(&self, order: &mut Order, job: &OrderJob) -> Result<(), Failure> {
        let Some(answer) = wanted_answer(order, job).await? else { return ready(order).await };
        let checked = match answer.present(&self.host).await {
            Ok(()) => checked(order, job).await,
            Err(failure) => Err(failure),
        };
        answer.withdraw(&self.host).await;
        checked
    }

    /// Stored first, so that a certificate that clients have seen is not lost; the order is over then.
    async fn keep(&self, name: &str, record: &CertificateRecord) -> Result<IssuedCertificate, Failure> {
        let held = IssuedCertificate::read(name, record)?;
        self.host
            .store(RecordKind::Certificate.record(name), Some(write(record)))
            .await
            .map_err(|error| Failure::not_stored(&error))?;
        if let Err(error) = self.host.provide(vec![secret(name, record)]).await {
            tracing::warn!("the router has not taken the certificate for {name} yet: {error}");
        }
        self.orders.by_name().remove(name);
        if let Err(error) = self.host.store(RecordKind::Order.record(name), None).await {
            tracing::warn!("remove the record of the order for {name}: {error}");
        }
        Ok(held)
    }
}

/// A certificate as routers are given it.
pub(crate) fn secret(name: &str, record: &CertificateRecord) -> IssuedSecret {
    let bytes = format!("{}\n{}", record.chain.trim_end(), record.key).into_bytes();
    IssuedSecret { kind: IssuedSecretKind::Certificate, name: name.to_owned(), bytes: Some(bytes) }
}

fn check_profile(policy: &OrderPolicy, account: &Account) -> Result<(), Failure> {
    let Some(profile) = policy.issuer.profile.as_deref() else { return Ok(()) };
    if account.profiles().any(|known| known.name == profile) {
        return Ok(());
    }
    let mut known: Vec<_> = account.profiles().map(|known| known.name).collect();
    known.sort_unstable();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(Failure::of_name(format!("the authority does not have the profile \"{profile}\"; it has: {known}")))
}

async fn new_order(
    job: &OrderJob,
    account: &Account,
    replaces: Option<CertificateIdentifier<'static>>,
) -> Result<Order, Failure> {
    let names = [Identifier::Dns(job.name.clone())];
    let mut new = NewOrder::new(&names);
    if let Some(replaces) = replaces {
        new = new.replaces(replaces);
    }
    if let Some(profile) = &job.policy.issuer.profile {
        new = new.profile(profile);
    }
    patiently!(account.new_order(&new)).map_err(|error| Failure::of_error(FailedStep::NewOrder, &error))
}

/// Reads the authorization of the order's only name, which the order then keeps.
async fn load(order: &mut Order) -> Result<(), Error> {
    match order.authorizations().next().await {
        Some(authorization) => authorization.map(drop),
        None => Err(Error::Str("an authorization of the order")),
    }
}

/// The answer to the challenge of the job's way; none when the authority does not want to look.
async fn wanted_answer(order: &mut Order, job: &OrderJob) -> Result<Option<ChallengeResponse>, Failure> {
    patiently!(load(order)).map_err(|error| Failure::of_error(FailedStep::Order, &error))?;
    let mut authorizations = order.authorizations();
    let Some(Ok(mut authorization)) = authorizations.next().await else { return Ok(None) };
    if authorization.status != AuthorizationStatus::Pending {
        return Ok(None);
    }
    let Some(challenge) = authorization.challenge(challenge_response::challenge(&job.method)) else {
        let method = job.method.name();
        return Err(Failure::of_name(format!(
            "the authority does not offer {method} for this name; set \"challenge\" to another one"
        )));
    };
    ChallengeResponse::new(&job.name, &job.method, &challenge.token, &challenge.key_authorization()).map(Some)
}

/// Tells the authority that the answer is there, and waits until it has looked.
async fn checked(order: &mut Order, job: &OrderJob) -> Result<(), Failure> {
    if let Some(Ok(mut authorization)) = order.authorizations().next().await
        && let Some(mut challenge) = authorization.challenge(challenge_response::challenge(&job.method))
        && challenge.status == ChallengeStatus::Pending
        && let Err(error) = patiently!(challenge.set_ready())
    {
        match &error {
            // It may be looking already; waiting for it tells.
            Error::Api(problem) if problem.status.is_some_and(|status| status < 500) => {
                tracing::debug!("have the authority look at {}: {error}", job.name);
            }
            error => return Err(Failure::of_error(FailedStep::Order, error)),
        }
    }
    ready(order).await
}

async fn ready(order: &mut Order) -> Result<(), Failure> {
    match patiently!(order.poll_ready(&POLLING)) {
        Ok(OrderStatus::Ready) => Ok(()),
        Ok(_) => Err(refused(order, None).await),
        Err(error) if order.state().status == OrderStatus::Invalid => Err(refused(order, Some(&error)).await),
        Err(error) => Err(Failure::of_error(FailedStep::Order, &error)),
    }
}

/// Why the authority was not convinced: the challenge says it, seldom the order.
async fn refused(order: &mut Order, error: Option<&Error>) -> Failure {
    match (problem(order).await, error) {
        (Some(problem), _) => {
            Failure { blame: Blame::Name, ..Failure::of_problem(FailedStep::Order, &problem) }
        }
        (None, Some(error)) => Failure { blame: Blame::Name, ..Failure::of_error(FailedStep::Order, error) },
        (None, None) => Failure::of_name("the authority gave the order up and does not say why"),
    }
}

async fn problem(order: &mut Order) -> Option<Problem> {
    let mut authorizations = order.authorizations();
    let mut authorization = authorizations.next().await?.ok()?;
    let state = patiently!(authorization.refresh()).ok()?;
    state.challenges.iter().find_map(|challenge| challenge.error.clone())
}

/// A certificate signing request for one name; DER.
fn request(name: &str, key: &KeyPair) -> Result<Vec<u8>, rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    Ok(params.serialize_request(key)?.der().to_vec())
}

/// Authorities mostly look at once.
const POLLING: RetryPolicy =
    RetryPolicy::new().initial_delay(Duration::from_millis(50)).backoff(2.0).timeout(Duration::from_secs(90));
