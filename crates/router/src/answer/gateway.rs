//! Requests that are described as CGI does: finds the script that answers, if scripts do, and gives the description to
//! a server of the actions `fastcgi`, `scgi` and `uwsgi`, or to a program of an application.
//!
//! The server has a process for each connection. So the request body is stored before a connection is made, and the
//! response is read as fast as it comes, into a spool if the client is slower.

mod params;
mod script;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::rc::Rc;

use corral_config::gateway::{EntryPoint, Gateway, Scripts};
use corral_config::protocol::Protocol;
use corral_ipc::message::Refusal;

use self::params::ParamsError;
use self::script::ScriptLookup;
use crate::answer::proxy::{self, GatewayRequest, Upload, UploadDestination};
use crate::answer::{program, share};
use crate::error_chain::Chain;
use crate::exchange::response::ResponseWriter;
use crate::instance::LoopApp;
use crate::request::client::Gone;
use crate::upstream::LoopGroup;

/// Answers a request by a server of a group, in what that speaks.
pub(crate) async fn answer(
    response: &mut ResponseWriter<'_, '_>,
    group: &LoopGroup,
    action: Option<&Gateway>,
) -> Result<(), Gone> {
    match group.shared.upstream.options.gateway {
        // In boxes, as what waits for a file or a worker is not as large then.
        None => Box::pin(proxy::answer(response, group)).await,
        Some(protocol) => Box::pin(hand_over(response, action, (group, protocol))).await,
    }
}

/// Without an action there are no scripts, and the server gets every path.
async fn hand_over(
    response: &mut ResponseWriter<'_, '_>,
    action: Option<&Gateway>,
    (group, protocol): (&LoopGroup, Protocol),
) -> Result<(), Gone> {
    response.begin_part();
    let way = GatewayTarget { entry: action.map(|action| &action.entry), outside: None, protocol };
    let title = || group.shared.title(None);
    match way.describe(response, title).await? {
        Some((upload, gateway_request)) => proxy::give(response, group, upload, Some(&gateway_request)).await,
        None => Ok(()),
    }
}

/// Answers a request by a program of an application that speaks such a protocol.
pub(crate) async fn answer_by_program(
    response: &mut ResponseWriter<'_, '_>,
    app: &Rc<LoopApp>,
    entry: Option<&EntryPoint>,
    protocol: Protocol,
) -> Result<(), Gone> {
    let spec = &app.app.spec;
    response.begin_part();
    let way = GatewayTarget { entry, outside: spec.isolation.rootfs.as_deref(), protocol };
    match way.describe(response, || format!("\"{}\"", spec.name)).await? {
        Some((upload, gateway_request)) => program::give(response, app, upload, Some(&gateway_request)).await,
        None => Ok(()),
    }
}

/// How requests are described.
struct GatewayTarget<'w> {
    entry: Option<&'w EntryPoint>,
    /// The root of the file system that the scripts are in, if it is not this process's.
    outside: Option<&'w Path>,
    protocol: Protocol,
}

impl GatewayTarget<'_> {
    /// A request's body, and all that is said of it; none when it has been answered, as no server takes it.
    async fn describe(
        &self,
        response: &mut ResponseWriter<'_, '_>,
        title: impl Fn() -> String,
    ) -> Result<Option<(Upload, GatewayRequest)>, Gone> {
        let varying = match self.varying_scripts(response) {
            Ok(varying) => varying,
            Err(error) => return refuse(response, error, title).await.map(|()| None),
        };
        let scripts = varying.as_ref().or(self.entry.and_then(|entry| entry.scripts.as_ref()));
        let answered = match script::find(response.request.path(), scripts, self.outside) {
            ScriptLookup::Place(place) => {
                // All of it, so that no client that takes its time holds a process of the server.
                let upload = match Upload::begin(response, UploadDestination::Process).await {
                    Ok(upload) => upload,
                    Err(error) => return response.fail_body(&error).await.map(|()| None),
                };
                let described =
                    params::describe(response, (self.entry, scripts), &place, upload.length(), self.protocol);
                match described {
                    Ok(gateway_request) => return Ok(Some((upload, gateway_request))),
                    Err(error) => refuse(response, error, title).await,
                }
            }
            ScriptLookup::Folder if response.request.may_get_slash() => {
                share::redirect_to_folder(response).await
            }
            ScriptLookup::Folder => response.send_error(404).await,
            ScriptLookup::Nothing(status) => response.send_error(status).await,
        };
        answered.map(|()| None)
    }

    /// The scripts of a folder that depends on the request.
    fn varying_scripts(&self, response: &ResponseWriter<'_, '_>) -> Result<Option<Scripts>, ParamsError> {
        let Some((root, scripts)) =
            self.entry.and_then(|entry| entry.root.as_ref().zip(entry.scripts.as_ref()))
        else {
            return Ok(None);
        };
        let mut folder = Vec::new();
        root.render_folder(&mut response.variables(), &mut folder)?;
        Ok(Some(Scripts { root: OsString::from_vec(folder).into(), ..scripts.clone() }))
    }
}

/// Answers a request that no server can be told of.
async fn refuse(
    response: &mut ResponseWriter<'_, '_>,
    error: ParamsError,
    title: impl Fn() -> String,
) -> Result<(), Gone> {
    match error {
        ParamsError::Script(exception) => response.fail_script(&exception).await,
        ParamsError::Stray(stray) => {
            tracing::info!("{}: {stray}", title());
            response.send_error(404).await
        }
        error @ ParamsError::Protocol(_) => {
            tracing::warn!("{}: {}", title(), Chain(&error));
            response.reply.refuse(Refusal::TooLarge);
            response.send_error(431).await
        }
    }
}
