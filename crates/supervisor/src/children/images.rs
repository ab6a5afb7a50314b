//! Images: loaded interpreters, whose copies become the prototypes of applications that have as much in common.
//!
//! An image is started for the second application that could be a copy of it. Applications wait for it to load, and for
//! their copies. An image that fails, or takes too long, leaves them to load their own interpreter (`starting`). Once a
//! file has changed that it was loaded from, the next application to start has another image; copies go on.

mod starting;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::AppId;

use crate::decide::backoff::Backoff;
use crate::fingerprint::Fingerprints;
use crate::launch::OrderedCopy;
use crate::peer::Peer;
use crate::programs::Programs;

/// A kind of applications: those that can have the same image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindId(u32);

/// All kinds that applications are of, and their images.
#[derive(Default)]
pub(crate) struct Images {
    kinds: BTreeMap<KindId, Kind>,
    n_kinds: u32,
}

struct Kind {
    spec: AppSpec,
    image: Option<Image>,
    backoff: Backoff,
    /// The files of an image that has said that it is unfit: until one is another, none is started.
    unfit: Option<Fingerprints>,
}

struct Image {
    peer: Peer,
    is_ready: bool,
    /// The files that it was loaded from.
    files: Fingerprints,
    /// Applications that wait until it has loaded.
    waiting: Vec<AppId>,
    /// Copies that were asked for, in this order.
    ordered: VecDeque<(AppId, OrderedCopy)>,
}

impl Images {
    /// The kind of an application, if it can have an image.
    pub(crate) fn kind_of(&mut self, spec: &AppSpec, programs: &Programs) -> Option<KindId> {
        let spec = programs.launcher.image(spec)?;
        if let Some((id, _)) = self.kinds.iter().find(|(_, kind)| kind.spec == spec) {
            return Some(*id);
        }
        self.n_kinds += 1;
        let id = KindId(self.n_kinds);
        self.kinds.insert(id, Kind { spec, image: None, backoff: Backoff::new(Instant::now()), unfit: None });
        Some(id)
    }

    pub(crate) fn peer(&self, id: KindId) -> Option<&Peer> {
        self.kinds.get(&id)?.image.as_ref().map(|image| &image.peer)
    }

    pub(crate) fn peer_mut(&mut self, id: KindId) -> Option<&mut Peer> {
        self.image_mut(id).map(|image| &mut image.peer)
    }

    fn image_mut(&mut self, id: KindId) -> Option<&mut Image> {
        self.kinds.get_mut(&id)?.image.as_mut()
    }

    /// The kinds that have an image.
    pub(crate) fn ids(&self) -> impl Iterator<Item = KindId> {
        self.kinds.iter().filter(|(_, kind)| kind.image.is_some()).map(|(id, _)| *id)
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.kinds.values().filter_map(|kind| kind.image.as_ref()).map(|image| &image.peer)
    }

    /// Forgets kinds that no application is of. Their images end when this side of their link is closed.
    pub(super) fn keep(&mut self, is_used: impl Fn(KindId) -> bool) {
        self.kinds.retain(|id, _| is_used(*id));
    }
}

impl Kind {
    /// Whether an image could be started now.
    fn may_start(&self, now: Instant) -> bool {
        let is_unfit = self.unfit.as_ref().is_some_and(|files| files.changed().is_none());
        let rests = self.backoff.restart_at().is_some_and(|at| at > now);
        !is_unfit && !rests
    }

    fn start_image(&mut self, peer: Peer, now: Instant) {
        self.backoff.started(now);
        self.unfit = None;
        let files = self.fingerprints(Vec::new());
        let (waiting, ordered) = (Vec::new(), VecDeque::new());
        self.image = Some(Image { peer, is_ready: false, files, waiting, ordered });
    }

    /// Takes the image back, which ends with its link. Returns the applications that have waited for it.
    fn drop_image(&mut self) -> Vec<AppId> {
        let Some(image) = self.image.take() else { return Vec::new() };
        let ordered = image.ordered.into_iter().map(|(id, _)| id);
        image.waiting.into_iter().chain(ordered).collect()
    }

    /// The same of an image that has failed: the next one is started later.
    fn lose_image(&mut self, now: Instant) -> Vec<AppId> {
        self.backoff.failed(now);
        self.drop_image()
    }

    /// The same of one that must not be started again.
    fn give_image_up(&mut self) -> Vec<AppId> {
        self.unfit = self.image.as_mut().map(|image| std::mem::take(&mut image.files));
        self.drop_image()
    }

    /// The files that tell whether an image is what another one would be.
    fn fingerprints(&self, further: Vec<PathBuf>) -> Fingerprints {
        let own = [self.spec.module.clone()];
        let named = self.spec.runtime.files().into_iter().map(Path::to_owned);
        Fingerprints::of_entries(&own.into_iter().chain(named).chain(further).collect::<Vec<_>>())
    }
}

impl Image {
    /// Whether an application has asked for it before, and does so again because that took too long.
    fn lets_wait(&self, id: AppId) -> bool {
        self.waiting.contains(&id) || self.ordered.iter().any(|(other, _)| *other == id)
    }
}
