//! Decides what is next for each name: an order, a question about its renewal, or a pause. Time comes in, steps go out;
//! nothing here waits, sends or stores.

mod authority;
mod pace;
mod renewal;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use instant_acme::CertificateIdentifier;

use self::authority::Authorities;
use self::pace::OrderPace;
use self::renewal::Renewal;
pub(crate) use self::renewal::Suggestion;
use crate::failure::{Blame, Failure};
use crate::issued_certificate::IssuedCertificate;
use crate::jitter::Jitter;
use crate::order_policy::{ChallengeMethod, OrderPolicy, WantedCertificates};
use crate::pause;
use crate::record::Trouble;
use crate::status::{NameState, NameStatus};
use crate::time;

/// Something to do now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScheduleStep {
    /// Order a certificate, or go on with an order.
    Order {
        name: String,
        policy: Arc<OrderPolicy>,
        method: ChallengeMethod,
        /// The certificate that is to be replaced.
        replaces: Option<CertificateIdentifier<'static>>,
        /// The rule for such names has to allow it.
        on_demand: bool,
    },
    /// Ask when a certificate is to be renewed (RFC 9773).
    Ask { name: String, policy: Arc<OrderPolicy>, id: CertificateIdentifier<'static> },
}

/// All names, wanted or only remembered.
pub(crate) struct OrderSchedule {
    names: BTreeMap<String, Name>,
    authorities: Authorities,
    jitter: Jitter,
}

/// One name.
#[derive(Default)]
struct Name {
    /// Nothing when no configuration wants it.
    policy: Option<Arc<OrderPolicy>>,
    on_demand: bool,
    held: Option<(IssuedCertificate, Renewal)>,
    work: OrderWork,
    pace: OrderPace,
    /// Failures since the last success.
    trouble: Option<Trouble>,
    /// A person wants it ordered now, whether or not it has to be.
    is_asked_for: bool,
}

/// Why a name is not ordered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenewError {
    /// No automatic certificate has this name.
    #[error("there is no automatic certificate for this name")]
    Unknown,
    /// An order goes on, or is about to begin.
    #[error("an order for this name is under way already")]
    UnderWay,
    /// A wildcard without `dns-01`.
    #[error("{NEEDS_DNS}")]
    NeedsDns,
}

/// The task that runs for a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum OrderWork {
    #[default]
    None,
    Ordering,
    Asking,
}

/// The next step of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextOrder {
    Order,
    Ask,
}

impl OrderSchedule {
    pub(crate) fn new(jitter: Jitter) -> Self {
        Self { names: BTreeMap::new(), authorities: Authorities::default(), jitter }
    }

    /// A certificate of an earlier process.
    pub(crate) fn remember(&mut self, name: &str, held: IssuedCertificate, now: SystemTime) {
        let renewal = Renewal::new(&held, now, &mut self.jitter);
        let entry = self.names.entry(name.to_owned()).or_default();
        entry.on_demand = held.on_demand;
        entry.held = Some((held, renewal));
    }

    /// Failures of an earlier process. The operator may have started this one because the reason is gone, so that the
    /// rest of a pause is short.
    pub(crate) fn remember_trouble(&mut self, name: &str, trouble: Trouble) {
        let next_try =
            trouble.next_try.min(trouble.last_try.saturating_add(LONGEST_PAUSE_AT_START.as_secs()));
        self.names.entry(name.to_owned()).or_default().trouble = Some(Trouble { next_try, ..trouble });
    }

    /// A configuration has come into force. Names that it does not have are remembered and not renewed, except those
    /// that clients have asked for.
    pub(crate) fn wanted(&mut self, wanted: &WantedCertificates) {
        let on_demand = wanted.on_demand.first().map(|(_, policy)| policy);
        for (name, entry) in &mut self.names {
            match on_demand.filter(|_| entry.on_demand) {
                _ if wanted.names.contains_key(name) => {}
                Some(policy) => entry.want(policy, true, &mut self.authorities),
                None => entry.policy = None,
            }
        }
        for (name, policy) in &wanted.names {
            self.names.entry(name.clone()).or_default().want(policy, false, &mut self.authorities);
        }
    }

    /// A client has asked for a name, and a rule allows it.
    pub(crate) fn want(&mut self, name: &str, policy: &Arc<OrderPolicy>) {
        let entry = self.names.entry(name.to_owned()).or_default();
        if entry.policy.is_none() {
            entry.want(policy, true, &mut self.authorities);
        }
    }

    /// A person wants the name ordered now. Pauses after failures do not count, as the reason may be gone; the pace of
    /// orders for one name does.
    pub(crate) fn renew(&mut self, name: &str) -> Result<(), RenewError> {
        let entry = self.names.get_mut(name).ok_or(RenewError::Unknown)?;
        let policy = entry.policy.as_ref().ok_or(RenewError::Unknown)?;
        if entry.work == OrderWork::Ordering || entry.is_asked_for {
            return Err(RenewError::UnderWay);
        }
        if entry.method().is_none() {
            return Err(RenewError::NeedsDns);
        }
        self.authorities.forgive(&policy.issuer.directory);
        entry.is_asked_for = true;
        Ok(())
    }

    /// Whether the configuration wants a certificate for the name, or a client has been allowed to.
    pub(crate) fn is_wanted(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|entry| entry.policy.is_some())
    }

    /// Something to do now, which counts as begun; none when all wait, or enough goes on.
    pub(crate) fn step(&mut self, now: SystemTime) -> Option<ScheduleStep> {
        if self.authorities.n_running() >= MOST_AT_ONCE {
            return None;
        }
        let is_due = |entry: &Name| {
            let (at, next) = entry.next(&self.authorities, now)?;
            (at <= now && self.authorities.may_begin(entry.directory()?)).then_some(next)
        };
        // A name without a certificate has clients that wait.
        let due = self.names.iter().filter_map(|(name, entry)| Some((name, entry, is_due(entry)?)));
        let (name, next) = due
            .min_by_key(|(_, entry, next)| (*next == NextOrder::Ask, entry.is_served(now)))
            .map(|(name, _, next)| (name.clone(), next))?;
        let entry = self.names.get_mut(&name)?;
        let policy = Arc::clone(entry.policy.as_ref()?);
        self.authorities.begin(&policy.issuer.directory);
        let id = entry.held_from(&policy).and_then(|(held, _)| held.id.clone());
        match next {
            NextOrder::Order => {
                entry.work = OrderWork::Ordering;
                entry.is_asked_for = false;
                entry.pace.begin(now, &mut self.jitter);
                let method = entry.method()?.clone();
                Some(ScheduleStep::Order { name, policy, method, replaces: id, on_demand: entry.on_demand })
            }
            NextOrder::Ask => {
                entry.work = OrderWork::Asking;
                Some(ScheduleStep::Ask { name, policy, id: id? })
            }
        }
    }

    /// When there is something to do again, unless something that goes on ends before.
    pub(crate) fn wake(&self, now: SystemTime) -> Option<SystemTime> {
        let times = self.names.values().filter_map(|entry| entry.next(&self.authorities, now));
        times.map(|(at, _)| at).filter(|at| *at > now).min()
    }

    /// The order has come to a certificate. Gives the time of the next order if this certificate is to be renewed
    /// already: that is a trouble like a failure, as the next certificate may be no better.
    pub(crate) fn issued(
        &mut self,
        name: &str,
        directory: &str,
        held: IssuedCertificate,
        now: SystemTime,
    ) -> Option<SystemTime> {
        self.authorities.answered(directory);
        let renewal = Renewal::fresh(&held, now, &mut self.jitter);
        let entry = self.names.entry(name.to_owned()).or_default();
        entry.work = OrderWork::None;
        let trouble = entry.trouble.take();
        if renewal.at() <= now {
            let n_failures = trouble.map_or(0, |trouble| trouble.n_failures).saturating_add(1);
            let next_try = now + pause::OF_NAME.after(n_failures, &mut self.jitter);
            entry.trouble = Some(Trouble::new(n_failures, now, next_try, DUE_ALREADY.to_owned()));
        }
        entry.held = Some((held, renewal));
        entry.trouble.as_ref().map(|trouble| time::of_seconds(trouble.next_try))
    }

    /// The order has not. Gives the name's trouble if that is to be remembered, and when the next try is.
    pub(crate) fn failed(
        &mut self,
        name: &str,
        directory: &str,
        failure: &Failure,
        now: SystemTime,
    ) -> (Option<Trouble>, SystemTime) {
        let Some(entry) = self.names.get_mut(name) else { return (None, now) };
        entry.work = OrderWork::None;
        let until = match failure.blame {
            Blame::Name | Blame::Slowness | Blame::Replacement => {
                self.authorities.answered(directory);
                None
            }
            Blame::Authority | Blame::LostAccount => {
                return (None, self.authorities.failed(directory, failure, now, &mut self.jitter));
            }
            Blame::RateLimit => {
                let until = failure.retry_at.map(|at| at.min(now + LONGEST_PUT_OFF));
                self.authorities.limited(directory, failure, until, now, &mut self.jitter);
                until
            }
        };
        let n_failures = entry.trouble.as_ref().map_or(0, |trouble| trouble.n_failures).saturating_add(1);
        let next_try = now + pause::OF_NAME.after(n_failures, &mut self.jitter);
        let next_try = until.map_or(next_try, |until| until.max(next_try));
        let trouble = Trouble::new(n_failures, now, next_try, failure.words.clone());
        entry.trouble = Some(trouble.clone());
        (Some(trouble), next_try)
    }

    /// The rule for names that clients ask for does not allow this one any more.
    pub(crate) fn forbidden(&mut self, name: &str, directory: &str) {
        self.authorities.ended(directory);
        if let Some(entry) = self.names.get_mut(name) {
            entry.work = OrderWork::None;
            entry.is_asked_for = false;
            entry.policy = None;
        }
    }

    /// The authority's suggestion about a renewal, `None` if it does not answer that.
    pub(crate) fn asked(
        &mut self,
        name: &str,
        directory: &str,
        suggestion: Option<Suggestion>,
        now: SystemTime,
    ) {
        self.authorities.ended(directory);
        let Some(entry) = self.names.get_mut(name) else { return };
        entry.work = OrderWork::None;
        if let Some((held, renewal)) = &mut entry.held {
            renewal.suggested(held, suggestion, now, &mut self.jitter);
        }
    }

    /// Certificates that are neither wanted nor of use any more, which are forgotten.
    pub(crate) fn forget_old(&mut self, now: SystemTime) -> Vec<String> {
        let is_old = |entry: &Name| {
            entry.policy.is_none()
                && entry.work == OrderWork::None
                && entry.held.as_ref().is_none_or(|(held, _)| held.not_after + KEPT_AFTER_END < now)
        };
        let old: Vec<_> =
            self.names.iter().filter(|(_, entry)| is_old(entry)).map(|(name, _)| name.clone()).collect();
        for name in &old {
            self.names.remove(name);
        }
        old
    }

    /// The state of all names that are wanted.
    pub(crate) fn status(&self, now: SystemTime) -> Vec<NameStatus> {
        let wanted = self.names.iter().filter(|(_, entry)| entry.policy.is_some());
        wanted.map(|(name, entry)| entry.status(name, &self.authorities, now)).collect()
    }

    /// When the certificate of a name is to be renewed.
    pub(crate) fn renews_at(&self, name: &str) -> Option<SystemTime> {
        let (_, renewal) = self.names.get(name)?.held.as_ref()?;
        Some(renewal.at())
    }
}

impl Name {
    /// Other settings are another try.
    fn want(&mut self, policy: &Arc<OrderPolicy>, on_demand: bool, authorities: &mut Authorities) {
        if self.policy.as_ref().is_some_and(|old| old != policy) {
            self.trouble = None;
            authorities.forgive(&policy.issuer.directory);
        }
        self.policy = Some(Arc::clone(policy));
        self.on_demand = on_demand;
    }

    fn directory(&self) -> Option<&str> {
        self.policy.as_ref().map(|policy| policy.issuer.directory.as_str())
    }

    /// The name's certificate, if it comes from where it is to come from.
    fn held_from(&self, policy: &OrderPolicy) -> Option<&(IssuedCertificate, Renewal)> {
        self.held.as_ref().filter(|(held, _)| held.directory == policy.issuer.directory)
    }

    /// Whether clients get a certificate that is valid.
    fn is_served(&self, now: SystemTime) -> bool {
        self.held.as_ref().is_some_and(|(held, _)| held.not_after > now)
    }

    /// The way whose turn it is; none for a wildcard that cannot be proved.
    fn method(&self) -> Option<&ChallengeMethod> {
        let methods = &self.policy.as_ref()?.methods;
        let turn = self.trouble.as_ref().map_or(0, |trouble| trouble.n_failures as usize);
        methods.get(turn % methods.len().max(1))
    }

    fn next(&self, authorities: &Authorities, now: SystemTime) -> Option<(SystemTime, NextOrder)> {
        let policy = self.policy.as_ref().filter(|_| self.work == OrderWork::None)?;
        self.method()?;
        let held = self.held_from(policy);
        if self.is_asked_for {
            let at = self.pace.until(now).max(authorities.paused_until(&policy.issuer.directory, now));
            return Some((at, NextOrder::Order));
        }
        let renewal = held.map_or(SystemTime::UNIX_EPOCH, |(_, renewal)| renewal.at());
        let order = (renewal.max(self.paused_until(now)), NextOrder::Order);
        let question = held
            .filter(|(held, _)| held.id.is_some())
            .map(|(_, renewal)| (renewal.ask_at(now), NextOrder::Ask));
        let (at, next) = question.filter(|(at, _)| *at < order.0).unwrap_or(order);
        Some((at.max(authorities.paused_until(&policy.issuer.directory, now)), next))
    }

    /// When the name may be ordered again; 1970 when nothing keeps it.
    fn paused_until(&self, now: SystemTime) -> SystemTime {
        let next_try = self.trouble.as_ref().map_or(0, |trouble| trouble.next_try);
        let after_trouble = time::unless_beyond(time::of_seconds(next_try), now, LONGEST_PUT_OFF);
        after_trouble.max(self.pace.until(now))
    }

    fn status(&self, name: &str, authorities: &Authorities, now: SystemTime) -> NameStatus {
        let directory = self.directory().unwrap_or_default();
        let method = self.method();
        let held = self.held.as_ref();
        let last_error = match (&self.trouble, method) {
            (_, None) => Some(NEEDS_DNS.to_owned()),
            (Some(trouble), _) => Some(trouble.error.clone()),
            (None, _) => authorities.last_error(directory).map(str::to_owned),
        };
        let order_at =
            self.next(authorities, now).filter(|(_, next)| *next == NextOrder::Order).map(|(at, _)| at);
        let state = match (held, self.work) {
            (Some((held, _)), _) if held.not_after > now => NameState::Valid,
            (_, OrderWork::Ordering) => NameState::Ordering,
            (Some(_), _) => NameState::Expired,
            (None, _) if self.trouble.is_some() || method.is_none() => NameState::Failed,
            (None, _) => NameState::Waiting,
        };
        NameStatus {
            name: name.to_owned(),
            state,
            expires: held.map(|(held, _)| held.not_after),
            issuer: held.map(|(held, _)| held.issuer.clone()),
            renews_at: held.map(|(_, renewal)| renewal.at()),
            next_try: last_error.as_ref().and(order_at).map(|at| at.max(now)),
            last_error,
            challenge: method.map(ChallengeMethod::name),
        }
    }
}

/// Orders and questions at the same time.
const MOST_AT_ONCE: usize = 8;

/// The rest of a pause when the daemon is started again, counted from the last try.
const LONGEST_PAUSE_AT_START: Duration = Duration::from_secs(15 * 60);

/// The longest `Retry-After` that is heeded; the limits of authorities are for a week at most.
const LONGEST_PUT_OFF: Duration = Duration::from_secs(8 * 86_400);

/// How long a certificate is kept that has expired and is not wanted.
const KEPT_AFTER_END: Duration = Duration::from_secs(30 * 86_400);

/// The error of a certificate that came and is to be renewed at once.
pub(crate) const DUE_ALREADY: &str = "the certificate that the authority sent is to be renewed already; this \
    machine's clock must be right, and certificates must live for five minutes or longer";

/// The error of a wildcard without `dns-01`.
pub(crate) const NEEDS_DNS: &str =
    "a wildcard is proved by the DNS alone; set \"challenge\" to {\"dns\": …}, or list the names one by one";

#[cfg(test)]
mod tests;
