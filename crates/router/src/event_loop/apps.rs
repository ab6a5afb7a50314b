//! The applications that one event loop listens to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use corral_channel::{Bell, Lane};
use corral_ipc::message::AppId;
use corral_sys::watched::Watched;
use tokio::io::Interest;

use crate::instance::{AppInstance, BusyApps, LoopApp};

/// All of them.
pub(super) struct LoopApps {
    lane: Lane,
    busy: Rc<BusyApps>,
    attached: RefCell<BTreeMap<AppId, AttachedApp>>,
}

struct AttachedApp {
    loop_app: Rc<LoopApp>,
    /// Registered for its edges alone: a ring of the bell ends the sleep, nothing is ever read. None of a silent one.
    _ring: Option<Watched>,
}

impl LoopApps {
    pub(super) fn new(lane: Lane, busy: Rc<BusyApps>) -> Self {
        Self { lane, busy, attached: RefCell::default() }
    }

    pub(super) fn add(&self, app: Arc<AppInstance>, bell: Arc<Bell>) {
        let ring =
            bell.eventfd(self.lane).map(|eventfd| Watched::new(Arc::clone(eventfd), Interest::READABLE));
        let ring = match ring.transpose() {
            Ok(ring) => ring,
            Err(error) => return tracing::error!("listen to the bell of \"{}\": {error}", app.spec.name),
        };
        match self.attached.borrow_mut().entry(app.id) {
            Entry::Occupied(mut known) => {
                known.get().loop_app.replace_bell(bell);
                known.get_mut()._ring = ring;
            }
            Entry::Vacant(vacant) => {
                vacant.insert(AttachedApp {
                    loop_app: LoopApp::new(app, self.lane, bell, Rc::clone(&self.busy)),
                    _ring: ring,
                });
            }
        }
    }

    pub(super) fn remove(&self, id: AppId) {
        drop(self.attached.borrow_mut().remove(&id));
    }

    pub(super) fn find(&self, id: AppId) -> Option<Rc<LoopApp>> {
        self.attached.borrow().get(&id).map(|attached| Rc::clone(&attached.loop_app))
    }
}
