//! The workers of the applications that viewers look at: of a few at a time, as the answers cost main some work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use corral_config::json::Value;
use tokio::time::{Instant, timeout_at};

use crate::reply::object;
use crate::state::Controller;
use crate::workers::workers_of;

/// Most applications that are asked about at a time. The others keep their lists until it is their turn.
const MOST_ASKED: usize = 4;

/// How long all answers together may take.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The newest list of each application that is looked at.
#[derive(Debug, Default)]
pub(super) struct WorkerLists {
    all: BTreeMap<String, WorkerList>,
    n_asked: u64,
}

#[derive(Debug, Default)]
struct WorkerList {
    /// The number of the last question; 0 before there was one.
    asked: u64,
    /// The application with the list that `/control/applications/NAME/workers` answers, if anything is known.
    value: Option<Arc<Value>>,
}

impl WorkerLists {
    /// Asks about those of these applications whose turn it is.
    pub(super) async fn look(&mut self, controller: &Controller, wanted: &BTreeSet<&str>) {
        let deadline = Instant::now() + LONGEST_WAIT;
        for name in self.due(wanted) {
            let list = timeout_at(deadline, workers_of(controller, &name)).await.ok().flatten();
            self.note(name, list.map(Arc::unwrap_or_clone));
        }
    }

    /// The lists that are known.
    pub(super) fn known(&self) -> BTreeMap<String, Arc<Value>> {
        self.all.iter().filter_map(|(name, one)| Some((name.clone(), one.value.clone()?))).collect()
    }

    /// The applications to ask about now: those whose lists are oldest. What is not wanted any more is forgotten.
    fn due(&mut self, wanted: &BTreeSet<&str>) -> Vec<String> {
        self.all.retain(|name, _| wanted.contains(name.as_str()));
        for name in wanted {
            self.all.entry((*name).to_owned()).or_default();
        }
        let mut names: Vec<_> = self.all.iter().map(|(name, one)| (one.asked, name.clone())).collect();
        names.sort();
        names.into_iter().take(MOST_ASKED).map(|(_, name)| name).collect()
    }

    fn note(&mut self, name: String, list: Option<Value>) {
        self.n_asked += 1;
        let value = list.map(|list| object([("application", Value::from(name.as_str())), ("list", list)]));
        self.all.insert(name, WorkerList { asked: self.n_asked, value: value.map(Arc::new) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The applications that are asked about, which all have an answer.
    fn round(lists: &mut WorkerLists, wanted: &[&str]) -> Vec<String> {
        let due = lists.due(&wanted.iter().copied().collect());
        due.iter().for_each(|name| lists.note(name.clone(), Some(Value::empty_object())));
        due
    }

    #[test]
    fn few_applications_are_asked_about_at_a_time_the_oldest_first() {
        let mut lists = WorkerLists::default();
        let wanted = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(round(&mut lists, &wanted), ["a", "b", "c", "d"]);
        assert_eq!(lists.known().len(), 4);
        assert_eq!(round(&mut lists, &wanted), ["e", "f", "a", "b"]);
        assert_eq!(lists.known().len(), 6, "the others keep their lists");
        assert_eq!(round(&mut lists, &wanted), ["c", "d", "e", "f"]);
        assert_eq!(round(&mut lists, &["a", "new"]), ["new", "a"]);
        assert_eq!(lists.known().into_keys().collect::<Vec<_>>(), ["a", "new"]);
    }

    #[test]
    fn an_application_without_an_answer_has_no_list() {
        let mut lists = WorkerLists::default();
        round(&mut lists, &["a"]);
        lists.note("a".to_owned(), None);
        assert!(lists.known().is_empty());
        assert_eq!(round(&mut lists, &["a", "b"]), ["b", "a"]);
        assert_eq!(round(&mut lists, &[]), [""; 0]);
    }
}
