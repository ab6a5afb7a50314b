//! Rules, clients and a clock that the test turns.

use corral_config::tls::AcmeIssuer;

use super::*;
use crate::order_policy::ChallengeMethod;

fn rules(allow: AllowRule, per_address: u32, per_domain: u32) -> Vec<(OnDemand, Arc<OrderPolicy>)> {
    let directory = "https://ca.example/directory".to_owned();
    let issuer = AcmeIssuer { directory, ca: None, email: None, profile: None, eab: None };
    let policy = OrderPolicy { issuer, ca: None, methods: vec![ChallengeMethod::TlsAlpn] };
    vec![(OnDemand { allow, per_address, per_domain }, Arc::new(policy))]
}

fn list(names: &[&str]) -> AllowRule {
    AllowRule::Names(names.iter().map(|name| (*name).to_owned()).collect())
}

const URL: &str = "http://127.0.0.1/allow";

fn url() -> AllowRule {
    AllowRule::Url {
        url: URL.to_owned(),
        allowed_for: Duration::from_secs(3600),
        refused_for: Duration::from_secs(300),
    }
}

fn client(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

/// One word for a verdict, with its reason.
fn word(verdict: &OnDemandVerdict) -> &'static str {
    match verdict {
        OnDemandVerdict::Allowed(_) => "allowed",
        OnDemandVerdict::Ask(_) => "ask",
        OnDemandVerdict::Refused(reason) => reason,
        OnDemandVerdict::Passed => "passed",
    }
}

#[test]
fn a_list_allows_its_names() {
    let rules = rules(list(&["a.example.org", "*.b.example.org"]), 100, 100);
    let mut on_demand_policy = OnDemandPolicy::default();
    let mut check = |name: &str, expect: &str| {
        let verdict = on_demand_policy.consider(name, client(1), &rules, Instant::now());
        assert!(word(&verdict).contains(expect), "{name}: {verdict:?}");
    };
    check("a.example.org", "allowed");
    check("x.b.example.org", "allowed");
    check("b.example.org", "no rule allows it");
    check("x.y.b.example.org", "no rule allows it");
    check("b.a.example.org", "no rule allows it");
    for odd in [
        "localhost",
        "192.0.2.1",
        "a..example",
        "-a.example",
        "a_b.example",
        "A.example",
        "*.b.example.org",
        "",
    ] {
        check(odd, "authorities issue for");
    }
}

#[test]
fn an_address_gets_its_share_in_an_hour() {
    let rules = rules(list(&["*.example.org"]), 2, 100);
    let mut on_demand_policy = OnDemandPolicy::default();
    let now = Instant::now();
    let mut ask =
        |name: &str, client, now| word(&on_demand_policy.consider(name, client, &rules, now)).to_owned();
    assert_eq!(ask("a.example.org", client(1), now), "allowed");
    assert_eq!(ask("b.example.org", client(1), now), "allowed");
    assert_eq!(ask("c.example.org", client(1), now), PER_ADDRESS);
    assert_eq!(ask("d.example.org", client(1), now), "passed", "it is told once");
    assert_eq!(ask("c.example.org", client(2), now), "allowed");
    assert_eq!(ask("e.example.org", None, now), "allowed");
    assert_eq!(ask("d.example.org", client(1), now + HOUR), "allowed");
}

#[test]
fn neighbours_of_ipv6_share() {
    let [one, other, stranger] = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"]
        .map(|address| client_network(address.parse().unwrap()));
    assert_eq!(one, other);
    assert_ne!(one, stranger);
    assert_eq!(client_network("::ffff:192.0.2.1".parse().unwrap()), IpAddr::from([192, 0, 2, 1]));
}

#[test]
fn a_registered_domain_gets_its_share_in_an_hour() {
    let rules = rules(list(&["*.shop.co.uk", "*.other.co.uk"]), 100, 1);
    let mut on_demand_policy = OnDemandPolicy::default();
    let now = Instant::now();
    let mut ask = |name: &str| word(&on_demand_policy.consider(name, client(1), &rules, now)).to_owned();
    assert_eq!(ask("a.shop.co.uk"), "allowed");
    assert_eq!(ask("b.shop.co.uk"), PER_DOMAIN);
    assert_eq!(ask("a.other.co.uk"), "allowed", "\"co.uk\" is nobody's domain");
}

#[test]
fn answers_of_a_url_are_remembered() {
    let rules = rules(url(), 100, 100);
    let mut on_demand_policy = OnDemandPolicy::default();
    let now = Instant::now();
    let consider = |on_demand_policy: &mut OnDemandPolicy, name: &str, now| {
        word(&on_demand_policy.consider(name, client(1), &rules, now)).to_owned()
    };
    assert_eq!(consider(&mut on_demand_policy, "a.example.org", now), "ask");
    assert_eq!(consider(&mut on_demand_policy, "a.example.org", now), "passed", "the question is under way");
    assert_eq!(word(&on_demand_policy.answered(URL, "a.example.org", Some(true), &rules, now)), "allowed");
    assert_eq!(consider(&mut on_demand_policy, "a.example.org", now), "allowed");
    assert_eq!(consider(&mut on_demand_policy, "a.example.org", now + HOUR), "ask");
    assert_eq!(consider(&mut on_demand_policy, "b.example.org", now), "ask");
    let refused = on_demand_policy.answered(URL, "b.example.org", Some(false), &rules, now);
    assert!(word(&refused).contains("status 200"));
    assert_eq!(consider(&mut on_demand_policy, "b.example.org", now + Duration::from_secs(299)), "passed");
    assert_eq!(consider(&mut on_demand_policy, "b.example.org", now + Duration::from_secs(300)), "ask");
    assert!(
        word(&on_demand_policy.answered(URL, "b.example.org", None, &rules, now)).contains("cannot be asked")
    );
    assert_eq!(
        consider(&mut on_demand_policy, "b.example.org", now + Duration::from_secs(60)),
        "ask",
        "silence is short"
    );
}

#[test]
fn one_address_cannot_have_a_url_asked_about_everything() {
    let rules = rules(url(), 3, 100);
    let mut on_demand_policy = OnDemandPolicy::default();
    let now = Instant::now();
    let asked = (0..100).filter(|idx| {
        let name = format!("n{idx}.example.org");
        word(&on_demand_policy.consider(&name, client(1), &rules, now)) == "ask"
    });
    assert_eq!(asked.count(), 3);
}
