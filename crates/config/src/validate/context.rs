//! The context of every check: its place in the document, and the list of problems.

use std::collections::HashMap;
use std::mem;

use super::advice;
use super::recorder::Recorder;
use super::synonyms;
use super::table::Field;
use crate::access_log::AccessLog;
use crate::destination::Destinations;
use crate::gateway::EntryPoint;
use crate::json::{Bytes, pointer};
use crate::known::Known;
use crate::listener::Listener;
use crate::plan::AssetNames;
use crate::problem::{Problem, Stage};
use crate::route::{Action, Destination};
use crate::table::{InnerListener, Key};
use crate::tables::Tables;
use crate::template::{Groups, MapNames, Scope, Template};
use crate::throttle::Throttle;
use crate::upstream::{Proxy, Upstream};

/// Reads the action at a field.
type ReadAction = fn(&mut Context<'_>, Field<'_>) -> Option<Action>;

/// The state of one validation.
pub(super) struct Context<'a> {
    pub(super) known: &'a Known,
    pub(super) destinations: &'a Destinations,
    /// The maps that variables can name.
    maps: &'a MapNames,
    /// The groups of the regular expression that templates can name here.
    groups: Option<Groups>,
    /// Whether a template has named one of them.
    names_groups: bool,
    next_group: usize,
    /// Actions have actions within: their checks are called by this.
    read_action: ReadAction,
    /// JSON pointer of the value that is being checked.
    pointer: String,
    problems: Vec<Problem>,
    /// How often a suggestion was looked for.
    n_searches: usize,
    assets: AssetNames,
    /// The objects that are named by keys, as far as the document is read.
    pub(super) tables: Tables,
    /// The entry points of the application that is being read.
    entries: Vec<EntryPoint>,
    /// The limits of `limit_zones`.
    pub(super) zones: HashMap<Bytes, Key<Throttle>>,
    /// The proxies of each name.
    proxy_keys: HashMap<String, Vec<Key<Proxy>>>,
    /// While the tables are described, not used.
    pub(super) recorder: Option<Recorder>,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        known: &'a Known,
        destinations: &'a Destinations,
        maps: &'a MapNames,
        read_action: ReadAction,
    ) -> Self {
        Self {
            known,
            destinations,
            maps,
            groups: None,
            names_groups: false,
            next_group: 0,
            read_action,
            pointer: String::new(),
            problems: Vec::new(),
            n_searches: 0,
            assets: AssetNames::default(),
            tables: Tables::default(),
            entries: Vec::new(),
            zones: HashMap::new(),
            proxy_keys: HashMap::new(),
            recorder: None,
        }
    }

    /// Reads an action.
    pub(super) fn action(&mut self, field: Field<'_>) -> Option<Action> {
        (self.read_action)(self, field)
    }

    /// The names of variables that the document knows at this place.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { maps: Some(self.maps), groups: self.groups.as_ref() }
    }

    /// Runs `check` where templates can name the groups of a regular expression, or those of none. Returns whether one
    /// does, too.
    pub(super) fn with_groups<R>(
        &mut self,
        groups: Option<Groups>,
        check: impl FnOnce(&mut Self) -> R,
    ) -> (R, bool) {
        let outer = (mem::replace(&mut self.groups, groups), mem::take(&mut self.names_groups));
        let result = check(self);
        let names_groups = self.names_groups;
        (self.groups, self.names_groups) = outer;
        (result, names_groups)
    }

    /// Notes that a template names groups.
    pub(super) fn note_groups(&mut self, template: &Template) {
        self.names_groups |= template.has_groups();
    }

    /// The first variable for the groups of the next step.
    pub(super) fn next_group(&self) -> usize {
        self.next_group
    }

    /// Takes the variables of these groups, which no others have.
    pub(super) fn take_groups(&mut self, groups: &Groups) {
        self.next_group = groups.end();
    }

    /// The problems, or everything that the checks have gathered beside their drafts: the objects that are named by
    /// keys, and the names of uploads.
    pub(super) fn finish(self) -> Result<(Tables, AssetNames), Vec<Problem>> {
        if self.problems.is_empty() { Ok((self.tables, self.assets)) } else { Err(self.problems) }
    }

    /// Keeps the entry points of an application for `take_entries`.
    pub(super) fn set_entries(&mut self, entries: Vec<EntryPoint>) {
        self.entries = entries;
    }

    /// The entry points of the application that was read last; once.
    pub(super) fn take_entries(&mut self) -> Vec<EntryPoint> {
        mem::take(&mut self.entries)
    }

    /// The group of one server that a `proxy` action stands for; equal ones are the same.
    pub(super) fn proxy(&mut self, group: Upstream) -> Key<Proxy> {
        let keys = self.proxy_keys.entry(group.name.clone()).or_default();
        let known = keys.iter().copied().find(|&key| self.tables.proxies[key] == group);
        known.unwrap_or_else(|| {
            let key = self.tables.proxies.push(group);
            keys.push(key);
            key
        })
    }

    /// An access log; equal ones are the same.
    pub(super) fn access_log(&mut self, log: AccessLog) -> Key<AccessLog> {
        let logs = &mut self.tables.access_logs;
        logs.find(|known| *known == log).unwrap_or_else(|| logs.push(log))
    }

    /// A listener within the router that leads to an application; one for each.
    pub(super) fn inner_listener(&mut self, name: &[u8], pass: Destination) -> Key<InnerListener> {
        let listeners = &mut self.tables.inner_listeners;
        let known = listeners.find(|listener| listener.pass == pass);
        known.unwrap_or_else(|| listeners.push(Listener::inner(name, pass)))
    }

    /// As `certificate`, for a listener that may do without for now.
    pub(super) fn listener_certificate(&mut self, name: &str) {
        if self.known.is_lenient {
            self.assets.certificates.insert(name.to_owned());
        } else {
            self.certificate(name);
        }
    }

    /// Notes that the document names this certificate bundle; reports it when there is none.
    pub(super) fn certificate(&mut self, name: &str) {
        let known = self.known.certificates.as_deref();
        if known.is_some_and(|known| known.iter().all(|other| other != name)) {
            let candidates = known.into_iter().flatten().map(String::as_str);
            let suggestion = self.search(|| nearest(name, candidates));
            let is_path = name.contains('/') || name.ends_with(".pem") || name.ends_with(".crt");
            let advice = if is_path { advice::BUNDLE } else { "" };
            self.problem_that_means(format!("Certificate \"{name}\" is not found."), advice, suggestion);
        }
        self.assets.certificates.insert(name.to_owned());
    }

    /// Notes that the document names this JavaScript module; reports it when there is none.
    pub(super) fn script(&mut self, name: &str) {
        let known = self.known.scripts.as_deref();
        if known.is_some_and(|known| known.iter().all(|other| other != name)) {
            let candidates = known.into_iter().flatten().map(String::as_str);
            self.problem_with_suggestion(format!("JS module \"{name}\" is not found."), name, candidates);
        }
        self.assets.scripts.insert(name.to_owned());
    }

    /// The error of a JavaScript expression, if it has one.
    pub(super) fn check_script(&self, source: &str) -> Result<(), String> {
        self.known.check_script.map_or(Ok(()), |check| check(source))
    }

    /// How many problems there are so far.
    pub(super) fn n_problems(&self) -> usize {
        self.problems.len()
    }

    /// Takes back the problems behind the first `n_kept`.
    pub(super) fn take_problems(&mut self, n_kept: usize) -> Vec<Problem> {
        self.problems.split_off(n_kept)
    }

    /// JSON pointer of the value at hand.
    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Runs `check` one level deeper, at the member `name`.
    pub(super) fn at<R>(&mut self, name: &[u8], check: impl FnOnce(&mut Self) -> R) -> R {
        let len = self.pointer.len();
        pointer::push_name(&mut self.pointer, name);
        let result = check(self);
        self.pointer.truncate(len);
        result
    }

    /// Runs `check` one level deeper, at the element with this index.
    pub(super) fn at_index<R>(&mut self, idx: usize, check: impl FnOnce(&mut Self) -> R) -> R {
        let len = self.pointer.len();
        pointer::push_index(&mut self.pointer, idx);
        let result = check(self);
        self.pointer.truncate(len);
        result
    }

    /// Something is wrong with the value at hand.
    pub(super) fn problem(&mut self, detail: impl Into<String>) {
        self.problem_with_advice(detail, "");
    }

    /// As `problem`, with what would be right.
    pub(super) fn problem_with_advice(&mut self, detail: impl Into<String>, advice: impl Into<String>) {
        self.problem_that_means(detail, advice, None);
    }

    /// As `problem`, with the nearest of `candidates` as a suggestion when it is near enough. Only so many
    /// problems get one: a document in which everything is wrong is to be answered in time too.
    pub(super) fn problem_with_suggestion(
        &mut self,
        detail: impl Into<String>,
        written: &str,
        candidates: impl Iterator<Item = impl AsRef<str>>,
    ) {
        let suggestion = self.search(|| nearest(written, candidates));
        self.problem_that_means(detail, "", suggestion);
    }

    /// As `problem`, with what would be right, and what was probably meant if anybody knows.
    pub(super) fn problem_that_means(
        &mut self,
        detail: impl Into<String>,
        advice: impl Into<String>,
        suggestion: Option<String>,
    ) {
        self.push(detail.into(), advice.into(), suggestion, Stage::Validation);
    }

    /// A member at hand, `name`, that is not one of `known`.
    pub(super) fn unknown(&mut self, name: &Bytes, known: &[&str]) {
        let (suggestion, remark) = self.meant(name, known);
        self.problem_that_means(format!("Unknown parameter \"{name}\"."), remark, suggestion);
    }

    /// As `unknown`, if it probably means one of `wanted`.
    pub(super) fn unknown_if_meant(&mut self, name: &Bytes, wanted: &[&str]) {
        let (suggestion, remark) = self.meant(name, wanted);
        if suggestion.is_some() || !remark.is_empty() {
            self.problem_that_means(format!("Unknown parameter \"{name}\"."), remark, suggestion);
        }
    }

    /// Which of `known` a name means, and a remark that is more than a name.
    fn meant(&mut self, name: &Bytes, known: &[&str]) -> (Option<String>, String) {
        let text = name.to_string_lossy();
        let is_known = |right: &str| known.contains(&right);
        if let Some((right, remark)) = synonyms::meant(&text, is_known) {
            return (right.map(str::to_owned), remark);
        }
        let near = self.search(|| nearest(&text, known.iter()));
        let remark = if near.is_none() { synonyms::remark_on_the_rest(&text, is_known) } else { None };
        (near, remark.unwrap_or_default())
    }

    /// The outcome of a search, unless there were too many.
    pub(super) fn search(&mut self, search: impl FnOnce() -> Option<String>) -> Option<String> {
        self.n_searches += 1;
        if self.n_searches <= MAX_SEARCHES { search() } else { None }
    }

    /// Something is wrong that Unit only notices when it puts the configuration in force.
    pub(super) fn late_problem(&mut self, detail: impl Into<String>) {
        self.push(detail.into(), String::new(), None, Stage::Application);
    }

    fn push(&mut self, detail: String, advice: String, suggestion: Option<String>, stage: Stage) {
        let pointer = self.pointer.clone();
        self.problems.push(Problem { pointer, detail, advice, suggestion, stage });
    }
}

/// The candidate that `written` probably means: at most a third of it differs, whatever the case of letters.
pub(super) fn nearest(written: &str, candidates: impl Iterator<Item = impl AsRef<str>>) -> Option<String> {
    let limit = (written.chars().count() / 3).max(1);
    let written = written.to_lowercase();
    candidates
        .map(|candidate| {
            (strsim::damerau_levenshtein(&written, &candidate.as_ref().to_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.as_ref().to_owned())
}

/// Problems of one document for which a suggestion is looked for.
const MAX_SEARCHES: usize = 50;
