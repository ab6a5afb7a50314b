//! Changes of the document in force: one at a time. One that a newer one replaces is taken back as long as that is
//! possible.

use std::sync::{Arc, PoisonError};

use corral_config::json::edit::{self, EditError};
use corral_config::json::{Bytes, Value, pointer};
use corral_config::plan::Assets;
use corral_config::{Config, Problem, Stage};
use corral_ipc::message::{FromController, GenerationId, Inserted, StartPolicy};
use tokio::sync::MutexGuard;

use super::{Controller, InForce};
use crate::conditions::Conditions;
use crate::history::ChangeNote;
use crate::insertions::Insertions;
use crate::issuing;
use crate::main_link::{MainError, Warnings};
use crate::queue::QueuePlace;
use crate::uploads::Uploads;

/// Why a configuration did not come into force; the one before still is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The configuration is not the one that the request is about.
    #[error("a condition of the request does not hold")]
    Condition,
    /// The path of the change does not fit the document.
    #[error(transparent)]
    Edit(EditError),
    /// The changed document is not a configuration.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Invalid(Vec<Problem>),
    /// A newer change was made in its place.
    #[error("a newer change took its place")]
    Superseded,
    /// Main could not put it in force.
    #[error(transparent)]
    NotApplied(MainError),
}

impl From<MainError> for ChangeError {
    fn from(error: MainError) -> Self {
        match error {
            MainError::Revoked => Self::Superseded,
            error => Self::NotApplied(error),
        }
    }
}

/// Whether main keeps the document for its next start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Storing {
    /// Once it is in force.
    Store,
    /// The stored document stays.
    #[default]
    Keep,
}

/// The way in which a change alters what is at its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Whatever was there is gone.
    #[default]
    Replace,
    /// An array has one element more.
    Append,
    /// Nothing is there afterwards, or the next element.
    Remove,
}

/// How a change is to be made.
#[derive(Default)]
pub(crate) struct ChangeRequest<'a> {
    pub(crate) storing: Storing,
    /// Only find out whether the document would be a configuration.
    pub(crate) dry_run: bool,
    /// `If-Match` and the like, about `path`.
    pub(crate) conditions: Option<&'a Conditions>,
    pub(crate) path: &'a [Bytes],
    pub(crate) effect: Effect,
    pub(crate) start_policy: StartPolicy,
    /// For the history.
    pub(crate) note: ChangeNote<'a>,
}

impl ChangeRequest<'_> {
    /// Whether `path` names an element of an array of this document.
    fn is_of_element(&self, document: &Value) -> bool {
        let parents = self.path.split_last().map(|(_, parents)| parents);
        let parent = parents.and_then(|parents| edit::get(document, parents).ok());
        parent.is_some_and(|parent| parent.as_array().is_some())
    }

    /// The path of all that it alters: elements behind one that is removed move.
    fn area(&self, document: &Value) -> &[Bytes] {
        match (self.effect, self.path.split_last()) {
            (Effect::Remove, Some((_, parents))) if self.is_of_element(document) => parents,
            _ => self.path,
        }
    }

    /// Whether what older changes have made of its path does not matter.
    fn replaces_all(&self, document: &Value) -> bool {
        match self.effect {
            Effect::Replace => true,
            Effect::Append => false,
            Effect::Remove => !self.is_of_element(document),
        }
    }
}

/// A change that could be made.
struct PreparedChange {
    document: Value,
    config: Config,
}

/// The result of a change.
#[derive(Debug)]
pub(crate) enum Changed {
    /// The change is in force, under this entity tag.
    Applied { tag: String, warnings: Warnings },
    /// The change is valid; nothing was done.
    Valid,
}

impl Controller {
    /// Waits until no change is under way, and keeps others from being made.
    pub(crate) async fn changing(&self) -> ChangeLock<'_> {
        ChangeLock { controller: self, generation: self.shared.changing.lock().await, place: None }
    }

    /// As `changing`, unless something newer takes its place first.
    async fn turn(&self, place: QueuePlace) -> Result<ChangeLock<'_>, ChangeError> {
        tokio::select! {
            biased;
            () = place.superseded() => Err(ChangeError::Superseded),
            changing = self.changing() => Ok(ChangeLock { place: Some(place), ..changing }),
        }
    }

    /// Makes `edit`'s change to the document in force. Must run to its end: once main was asked, it
    /// may have put the change in force whether or not anybody waits for it.
    pub(crate) async fn change(
        &self,
        change: ChangeRequest<'_>,
        edit: impl Fn(&mut Value) -> Result<(), EditError>,
    ) -> Result<Changed, ChangeError> {
        if change.dry_run {
            let _changing = self.changing().await;
            return self.draft(&self.in_force(), &change, &edit).map(|_| Changed::Valid);
        }
        let takes_back = self.supersede(&change, &edit);
        let place = self.shared.queue.enter(change.area(&self.in_force().document));
        let mut changing = self.turn(place).await?;
        let in_force = self.in_force();
        let PreparedChange { document, config } = match self.draft(&in_force, &change, &edit) {
            Err(ChangeError::Edit(EditError::Missing)) if takes_back => {
                return Ok(Changed::Applied { tag: in_force.tag.clone(), warnings: Warnings::new() });
            }
            draft => draft?,
        };
        let assets = &self.uploads().assets;
        let warnings =
            changing.apply(&document, &config, assets, change.storing, change.start_policy).await?;
        let in_force = InForce::new(document, &self.insertions(), config.assets);
        let tag = in_force.tag.clone();
        self.enter(in_force, change.note).await;
        Ok(Changed::Applied { tag, warnings })
    }

    /// The document that a change would make of this one, if it may be made and comes to a configuration.
    fn draft(
        &self,
        in_force: &InForce,
        change: &ChangeRequest<'_>,
        edit: impl Fn(&mut Value) -> Result<(), EditError>,
    ) -> Result<PreparedChange, ChangeError> {
        let exists = edit::get(&in_force.document, change.path).is_ok();
        if change.conditions.is_some_and(|conditions| !conditions.allow_change(&in_force.tag, exists)) {
            return Err(ChangeError::Condition);
        }
        let mut document = in_force.document.clone();
        edit(&mut document).map_err(ChangeError::Edit)?;
        let uploads = self.uploads();
        let config = match self.validate(&document, &uploads.assets, change.start_policy) {
            Err(problems)
                if problems.iter().all(|problem| is_old(problem, &document, &in_force.document)) =>
            {
                self.validate(&document, &uploads.assets, StartPolicy::WhatStarts)
            }
            result => result,
        };
        let config = config.map_err(ChangeError::Invalid)?;
        Ok(PreparedChange { document, config })
    }

    /// Has older changes end that this one replaces, if it could be made now: one that is refused anyway must not stop
    /// others. True if one of them may have been about to add what this one removes.
    fn supersede(
        &self,
        change: &ChangeRequest<'_>,
        edit: impl Fn(&mut Value) -> Result<(), EditError>,
    ) -> bool {
        let (queue, in_force) = (&self.shared.queue, self.in_force());
        if !change.replaces_all(&in_force.document) || !queue.has_void(change.path) {
            return false;
        }
        let may_take_back = change.effect == Effect::Remove && queue.has_same(change.path);
        let takes_back = match self.draft(&in_force, change, edit) {
            Ok(_) => false,
            Err(ChangeError::Edit(EditError::Missing)) if may_take_back => true,
            Err(_) => return false,
        };
        queue.supersede(change.path);
        takes_back
    }

    /// Puts a whole document and its assets in force. What is stored stays. As `change`, it must run
    /// to its end.
    pub(crate) async fn replace(
        &self,
        document: Value,
        inserted: Vec<Inserted>,
        assets: &Assets,
    ) -> Result<(), ChangeError> {
        let insertions = Insertions::of_files(self.shared.files.as_ref(), Some(inserted));
        let uploads = Uploads::new(assets);
        let start_policy = StartPolicy::Everything;
        let config = self.validate(&document, &uploads.assets, start_policy).map_err(ChangeError::Invalid)?;
        self.shared.queue.supersede(&[]);
        let mut changing = self.turn(self.shared.queue.enter(&[])).await?;
        changing.apply(&document, &config, &uploads.assets, Storing::Keep, start_policy).await?;
        self.set_uploads(uploads);
        let in_force = InForce::new(document, &insertions, config.assets);
        *self.shared.insertions.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(insertions);
        self.enter(in_force, ChangeNote::FILES).await;
        Ok(())
    }

    /// Has processes of an application start anew, between two changes. A change of the application takes their place.
    pub(crate) async fn restart(&self, application: &Bytes, group: String) -> Result<(), ChangeError> {
        let place = self.shared.queue.enter(&[Bytes::from("applications"), application.clone()]);
        let changing = self.turn(place).await?;
        Ok(self.shared.main.restart(group, changing.place.as_ref()).await?)
    }
}

/// The right to make a change, one at a time.
pub(crate) struct ChangeLock<'a> {
    controller: &'a Controller,
    generation: MutexGuard<'a, GenerationId>,
    /// Among the changes that newer ones may supersede.
    place: Option<QueuePlace>,
}

impl ChangeLock<'_> {
    /// Puts the document that is in force in force once more, with other uploads.
    pub(crate) async fn apply_again(&mut self, uploads: &Uploads) -> Result<(), ChangeError> {
        let in_force = self.controller.in_force();
        // What was missing when the daemon started may still be missing.
        let config = self.controller.validate(&in_force.document, &uploads.assets, StartPolicy::WhatStarts);
        let config = config.map_err(ChangeError::Invalid)?;
        self.apply(&in_force.document, &config, &uploads.assets, Storing::Keep, StartPolicy::Everything)
            .await?;
        Ok(())
    }

    async fn apply(
        &mut self,
        document: &Value,
        config: &Config,
        assets: &Assets,
        storing: Storing,
        start_policy: StartPolicy,
    ) -> Result<Warnings, ChangeError> {
        self.generation.0 += 1;
        let generation = *self.generation;
        let message = FromController::Apply {
            generation,
            plan: config.plan(),
            document: document.compact(),
            assets: assets.named(&config.assets),
            store: storing == Storing::Store,
            start_policy,
        };
        let applied = self.controller.main().apply(generation, &message, self.place.as_ref()).await;
        let conceal = |error| match error {
            MainError::Refused(reason) => MainError::Refused(self.controller.insertions().conceal(&reason)),
            error => error,
        };
        let warnings = applied.map_err(conceal)?;
        corral_ipc::log::obey(config.settings.log);
        self.controller.exports().obey(config.settings.telemetry.as_ref());
        self.controller.engine().set_wanted(issuing::wanted_certificates(config, assets));
        Ok(warnings)
    }
}

/// Whether the problem is one that what is in force has as well, since the daemon started with it: what could not
/// be used then does not keep the rest from being changed.
fn is_old(problem: &Problem, document: &Value, in_force: &Value) -> bool {
    let path = pointer::steps(&problem.pointer);
    // Files may break that a configuration has clients checked by.
    if let Some(end) = path.iter().position(|step| **step == *b"authenticate") {
        let value = |document: &'_ Value| edit::get(document, &path[..=end]).ok().map(Value::compact);
        return problem.stage == Stage::Application && value(document) == value(in_force);
    }
    let [part, _, rest @ ..] = path.as_slice() else { return false };
    // Other problems of a listener may come from elsewhere.
    let is_about_itself = match &**part {
        b"applications" => true,
        b"listeners" => rest.first().is_some_and(|member| **member == *b"tls"),
        _ => false,
    };
    let value = |document: &'_ Value| edit::get(document, &path[..2]).ok().map(Value::compact);
    is_about_itself && value(document).is_some() && value(document) == value(in_force)
}
