//! Distributions over servers a to e.

use super::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn balancer(method: BalanceMethod, weights: &[u64]) -> Balancer {
    Balancer::new(method, NAMES.into_iter().zip(weights.iter().copied()))
}

fn idle<'s>(is_usable: &'s dyn Fn(usize) -> bool, key: &'s [u8]) -> BalanceInput<'s> {
    BalanceInput { is_usable, load: &|_| 0, key, ramp: None }
}

/// The first choices, one letter each; `-` for none.
#[track_caller]
fn check_turns(weights: &[u64], down: &str, expect: &str) {
    let mut balancer = balancer(BalanceMethod::RoundRobin, weights);
    let is_usable = |idx: usize| !down.contains(NAMES[idx]);
    let chosen =
        (0..expect.len()).map(|_| balancer.choose(&idle(&is_usable, b"")).map_or("-", |idx| NAMES[idx]));
    assert_eq!(chosen.collect::<String>(), expect, "{weights:?} without {down:?}");
}

#[test]
fn turns_are_smooth_and_by_weight() {
    check_turns(&[1, 1, 1], "", "abcabc");
    check_turns(&[5, 1, 1], "", "aabacaaaabacaa");
    check_turns(&[1, 2], "", "babbab");
    check_turns(&[0, 1], "", "bbb");
    check_turns(&[2, 3, 2], "c", "babab");
}

#[test]
fn without_a_usable_server_there_is_no_choice() {
    check_turns(&[], "", "--");
    check_turns(&[0, 0], "", "--");
    check_turns(&[1, 1], "ab", "--");
    for method in [BalanceMethod::LeastLoad, BalanceMethod::RandomTwo, BalanceMethod::Hash] {
        assert_eq!(balancer(method, &[0]).choose(&idle(&|_| true, b"x")), None, "{method:?}");
        assert_eq!(balancer(method, &[1]).choose(&idle(&|_| false, b"x")), None, "{method:?}");
        assert_eq!(balancer(method, &[1]).choose(&idle(&|_| true, b"x")), Some(0), "{method:?}");
    }
}

/// Many requests that never end: how they are distributed.
fn pile_up(method: BalanceMethod, weights: &[u64], n_requests: u64) -> Vec<u64> {
    let mut balancer = balancer(method, weights);
    let mut loads = vec![0; weights.len()];
    for _ in 0..n_requests {
        let known = loads.clone();
        let situation = BalanceInput { is_usable: &|_| true, load: &|idx| known[idx], key: b"", ramp: None };
        loads[balancer.choose(&situation).unwrap()] += 1;
    }
    loads
}

#[test]
fn the_least_busy_for_its_weight_is_chosen() {
    assert_eq!(pile_up(BalanceMethod::LeastLoad, &[1, 1, 1], 30), [10, 10, 10]);
    assert_eq!(pile_up(BalanceMethod::LeastLoad, &[3, 1], 40), [30, 10]);
    let mut balancer = balancer(BalanceMethod::LeastLoad, &[1, 1]);
    let loads = [7, 3];
    let situation = BalanceInput { is_usable: &|_| true, load: &|idx| loads[idx], key: b"", ramp: None };
    assert_eq!(balancer.choose(&situation), Some(1));
}

#[test]
fn of_two_random_ones_the_less_busy_is_chosen() {
    let loads = pile_up(BalanceMethod::RandomTwo, &[1, 1, 1, 1, 1], 1000);
    assert!(loads.iter().all(|&load| (190..=210).contains(&load)), "{loads:?}");
    assert_eq!(pile_up(BalanceMethod::RandomTwo, &[1, 0], 10), [10, 0]);
}

/// Where each of these keys goes.
fn homes(weights: &[u64], n_keys: usize) -> Vec<usize> {
    let mut balancer = balancer(BalanceMethod::Hash, weights);
    (0..n_keys)
        .map(|key| balancer.choose(&idle(&|_| true, format!("key {key}").as_bytes())).unwrap())
        .collect()
}

#[test]
fn hashes_stay_where_they_are_and_respect_weights() {
    let all = homes(&[1, 1, 1, 1, 1], 5000);
    assert_eq!(all, homes(&[1, 1, 1, 1, 1], 5000), "the same for the same key");
    for server in 0..5 {
        let share = all.iter().filter(|&&home| home == server).count();
        assert!((850..=1150).contains(&share), "{server} has {share}");
    }
    let without_c = homes(&[1, 1, 0, 1, 1], 5000);
    let moved = all.iter().zip(&without_c).filter(|(before, after)| before != after && **before != 2);
    assert_eq!(moved.count(), 0, "only what was at the one that went has moved");
    let heavy = homes(&[3, 1], 4000).iter().filter(|&&home| home == 0).count();
    assert!((2850..=3150).contains(&heavy), "{heavy} of 4000 for three quarters of the weight");
}
