//! One instance of a component, from its begin to its end.
//!
//! An instance and its bodies run in one thread: a future that is polled until nothing moves any more, and only then is
//! what was written flushed. Random numbers are made in the worker, since a fork copies generators.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::Request;
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::Resource;
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::types::{HostIncomingRequest, HostResponseOutparam};
use wasmtime_wasi_http::{Error, WasiHttpView as _};

use crate::deadline::Deadline;
use crate::early_end::EarlyEnd;
use crate::guest::Guest;
use crate::relay::{RelayedHead, ResponseRelay};

/// The arguments of `handle`.
pub(crate) struct InstanceCall {
    request: wasmtime::Result<Resource<HostIncomingRequest>>,
    response: wasmtime::Result<Resource<HostResponseOutparam>>,
}

impl InstanceCall {
    /// Puts a request, and the place of its response, where the instance finds them.
    pub(crate) fn new(
        store: &mut Store<Guest>,
        scheme: Scheme,
        request: Request<UnsyncBoxBody<Bytes, Error>>,
        head: oneshot::Sender<RelayedHead>,
    ) -> Self {
        let mut http = store.data_mut().http();
        Self {
            request: http.new_incoming_request(scheme, request),
            response: http.new_response_outparam(head),
        }
    }
}

/// Runs an instance to its end, and moves meanwhile what it says and hears.
///
/// # Errors
/// When it fails, or takes too long.
pub(crate) async fn run(
    component: &ProxyPre<Guest>,
    store: &mut Store<Guest>,
    call: InstanceCall,
    relay: &mut ResponseRelay<'_>,
    mut deadline: Option<Deadline>,
) -> Result<(), EarlyEnd> {
    let ended = {
        let mut running = pin!(handle(component, store, call));
        poll_fn(|cx| step(running.as_mut(), relay, deadline.as_mut(), cx)).await
    };
    let lacked_memory = store.data().memory.was_refused;
    ended?.map_err(|error| EarlyEnd::Component { error, lacked_memory })
}

async fn handle(
    component: &ProxyPre<Guest>,
    store: &mut Store<Guest>,
    call: InstanceCall,
) -> wasmtime::Result<()> {
    let instance = component.instantiate_async(&mut *store).await?;
    instance.wasi_http_incoming_handler().call_handle(store, call.request?, call.response?).await
}

/// Goes on until there is something to wait for.
fn step<R>(
    mut running: Pin<&mut impl Future<Output = R>>,
    relay: &mut ResponseRelay<'_>,
    deadline: Option<&mut Deadline>,
    cx: &mut Context<'_>,
) -> Poll<Result<R, EarlyEnd>> {
    loop {
        if let Poll::Ready(ended) = running.as_mut().poll(cx) {
            return Poll::Ready(Ok(ended));
        }
        if !relay.advance(cx) {
            break;
        }
    }
    relay.pause();
    let Some(deadline) = deadline else { return Poll::Pending };
    deadline.poll(relay.exchange(), cx).map(|overdue| Err(EarlyEnd::Overdue(overdue)))
}
