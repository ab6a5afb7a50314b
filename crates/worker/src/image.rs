//! An interpreter without an application: main has it make copies of itself, each of which becomes the prototype of an
//! application, as another user.
//!
//! The interpreter is loaded once for many applications, and its memory is theirs together for as long as none writes
//! there. The image has the rights of main, which its copies give up before they load anything. It runs no
//! application's code, and hears nothing of any application: a copy learns from main alone what it is to become. A copy
//! has everything that it would share with the image or other copies replaced by copies of its own, before it hears
//! that, unless all its applications have said that they trust each other.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use anyhow::{Context, bail};
use corral_config::plan::AppSpec;
use corral_ipc::link::Link;
use corral_ipc::message::{FromImage, Identity, ToImage};
use corral_ipc::reason;
use corral_sys::limits;
use corral_sys::linkage;
use corral_sys::process::{self, LINK_DESCRIPTOR, Standard};
use corral_sys::shared_state::SharedState;
use corral_sys::spawn::{self, Fork};

use crate::application::{self, keep_blocks, report};
use crate::language::Language;
use crate::runtime::Image;

/// Descriptors that the image was started with, and its link.
const GIVEN: [i32; 4] = [0, 1, 2, LINK_DESCRIPTOR];

/// Loads the interpreter, and makes copies until main is gone.
pub(crate) fn serve(language: &Language) -> anyhow::Result<ExitCode> {
    let link = Link::inherited().context("find the socket to the daemon")?;
    let Some((first, _)) = link.recv::<ToImage>().context("wait for the daemon")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let ToImage::Load { spec } = first else { bail!("the daemon's first message is {first:?}, not Load") };
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: {} image", language.name));
    let (image, shared) = match load(&spec, language) {
        Ok(loaded) => loaded,
        Err(error) => {
            let unfit = FromImage::Unfit { reason: reason::cut(format!("{error:#}")) };
            link.send(&unfit, &[]).context("tell the daemon that the image is unfit")?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let files = image.files().into_iter().chain(linkage::loaded_libraries()).collect();
    link.send(&FromImage::Ready { files }, &[]).context("report to the daemon")?;
    while let Some((message, descriptors)) = link.recv::<ToImage>().context("listen to the daemon")? {
        let ToImage::Fork = message else { bail!("the daemon says Load twice") };
        match fork(descriptors) {
            Ok(Made::Copy(descriptors)) => {
                return become_prototype(link, descriptors, &shared, image, language);
            }
            Ok(Made::Answer(answer)) => link.send(&answer, &[]).context("answer the daemon")?,
            Err(error) => {
                let reason = reason::cut(format!("copy the image: {error:#}"));
                link.send(&FromImage::ForkFailed { reason }, &[]).context("answer the daemon")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn load(spec: &AppSpec, language: &Language) -> anyhow::Result<(Box<dyn Image>, SharedState)> {
    let load = language.image.context("this language has no images")?;
    keep_blocks();
    let image = load(spec)?;
    Ok((image, SharedState::find(&GIVEN)?))
}

/// Which process this is, after a fork.
enum Made {
    /// The copy, with the descriptors that it was made for.
    Copy([OwnedFd; 3]),
    /// The image, with the answer to main.
    Answer(FromImage),
}

fn fork(descriptors: Vec<OwnedFd>) -> anyhow::Result<Made> {
    let descriptors: [OwnedFd; 3] =
        descriptors.try_into().ok().context("no descriptor is left for those of the application")?;
    Ok(match spawn::fork_heir()? {
        Fork::Child => Made::Copy(descriptors),
        Fork::Parent(pid) => {
            Made::Answer(FromImage::Forked { pid: pid.as_raw_nonzero().get().unsigned_abs() })
        }
    })
}

/// Goes on as the prototype of an application; the link is the one to the image's main until its descriptor is another.
fn become_prototype(
    link: Link,
    descriptors: [OwnedFd; 3],
    shared: &SharedState,
    image: Box<dyn Image>,
    language: &Language,
) -> anyhow::Result<ExitCode> {
    let [own_link, stdout, stderr] = &descriptors;
    process::replace_link_descriptor(own_link).context("take over the link")?;
    process::replace_standard(Standard::Output, stdout).context("take over the output")?;
    process::replace_standard(Standard::Error, stderr).context("take over the output")?;
    drop(descriptors);
    if !image.shares_memory() {
        shared.renew().context("get memory apart from the image's")?;
    }
    match assume_identity(&link) {
        Ok(true) => application::serve(link, language, |spec| image.load(spec)),
        Ok(false) => Ok(ExitCode::SUCCESS),
        Err(error) => report(&link, &error),
    }
}

/// Becomes what main says; false when main has no use for the process any more.
fn assume_identity(link: &Link) -> anyhow::Result<bool> {
    let Some((identity, descriptors)) = link.recv::<Identity>().context("wait for the daemon")? else {
        return Ok(false);
    };
    let mut descriptors = descriptors.into_iter();
    let mut take = |is_there: bool| {
        let descriptor = is_there.then(|| descriptors.next().context("no descriptor is left"));
        descriptor.transpose()
    };
    let (cgroup, wall) = (take(identity.has_cgroup)?, take(identity.has_wall)?);
    let directory = identity.working_directory.as_ref();
    let directory = directory.map(|path| CString::new(path.as_os_str().as_bytes()));
    let directory = directory.transpose().context("\"working_directory\" contains a null character")?;
    let credentials = identity.credentials.map(Into::into);
    limits::set(&identity.limits).context("take over the limits of resources")?;
    let assumed = spawn::Identity {
        environment: &identity.environment,
        cgroup: cgroup.as_ref().map(AsFd::as_fd),
        credentials: credentials.as_ref(),
        no_new_privileges: identity.no_new_privileges,
        wall: wall.as_ref().map(AsFd::as_fd),
        working_directory: directory.as_deref(),
    };
    assumed.assume()?;
    Ok(true)
}
