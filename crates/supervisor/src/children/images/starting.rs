//! The start of applications from images, and what images say.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use corral_ipc::message::{AppId, FromImage, ToPrototype};
use corral_ipc::reason;
use corral_sys::child_check::{NotAChild, VerifiedChild};
use corral_sys::signal::{Pid, Signal};

use super::{Image, Kind, KindId};
use crate::children::Children;
use crate::children::app::App;
use crate::decide::life::LifePhase;
use crate::launch::{OrderedCopy, StartedProcess};
use crate::peer::Peer;
use crate::programs::Programs;

/// The longest wait of an application for an image to load, or for its copy.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

impl Children {
    /// Has the prototype of an application be a copy of an image, if there is one or is to be one; else false.
    pub(in crate::children) fn starts_from_image(&mut self, id: AppId, programs: &Programs) -> bool {
        let Some(kind) = self.apps.get(&id).and_then(|app| app.kind) else { return false };
        self.drop_useless_image(id, kind);
        if self.images.peer(kind).is_none() && !self.start_image(kind, programs) {
            return false;
        }
        let Self { apps, images, .. } = self;
        let (Some(app), Some(image)) = (apps.get_mut(&id), images.image_mut(kind)) else { return false };
        if image.asks(id, app, programs) {
            app.life.backoff.start_at(Instant::now() + LONGEST_WAIT);
            return true;
        }
        false
    }

    /// Takes back an image that lets an application wait for too long, or is not what another one would be.
    fn drop_useless_image(&mut self, id: AppId, kind_id: KindId) {
        let Some(kind) = self.images.kinds.get_mut(&kind_id) else { return };
        let Some(image) = &kind.image else { return };
        let others = if image.lets_wait(id) || !image.peer.is_open() {
            tracing::error!("an image takes too long: applications load their own interpreter");
            image.peer.kill(Signal::KILL);
            kind.give_image_up()
        } else if image.files.changed().is_some() {
            kind.drop_image()
        } else {
            return;
        };
        self.start_now(others.into_iter().filter(|other| *other != id));
    }

    /// Starts an image that is for several applications. False if there is none then.
    fn start_image(&mut self, id: KindId, programs: &Programs) -> bool {
        let names = self.apps.values().filter(|app| app.kind == Some(id)).map(|app| &app.spec.name);
        let is_for_several = names.collect::<BTreeSet<_>>().len() > 1;
        let now = Instant::now();
        let Some(kind) = self.images.kinds.get_mut(&id) else { return false };
        if !is_for_several || !kind.may_start(now) {
            return false;
        }
        match programs.launcher.start_image(&kind.spec) {
            Ok((peer, outputs)) => {
                kind.start_image(peer, now);
                self.outputs.add(outputs);
                true
            }
            Err(error) => {
                kind.backoff.failed(now);
                tracing::error!("start an image: {:#}", anyhow::Error::new(error));
                false
            }
        }
    }

    /// Applications that have waited for an image start in the next turn.
    fn start_now(&mut self, ids: impl IntoIterator<Item = AppId>) {
        let now = Instant::now();
        for id in ids {
            if let Some(app) = self.apps.get_mut(&id).filter(|app| is_waiting(app)) {
                app.life.backoff.start_at(now);
            }
        }
    }

    /// Handles one message of an image; false when there is none.
    pub(crate) fn read_image(&mut self, id: KindId) -> bool {
        let Some((message, _)) = self.images.peer_mut(id).and_then(Peer::next_message) else { return false };
        match message {
            FromImage::Ready { files } => self.image_ready(id, files),
            FromImage::Unfit { reason } => {
                let reason = reason::cut(reason);
                tracing::info!(target: "notice", "no image is used, each PHP application loads its own PHP: {reason}");
                let waiting = self.images.kinds.get_mut(&id).map(Kind::give_image_up);
                self.start_now(waiting.unwrap_or_default());
            }
            FromImage::Forked { pid } => self.copy_made(id, pid),
            FromImage::ForkFailed { reason } => {
                tracing::error!("{}", reason::cut(reason));
                self.image_lost(id);
            }
        }
        true
    }

    fn image_ready(&mut self, id: KindId, files: Vec<PathBuf>) {
        let Some(kind) = self.images.kinds.get_mut(&id) else { return };
        let files = kind.fingerprints(files);
        let Some(image) = &mut kind.image else { return };
        if image.is_ready {
            return image.peer.give_up("says twice that it has loaded");
        }
        tracing::info!(target: "notice", "image started, process {}", image.peer.pid().as_raw_nonzero());
        image.is_ready = true;
        // One that has changed meanwhile shows when the first application starts.
        if image.files.changed().is_none() {
            image.files = files;
        }
        let waiting = std::mem::take(&mut image.waiting);
        self.start_now(waiting);
    }

    /// An image has made the copy that was ordered first.
    fn copy_made(&mut self, id: KindId, number: u32) {
        let Some(image) = self.images.image_mut(id) else { return };
        let Some((app_id, ordered)) = image.ordered.pop_front() else {
            return image.peer.give_up("has made a copy that was not ordered");
        };
        let pid = match own_child(number) {
            Ok(pid) => pid,
            Err(error) => {
                image.peer.give_up(&format!("has made a copy that is none: {error}"));
                return self.start_now([app_id]);
            }
        };
        // A copy that no application waits for any more ends with its link, and is collected like an orphan.
        let Some(app) = self.apps.get_mut(&app_id).filter(|app| is_waiting(app)) else { return };
        match pid {
            Some(pid) => self.use_copy(app_id, ordered, pid),
            // It has ended and was collected.
            None => app.life.backoff.failed(Instant::now()),
        }
    }

    fn use_copy(&mut self, id: AppId, ordered: OrderedCopy, pid: Pid) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let StartedProcess { mut peer, outputs, membership } = ordered.made(pid);
        let router = app.router.and_then(|router| self.routers.find(router));
        let n_lanes = router.map_or(1, |router| router.n_threads);
        peer.send(&ToPrototype::Start { spec: app.spec.clone(), n_lanes }, &[]);
        app.started(peer, membership, None, n_lanes);
        self.outputs.add(outputs.into_iter().map(|output| output.of(id)).collect());
    }

    /// An image has ended or is of no use. Its copies go on.
    pub(crate) fn image_lost(&mut self, id: KindId) {
        let waiting = self.images.kinds.get_mut(&id).map(|kind| kind.lose_image(Instant::now()));
        self.start_now(waiting.unwrap_or_default());
    }

    /// Ends images that no application could use.
    pub(in crate::children) fn end_unused_images(&mut self) {
        let Self { apps, images, .. } = self;
        images.keep(|id| apps.values().any(|app| app.kind == Some(id)));
    }
}

impl Image {
    /// Asks for a copy, or notes that the application is to ask once it has loaded. False if there can be none.
    fn asks(&mut self, id: AppId, app: &App, programs: &Programs) -> bool {
        if !self.is_ready {
            self.waiting.push(id);
            return true;
        }
        // Without a copy, the application's own start says why.
        let ordered = programs.order_copy(&mut self.peer, &app.spec).ok();
        ordered.map(|ordered| self.ordered.push_back((id, ordered))).is_some()
    }
}

/// The process with this number, if it is a child of this one and was not collected.
fn own_child(number: u32) -> Result<Option<Pid>, NotAChild> {
    let own = i32::try_from(std::process::id()).ok().and_then(Pid::from_raw);
    let child = own.map(|own| VerifiedChild::find(own, number, false, None)).transpose()?;
    Ok(child.flatten().map(|child| child.pid()))
}

/// Whether an application has no prototype, and is to have one.
fn is_waiting(app: &App) -> bool {
    app.prototype.is_none() && app.life.phase() == LifePhase::Down
}
