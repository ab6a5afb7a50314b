//! Runs what the schedule decides: orders, questions about renewals, and the rules for names that clients ask for.

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use corral_config::tls::OnDemand;
use corral_ipc::message::IssuedSecret;
use http::{Request, StatusCode};
use instant_acme::BodyWrapper;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc};
use tokio::task::{Id, JoinError, JoinSet};

use crate::account::Accounts;
use crate::client::{self, AcmeRequests};
use crate::failure::Failure;
use crate::host::EngineHost;
use crate::issued_certificate::IssuedCertificate;
use crate::jitter::Jitter;
use crate::on_demand::{self, OnDemandPolicy, OnDemandVerdict};
use crate::order::{OrderContext, OrderJob, Orders, secret};
use crate::order_policy::{OrderPolicy, WantedCertificates};
use crate::record::{CertificateRecord, OrderRecord, RecordKind};
use crate::schedule::{DUE_ALREADY, OrderSchedule, RenewError, ScheduleStep, Suggestion};
use crate::status::NameStatus;
use crate::time;

/// Where the rest of the process says what it wants, and asks how things are. Clones share one engine. Nothing waits.
#[derive(Clone)]
pub struct AcmeEngine {
    shared: Arc<EngineState>,
    wanted: mpsc::Sender<Wanted>,
}

/// The engine's work, which is done while `run` is polled.
pub struct RunningEngine<H> {
    shared: Arc<EngineState>,
    context: Arc<OrderContext<H>>,
    wanted: mpsc::Receiver<Wanted>,
    on_demand_policy: OnDemandPolicy,
    tasks: JoinSet<Done>,
    /// The name and directory of each task, for one that ends by a panic.
    begun: HashMap<Id, (String, String)>,
    /// For URLs that decide about names; made when there is one.
    requests: Option<AcmeRequests>,
}

struct EngineState {
    schedule: Mutex<OrderSchedule>,
    wanted: Mutex<Arc<WantedCertificates>>,
    changed: Notify,
}

/// A name that a client has asked for.
struct Wanted {
    name: String,
    client: Option<IpAddr>,
}

/// The result of a task.
enum Done {
    Ordered {
        name: String,
        policy: Arc<OrderPolicy>,
        is_renewal: bool,
        result: Result<IssuedCertificate, Failure>,
    },
    Forbidden {
        name: String,
        policy: Arc<OrderPolicy>,
    },
    Asked {
        name: String,
        policy: Arc<OrderPolicy>,
        suggestion: Option<Suggestion>,
    },
    Answered {
        url: String,
        name: String,
        answer: Option<bool>,
    },
    Noted,
}

impl AcmeEngine {
    /// An engine that knows `records`, by their names, what it runs by, and the certificates among the records, which
    /// routers can use at once.
    pub fn new<H: EngineHost>(
        host: H,
        records: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> (Self, RunningEngine<H>, Vec<IssuedSecret>) {
        let mut schedule = OrderSchedule::new(Jitter::random());
        let Known { accounts, orders, secrets } = read(records, &mut schedule);
        let shared = Arc::new(EngineState {
            schedule: Mutex::new(schedule),
            wanted: Mutex::default(),
            changed: Notify::new(),
        });
        let (sender, wanted) = mpsc::channel(MOST_WANTED);
        let context = OrderContext {
            host,
            accounts: Accounts::new(accounts.into_iter()),
            orders: Orders::new(orders.into_iter()),
        };
        let running = RunningEngine {
            shared: Arc::clone(&shared),
            context: Arc::new(context),
            wanted,
            on_demand_policy: OnDemandPolicy::default(),
            tasks: JoinSet::new(),
            begun: HashMap::new(),
            requests: None,
        };
        (Self { shared, wanted: sender }, running, secrets)
    }

    /// A configuration has come into force.
    pub fn set_wanted(&self, wanted: WantedCertificates) {
        self.shared.schedule().wanted(&wanted);
        *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(wanted);
        self.shared.changed.notify_one();
    }

    /// A client has asked for a name without certificate.
    pub fn want(&self, name: String, client: Option<IpAddr>) {
        // Where so many wait, clients ask again.
        let _ = self.wanted.try_send(Wanted { name, client });
    }

    /// Has a name ordered now, whether or not its certificate has to be renewed.
    ///
    /// # Errors
    /// When there is no such certificate, or an order goes on.
    pub fn renew(&self, name: &str) -> Result<(), RenewError> {
        self.shared.schedule().renew(name)?;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// How all names are that are wanted, in their order.
    #[must_use]
    pub fn status(&self) -> Vec<NameStatus> {
        self.shared.schedule().status(SystemTime::now())
    }
}

impl<H: EngineHost> RunningEngine<H> {
    /// Orders and renews for as long as it is polled. Dropped at any time, it leaves orders that are taken up again.
    pub async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            self.begin_steps();
            let wait = self.shared.wait(SystemTime::now());
            tokio::select! {
                () = shared.changed.notified() => self.forget_old(),
                Some(Wanted { name, client }) = self.wanted.recv() => self.consider(&name, client),
                Some(ended) = self.tasks.join_next_with_id() => self.end(ended),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn begin_steps(&mut self) {
        loop {
            let step = self.shared.schedule().step(SystemTime::now());
            match step {
                None => return,
                Some(ScheduleStep::Order { name, policy, method, replaces, on_demand }) => {
                    let rule = on_demand.then(|| self.rule_for(&name));
                    self.order(OrderJob { name, policy, method, replaces, on_demand }, rule);
                }
                Some(ScheduleStep::Ask { name, policy, id }) => {
                    let context = Arc::clone(&self.context);
                    self.spawn(name.clone(), &Arc::clone(&policy), async move {
                        let suggestion = context.suggestion(&policy, &id).await;
                        Done::Asked { name, policy, suggestion }
                    });
                }
            }
        }
    }

    /// A renewal of a name that a client has asked for is for its rule to allow once more.
    fn order(&mut self, job: OrderJob, rule: Option<Rule>) {
        let context = Arc::clone(&self.context);
        let is_renewal = job.replaces.is_some();
        tracing::debug!("order a certificate for {} ({})", job.name, job.method.name());
        self.spawn(job.name.clone(), &Arc::clone(&job.policy), async move {
            let is_allowed = match rule {
                Some(Rule::Url { requests, url }) if is_renewal => {
                    allows(requests.as_deref(), &url, &job.name).await != Some(false)
                }
                Some(Rule::Refused) => false,
                None | Some(Rule::Url { .. } | Rule::Listed) => true,
            };
            if !is_allowed {
                return Done::Forbidden { name: job.name, policy: job.policy };
            }
            let result = client::noting_retry_after(context.obtain(&job)).await;
            Done::Ordered { name: job.name, policy: job.policy, is_renewal, result }
        });
    }

    fn spawn(
        &mut self,
        name: String,
        policy: &OrderPolicy,
        task: impl Future<Output = Done> + Send + 'static,
    ) {
        let id = self.tasks.spawn(task).id();
        self.begun.insert(id, (name, policy.issuer.directory.clone()));
    }

    fn end(&mut self, ended: Result<(Id, Done), JoinError>) {
        let (id, done) = match ended {
            Ok((id, done)) => (id, Some(done)),
            Err(error) => (error.id(), None),
        };
        let begun = self.begun.remove(&id);
        let now = SystemTime::now();
        match done {
            Some(Done::Ordered { name, policy, is_renewal, result: Ok(held) }) => {
                self.issued(&name, &policy, is_renewal, held, now);
            }
            Some(Done::Ordered { name, policy, result: Err(failure), .. }) => {
                self.failed(&name, &policy.issuer.directory, &failure, now);
            }
            Some(Done::Forbidden { name, policy }) => {
                tracing::info!(target: "notice", "certificate for {name}: no rule of \"on_demand\" allows it any \
                    more; not renewed");
                self.shared.schedule().forbidden(&name, &policy.issuer.directory);
            }
            Some(Done::Asked { name, policy, suggestion }) => {
                self.shared.schedule().asked(&name, &policy.issuer.directory, suggestion, now);
            }
            Some(Done::Answered { url, name, answer }) => {
                let rules = self.rules();
                let verdict =
                    self.on_demand_policy.answered(&url, &name, answer, &rules.on_demand, Instant::now());
                self.obey(&name, verdict);
            }
            Some(Done::Noted) => {}
            None => {
                let Some((name, directory)) = begun else { return };
                self.failed(
                    &name,
                    &directory,
                    &Failure::of_name("the order ended by an error of this program"),
                    now,
                );
            }
        }
    }

    fn issued(
        &self,
        name: &str,
        policy: &OrderPolicy,
        is_renewal: bool,
        held: IssuedCertificate,
        now: SystemTime,
    ) {
        let (issuer, expires) = (held.issuer.clone(), time::text(held.not_after));
        let mut schedule = self.shared.schedule();
        let is_due_at = schedule.issued(name, &policy.issuer.directory, held, now);
        let renews_at = schedule.renews_at(name).map_or_else(String::new, time::text);
        let verb = if is_renewal { "renewed" } else { "issued" };
        tracing::info!(
            target: "notice",
            "certificate for {name} {verb} by {issuer}; it expires {expires} and is renewed {renews_at}"
        );
        if let Some(next_try) = is_due_at.map(time::text) {
            tracing::warn!("certificate for {name}: {DUE_ALREADY}; next try {next_try}");
        }
    }

    fn failed(&mut self, name: &str, directory: &str, failure: &Failure, now: SystemTime) {
        let (trouble, next_try) = self.shared.schedule().failed(name, directory, failure, now);
        let (words, next_try) = (&failure.words, time::text(next_try));
        tracing::warn!("certificate for {name}: {words}; next try {next_try}");
        let Some(trouble) = trouble else { return };
        let (context, name, blame) = (Arc::clone(&self.context), name.to_owned(), failure.blame);
        self.tasks.spawn(async move {
            context.note_trouble(&name, blame, trouble).await;
            Done::Noted
        });
    }

    fn consider(&mut self, name: &str, client: Option<IpAddr>) {
        if self.shared.schedule().is_wanted(name) {
            return;
        }
        let rules = self.rules();
        let verdict = self.on_demand_policy.consider(name, client, &rules.on_demand, Instant::now());
        self.obey(name, verdict);
    }

    fn obey(&mut self, name: &str, verdict: OnDemandVerdict) {
        match verdict {
            OnDemandVerdict::Allowed(policy) => {
                tracing::info!(target: "notice", "certificate for {name}: a client has asked for it; it is ordered");
                self.shared.schedule().want(name, &policy);
            }
            OnDemandVerdict::Ask(url) => {
                let (requests, name) = (self.requests(), name.to_owned());
                self.tasks.spawn(async move {
                    let answer = allows(requests.as_ref(), &url, &name).await;
                    Done::Answered { url, name, answer }
                });
            }
            OnDemandVerdict::Refused(reason) => {
                tracing::info!(target: "notice", "certificate for {name}: not ordered: {reason}");
            }
            OnDemandVerdict::Passed => {}
        }
    }

    fn rules(&self) -> Arc<WantedCertificates> {
        Arc::clone(&self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn rule_for(&mut self, name: &str) -> Rule {
        let rules = self.rules();
        let listed = rules.on_demand.iter().any(|(rule, _)| on_demand::is_listed(rule, name) == Some(true));
        let url = rules.on_demand.iter().find_map(|(rule, _)| url(rule));
        match (listed, url) {
            (true, _) => Rule::Listed,
            (false, Some(url)) => Rule::Url { requests: self.requests().map(Box::new), url },
            (false, None) => Rule::Refused,
        }
    }

    /// Reads the system's authorities once.
    fn requests(&mut self) -> Option<AcmeRequests> {
        if self.requests.is_none() {
            let requests = client::system_roots().or_else(|_| Ok(Arc::new(rustls::RootCertStore::empty())));
            match requests.and_then(AcmeRequests::any) {
                Ok(requests) => self.requests = Some(requests),
                Err(error) => tracing::warn!("ask URLs of \"allow\": {error}"),
            }
        }
        self.requests.clone()
    }

    fn forget_old(&mut self) {
        let old = self.shared.schedule().forget_old(SystemTime::now());
        for name in old {
            let context = Arc::clone(&self.context);
            self.tasks.spawn(async move {
                for kind in [RecordKind::Certificate, RecordKind::Order] {
                    let _ = context.host.store(kind.record(&name), None).await;
                }
                Done::Noted
            });
        }
    }
}

/// The rule for a name that a client has asked for.
enum Rule {
    Listed,
    Url { requests: Option<Box<AcmeRequests>>, url: String },
    Refused,
}

fn url(rule: &OnDemand) -> Option<String> {
    match &rule.allow {
        corral_config::tls::AllowRule::Url { url, .. } => Some(url.clone()),
        corral_config::tls::AllowRule::Names(_) => None,
    }
}

/// Asks a URL about a name, which has no characters that a query would have to escape. Nothing when it does not answer.
async fn allows(requests: Option<&AcmeRequests>, url: &str, name: &str) -> Option<bool> {
    let mark = if url.contains('?') { '&' } else { '?' };
    let request = Request::get(format!("{url}{mark}domain={name}")).body(BodyWrapper::<Bytes>::default());
    let request = request.inspect_err(|error| tracing::warn!("ask {url} about {name}: {error}")).ok()?;
    match requests?.send(request).await {
        Ok(response) => Some(response.status() == StatusCode::OK),
        Err(error) => {
            tracing::warn!("ask {url} about {name}: {error}");
            None
        }
    }
}

impl EngineState {
    /// Nothing can panic half-way through a change, so a poisoned lock is as good as any.
    fn schedule(&self) -> MutexGuard<'_, OrderSchedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bounded, because the system's clock may be set.
    fn wait(&self, now: SystemTime) -> Duration {
        let wake = self.schedule().wake(now);
        let wait = wake.and_then(|wake| wake.duration_since(now).ok());
        wait.map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT))
    }
}

/// The content of records.
struct Known {
    accounts: Vec<(String, Vec<u8>)>,
    orders: Vec<(String, OrderRecord)>,
    secrets: Vec<IssuedSecret>,
}

/// Certificates of no use any more are not given to routers, and their names begin anew.
fn read(records: impl IntoIterator<Item = (String, Vec<u8>)>, schedule: &mut OrderSchedule) -> Known {
    let now = SystemTime::now();
    let mut known = Known { accounts: Vec::new(), orders: Vec::new(), secrets: Vec::new() };
    // The URLs of orders that have come to a certificate.
    let mut over = Vec::new();
    for (record, bytes) in records {
        let Some((kind, subject)) = RecordKind::parse(&record) else { continue };
        let subject = subject.to_owned();
        match kind {
            RecordKind::Account => known.accounts.push((subject, bytes)),
            RecordKind::Order => known.orders.extend(parse(&record, &bytes).map(|order| (subject, order))),
            RecordKind::Certificate => {
                let Some(content) = parse::<CertificateRecord>(&record, &bytes) else { continue };
                match IssuedCertificate::read(&subject, &content) {
                    Ok(held) => {
                        if held.not_after > now {
                            known.secrets.push(secret(&subject, &content));
                        }
                        schedule.remember(&subject, held, now);
                        over.push(content.order);
                    }
                    Err(_) => tracing::warn!("the record \"{record}\" holds no usable certificate"),
                }
            }
        }
    }
    known.orders.retain(|(_, order)| order.open.as_ref().is_none_or(|open| !over.contains(&open.url)));
    for (name, order) in &known.orders {
        if let Some(trouble) = order.trouble.clone() {
            schedule.remember_trouble(name, trouble);
        }
    }
    known
}

fn parse<T: DeserializeOwned>(record: &str, bytes: &[u8]) -> Option<T> {
    let parsed = serde_json::from_slice(bytes);
    parsed.inspect_err(|error| tracing::warn!("the record \"{record}\" is broken: {error}")).ok()
}

/// Names that clients have asked for and that are not looked at yet.
const MOST_WANTED: usize = 256;

const LONGEST_WAIT: Duration = Duration::from_secs(60);
