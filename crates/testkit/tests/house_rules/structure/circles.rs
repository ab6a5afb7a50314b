//! Circles in a graph of modules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::imports::Graph;

/// Sets of modules each of which leads to all others of its set; the largest first.
pub(crate) fn circles(graph: &Graph) -> Vec<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), steps(graph, module).into_keys().collect())).collect();
    let circle = |module: &str| {
        let others = reached[module].iter().copied();
        others.filter(|other| reached[other].contains(module)).collect::<BTreeSet<_>>()
    };
    let all: BTreeSet<_> = graph.keys().map(|module| circle(module)).collect();
    let mut circles: Vec<_> = all.into_iter().filter(|circle| !circle.is_empty()).collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The shortest way from a module of a circle back to itself, with that module at both ends.
pub(crate) fn way_around<'a>(graph: &'a Graph, circle: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let ways = circle.iter().map(|module| {
        let before = steps(graph, module);
        let mut way = vec![*module, before[module]];
        while way.last() != Some(module) {
            way.push(before[way.last().expect("it has a first one")]);
        }
        way.reverse();
        way
    });
    ways.min_by_key(Vec::len).unwrap_or_default()
}

/// All modules that a module leads to, itself only around a circle, each with the one before it on the shortest way.
fn steps<'a>(graph: &'a Graph, from: &str) -> BTreeMap<&'a str, &'a str> {
    let mut before = BTreeMap::new();
    let (start, _) = graph.get_key_value(from).expect("it is one of them");
    let mut next = VecDeque::from([start.as_str()]);
    while let Some(module) = next.pop_front() {
        for to in graph.get(module).into_iter().flatten() {
            if !before.contains_key(to.as_str()) {
                before.insert(to.as_str(), module);
                next.push_back(to);
            }
        }
    }
    before
}

/// Edges as `a>b`; circles as their members, and the shortest way around the first.
#[track_caller]
fn check(edges: &str, expected: &[&str], way: &str) {
    let mut graph = Graph::new();
    for (from, to) in edges.split(' ').filter_map(|edge| edge.split_once('>')) {
        graph.entry(to.to_owned()).or_default();
        graph.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    let found = circles(&graph);
    let names: Vec<String> = found.iter().map(|circle| circle.iter().copied().collect()).collect();
    assert_eq!(names, expected, "{edges}");
    let around = found.first().map(|circle| way_around(&graph, circle).concat());
    assert_eq!(around.unwrap_or_default(), way, "{edges}");
}

#[test]
fn a_way_down_is_no_circle() {
    check("a>b b>c a>c", &[], "");
    check("a>b c>b", &[], "");
}

#[test]
fn circles_are_found_whole_and_the_largest_first() {
    check("a>b b>a", &["ab"], "aba");
    check("a>b b>c c>a b>x x>y y>x", &["abc", "xy"], "abca");
    check("a>b b>c c>a b>d d>b", &["abcd"], "bdb");
    check("top>a a>b b>a b>leaf", &["ab"], "aba");
}
