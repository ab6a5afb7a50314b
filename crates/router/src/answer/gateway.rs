//! Requests that are described as CGI does: finds the script that answers, if scripts do, and gives the description to
//! a server of the actions `fastcgi`, `scgi` and `uwsgi`, or to a program of an application.
//!
//! The server has a process for each connection. So the request body is stored before a connection is made, and the
//! response is read as fast as it comes, into a spool if the client is slower.

mod params;
mod script;

use std::path::Path;
use std::rc::Rc;

use corral_config::gateway::{EntryPoint, Gateway};
use corral_config::protocol::Protocol;

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
        let scripts = self.entry.and_then(|entry| entry.scripts.as_ref());
        let answered = match script::find(response.request.path(), scripts, self.outside) {
            ScriptLookup::Place(place) => {
                // All of it, so that no client that takes its time holds a process of the server.
                let upload = match Upload::begin(response, UploadDestination::Process).await {
                    Ok(upload) => upload,
                    Err(error) => return response.fail_body(&error).await.map(|()| None),
                };
                match params::describe(response, self.entry, &place, upload.length(), self.protocol) {
                    Ok(gateway_request) => return Ok(Some((upload, gateway_request))),
                    Err(ParamsError::Script(exception)) => response.fail_script(&exception).await,
                    Err(ParamsError::Stray(stray)) => {
                        tracing::info!("{}: {stray}", title());
                        response.send_error(404).await
                    }
                    Err(error) => {
                        tracing::warn!("{}: {}", title(), Chain(&error));
                        response.send_error(431).await
                    }
                }
            }
            ScriptLookup::Folder if share::leads_on(response.request) => {
                share::redirect_to_folder(response).await
            }
            ScriptLookup::Folder => response.send_error(404).await,
            ScriptLookup::Nothing(status) => response.send_error(status).await,
        };
        answered.map(|()| None)
    }
}
