//! A `proxy` whose server is named by the request.

use corral_ipc::message::Refusal;

use super::shown;
use crate::clock::Millis;
use crate::error_chain::Chain;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{LoopDynamic, NotReachable};

/// Answers a request by the server that it names, if that is allowed.
pub(crate) async fn answer(response: &mut ResponseWriter<'_, '_>, servers: &LoopDynamic) -> Result<(), Gone> {
    let mut url = buffers::take();
    if let Err(exception) = servers.shared.rules.url.render(&mut response.variables(), &mut url) {
        return response.fail_script(&exception).await;
    }
    let found = servers.group(&response.services.proxy_servers, &url, response.now());
    buffers::give(url);
    match found {
        Ok(group) => super::answer(response, &group).await,
        Err(reason) => refuse(response, servers, &reason).await,
    }
}

async fn refuse(
    response: &mut ResponseWriter<'_, '_>,
    servers: &LoopDynamic,
    reason: &NotReachable,
) -> Result<(), Gone> {
    if let Some(suppressed) = servers.shared.throttle.admit(Millis::of(response.now())) {
        let (name, reason, request) = (&servers.shared.rules.name, Chain(reason), shown(response.request));
        tracing::error!("proxy \"{name}\": {reason}, request \"{request}\"{suppressed}");
    }
    response.reply.refuse(Refusal::NoServer);
    response.send_error(reason.status()).await
}
