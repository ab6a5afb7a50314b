//! The actions `fastcgi`, `scgi` and `uwsgi`: finds the script that answers, if scripts do, describes the request as CGI does,
//! and gives both to a server.

mod params;
mod script;

use corral_config::gateway::{Gateway, Protocol};

use self::params::Unsayable;
use self::script::Found;
use crate::answer::proxy::{self, Destination, Upload};
use crate::answer::share;
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::upstream::LoopGroup;

/// Answers a request by a server of a group, in what that speaks.
pub(crate) async fn answer(
    exchange: &mut Exchange<'_>,
    group: &LoopGroup,
    action: Option<&Gateway>,
) -> Result<(), Gone> {
    match group.shared.upstream.options.gateway {
        // In boxes, as what waits for a file or a worker is not as large then.
        None => Box::pin(proxy::answer(exchange, group)).await,
        Some(protocol) => Box::pin(hand_over(exchange, action, (group, protocol))).await,
    }
}

/// Without an action there are no scripts, and the server gets every path.
async fn hand_over(
    exchange: &mut Exchange<'_>,
    action: Option<&Gateway>,
    (group, protocol): (&LoopGroup, Protocol),
) -> Result<(), Gone> {
    let scripts = action.and_then(|action| action.scripts.as_ref());
    let place = match script::find(exchange.path(), scripts) {
        Found::Place(place) => place,
        Found::Folder => return share::redirect_to_folder(exchange).await,
        Found::Nothing(status) => return exchange.send_error(status).await,
    };
    // All of it, so that no client that takes its time holds a process of the server.
    let upload = match Upload::begin(exchange, Destination::Process).await {
        Ok(upload) => upload,
        Err(error) => return exchange.fail_body(&error).await,
    };
    let described = params::describe(exchange, action, &place, upload.length(), protocol);
    match described {
        Ok(envelope) => proxy::give(exchange, group, upload, Some(&envelope)).await,
        Err(Unsayable::Script(exception)) => exchange.fail_script(&exception).await,
        Err(error) => {
            tracing::warn!("{}: {error}", group.shared.title(None));
            exchange.send_error(431).await
        }
    }
}
