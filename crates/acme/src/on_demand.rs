//! The rules for names that clients ask for: one has to allow the certificate, and no client may have too many.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::tls::{AllowRule, OnDemand};
use corral_syntax::{client_network, is_public_name, registered_domain};

use crate::order_policy::OrderPolicy;

/// The memory of names, addresses and domains.
#[derive(Default)]
pub(crate) struct OnDemandPolicy {
    /// Answers of URLs, with their ends.
    remembered: HashMap<(String, String), (bool, Instant)>,
    /// Questions that are under way.
    asked: HashSet<(String, String)>,
    of_addresses: Counts<IpAddr>,
    of_domains: Counts<String>,
}

/// The decision about a name.
#[derive(Debug)]
pub(crate) enum OnDemandVerdict {
    /// Order it.
    Allowed(Arc<OrderPolicy>),
    /// Ask this URL first.
    Ask(String),
    /// For a reason that has to be told.
    Refused(&'static str),
    /// For a reason that was told before, or that is being found out.
    Passed,
}

impl OnDemandPolicy {
    /// A client has asked for `name`.
    pub(crate) fn consider(
        &mut self,
        name: &str,
        client: Option<IpAddr>,
        rules: &[(OnDemand, Arc<OrderPolicy>)],
        now: Instant,
    ) -> OnDemandVerdict {
        if !is_public_name(name) {
            return OnDemandVerdict::Refused("it is not a name that authorities issue for");
        }
        let mut verdict = OnDemandVerdict::Refused("no rule allows it");
        for (rule, policy) in rules {
            match &rule.allow {
                AllowRule::Names(names) if names.iter().any(|pattern| matches(pattern, name)) => {
                    return self.counted(name, client, rule, policy, now);
                }
                AllowRule::Names(_) => {}
                AllowRule::Url { url, .. } => {
                    let key = (url.clone(), name.to_owned());
                    match self.remembered.get(&key).filter(|(_, until)| *until > now) {
                        Some((true, _)) => return self.counted(name, client, rule, policy, now),
                        Some((false, _)) => verdict = OnDemandVerdict::Passed,
                        None if self.asked.contains(&key) => return OnDemandVerdict::Passed,
                        None if self.asked.len() >= MOST_QUESTIONS => return OnDemandVerdict::Passed,
                        // Counted before the question, which a server has to answer.
                        None => match self.count_address(client, rule, now) {
                            Count::Taken => {
                                self.asked.insert(key);
                                return OnDemandVerdict::Ask(url.clone());
                            }
                            exceeded => return exceeded.refused(PER_ADDRESS),
                        },
                    }
                }
            }
        }
        verdict
    }

    /// Notes the answer of a URL about a name, `None` if there was none, and decides about the name.
    pub(crate) fn answered(
        &mut self,
        url: &str,
        name: &str,
        answer: Option<bool>,
        rules: &[(OnDemand, Arc<OrderPolicy>)],
        now: Instant,
    ) -> OnDemandVerdict {
        let key = (url.to_owned(), name.to_owned());
        self.asked.remove(&key);
        let rule = rules.iter().find_map(|(rule, policy)| match &rule.allow {
            AllowRule::Url { url: asked, allowed_for, refused_for } if asked == url => {
                Some((rule, policy, *allowed_for, *refused_for))
            }
            _ => None,
        });
        // The configuration has changed meanwhile.
        let Some((rule, policy, allowed_for, refused_for)) = rule else { return OnDemandVerdict::Passed };
        let lifetime = match answer {
            Some(true) => allowed_for,
            Some(false) => refused_for,
            None => refused_for.min(LONGEST_SILENCE),
        };
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.retain(|_, (_, until)| *until > now);
        }
        if self.remembered.len() < MOST_REMEMBERED {
            self.remembered.insert(key, (answer == Some(true), now + lifetime));
        }
        match answer {
            Some(true) => self.count_domain(name, rule, now).allowed(policy),
            Some(false) => OnDemandVerdict::Refused("the URL of \"allow\" does not answer with status 200"),
            None => OnDemandVerdict::Refused("the URL of \"allow\" cannot be asked"),
        }
    }

    fn counted(
        &mut self,
        name: &str,
        client: Option<IpAddr>,
        rule: &OnDemand,
        policy: &Arc<OrderPolicy>,
        now: Instant,
    ) -> OnDemandVerdict {
        match self.count_address(client, rule, now) {
            Count::Taken => self.count_domain(name, rule, now).allowed(policy),
            exceeded => exceeded.refused(PER_ADDRESS),
        }
    }

    /// Clients of a Unix socket are known to the operator.
    fn count_address(&mut self, client: Option<IpAddr>, rule: &OnDemand, now: Instant) -> Count {
        client.map_or(Count::Taken, |client| {
            self.of_addresses.count(client_network(client), rule.per_address, now)
        })
    }

    fn count_domain(&mut self, name: &str, rule: &OnDemand, now: Instant) -> Count {
        let domain = registered_domain(name).unwrap_or(name).to_owned();
        self.of_domains.count(domain, rule.per_domain, now)
    }
}

const PER_ADDRESS: &str = "its address has asked for more new names than \"per_address\" allows in an hour";
const PER_DOMAIN: &str = "its domain has got more new names than \"per_domain\" allows in an hour";

/// Whether a rule that is a list has the name; none if the rule is a URL.
pub(crate) fn is_listed(rule: &OnDemand, name: &str) -> Option<bool> {
    match &rule.allow {
        AllowRule::Names(names) => Some(names.iter().any(|pattern| matches(pattern, name))),
        AllowRule::Url { .. } => None,
    }
}

/// `*.example.com` stands for one label.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(domain) => name.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == domain),
        None => pattern == name,
    }
}

/// Events of the last hour, for each key.
struct Counts<K> {
    by_key: HashMap<K, Recent>,
}

#[derive(Default)]
struct Recent {
    times: VecDeque<Instant>,
    is_told: bool,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

/// Whether there was room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Taken,
    /// For the first time within the hour.
    Exceeded,
    /// As it was told before.
    StillExceeded,
}

impl Count {
    fn refused(self, reason: &'static str) -> OnDemandVerdict {
        if self == Self::Exceeded { OnDemandVerdict::Refused(reason) } else { OnDemandVerdict::Passed }
    }

    fn allowed(self, policy: &Arc<OrderPolicy>) -> OnDemandVerdict {
        if self == Self::Taken {
            OnDemandVerdict::Allowed(Arc::clone(policy))
        } else {
            self.refused(PER_DOMAIN)
        }
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn count(&mut self, key: K, most: u32, now: Instant) -> Count {
        let is_recent = |time: &Instant| now.duration_since(*time) < HOUR;
        if self.by_key.len() >= MOST_REMEMBERED {
            self.by_key.retain(|_, recent| recent.times.back().is_some_and(is_recent));
            if self.by_key.len() >= MOST_REMEMBERED {
                return Count::StillExceeded;
            }
        }
        let recent = self.by_key.entry(key).or_default();
        while recent.times.front().is_some_and(|time| !is_recent(time)) {
            recent.times.pop_front();
            recent.is_told = false;
        }
        if recent.times.len() < most as usize {
            recent.times.push_back(now);
            return Count::Taken;
        }
        if std::mem::replace(&mut recent.is_told, true) { Count::StillExceeded } else { Count::Exceeded }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// Names, addresses and domains, of each.
const MOST_REMEMBERED: usize = 10_000;

/// Questions to URLs at the same time.
const MOST_QUESTIONS: usize = 16;

/// How long a URL that does not answer counts as a no.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
