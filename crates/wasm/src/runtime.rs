//! The WebAssembly runtime: one request at a time, each in an instance of its own.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, Limits, RuntimeSpec, WasmSpec};
use corral_sys::usage;
use corral_worker::{Exchange, RequestEnd, Runtime, complain};
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::ProxyPre;

use crate::compile::compile;
use crate::deadline::Deadline;
use crate::engine::{engine, is_timed};
use crate::feed;
use crate::guest::{Guest, GuestMemory, Surroundings, check_folders};
use crate::instance::{self, InstanceCall};
use crate::relay::ResponseRelay;
use crate::request::{request, scheme};
use crate::ticker::Ticker;

/// A component, compiled and linked.
pub(crate) struct WasmRuntime {
    component: ProxyPre<Guest>,
    wasm: WasmSpec,
    limits: Limits,
    worker: Option<ComponentWorker>,
}

/// The state of a worker beside its instances.
struct ComponentWorker {
    tokio: tokio::runtime::Runtime,
    ticker: Option<Ticker>,
    /// The memory of the worker without an instance, in bytes.
    own_memory: usize,
    /// `None` while an instance has them.
    surroundings: Option<Surroundings>,
}

impl WasmRuntime {
    /// Compiles the component and links it.
    ///
    /// # Errors
    /// When it is none, or asks for something that there is not.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Wasm(wasm) = &spec.runtime else {
            bail!("this is not an application of WebAssembly")
        };
        let component = link(&spec.limits, &wasm.component)
            .with_context(|| format!("the component \"{}\"", wasm.component.display()))?;
        check_folders(wasm)?;
        Ok(Box::new(Self { component, wasm: wasm.clone(), limits: spec.limits.clone(), worker: None }))
    }

    /// Answers a request in a new instance.
    fn answer(
        &self,
        worker: &mut ComponentWorker,
        view: &RequestView<'_>,
        exchange: &mut dyn Exchange,
    ) -> Result<(), String> {
        let (body, feed) = feed::body(view);
        let Ok(request) = request(view, body) else {
            exchange.refuse(400);
            return Ok(());
        };
        let mut store = self.store(worker).map_err(|error| format!("{error:#}"))?;
        let (sender, head) = oneshot::channel();
        let mut relay = ResponseRelay::new(exchange, feed, head);
        let call = InstanceCall::new(&mut store, scheme(view), request, sender);
        let ended = worker.tokio.block_on(async {
            let deadline = Deadline::new(&self.limits);
            instance::run(&self.component, &mut store, call, &mut relay, deadline).await
        });
        if let Err(failure) = &ended {
            // Before what the instance has left is closed: that looks like an end in order.
            relay.abort(failure.status());
        }
        worker.surroundings = Some(store.into_data().into_surroundings());
        ended.map_err(|failure| failure.to_string())?;
        relay.conclude()
    }

    fn store(&self, worker: &mut ComponentWorker) -> anyhow::Result<Store<Guest>> {
        let surroundings = match worker.surroundings.take() {
            Some(surroundings) => surroundings,
            None => Surroundings::new(&self.wasm)?,
        };
        let memory = GuestMemory::new(self.limits.memory, worker.own_memory);
        let mut store = Store::new(self.component.engine(), Guest::new(surroundings, memory));
        store.limiter(|guest| &mut guest.memory);
        if worker.ticker.is_some() {
            store.epoch_deadline_async_yield_and_update(1);
            store.set_epoch_deadline(1);
        }
        Ok(store)
    }
}

impl Runtime for WasmRuntime {
    fn has_start(&self) -> bool {
        true
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let tokio =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("start Tokio")?;
        let is_timed = is_timed(&self.limits);
        let ticker = is_timed.then(|| Ticker::start(self.component.engine().clone())).transpose()?;
        let surroundings = Some(Surroundings::new(&self.wasm)?);
        self.worker = Some(ComponentWorker { tokio, ticker, own_memory: own_memory(), surroundings });
        Ok(())
    }

    fn serve(&mut self, view: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        let mut worker = self.worker.take().expect("it was started");
        if let Some(ticker) = &worker.ticker {
            ticker.begin();
        }
        if let Err(reason) = self.answer(&mut worker, view, exchange) {
            let method = String::from_utf8_lossy(view.head.method);
            let target = String::from_utf8_lossy(view.head.target);
            let component = self.wasm.component.display();
            complain(format_args!("{method} {target}: the component \"{component}\" has failed: {reason}"));
        }
        if let Some(ticker) = &worker.ticker {
            ticker.end();
        }
        self.worker = Some(worker);
        RequestEnd::Done
    }
}

/// The assumed memory of a process where `/proc` does not say: somewhat more than the code of usual components needs.
const UNSEEN_MEMORY: u64 = 8 << 20;

/// The memory of this process, by its number where `/proc` is from: that may be another than its own.
fn own_memory() -> usize {
    let pid = fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok());
    let memory = pid.and_then(usage::anonymous_memory).unwrap_or(UNSEEN_MEMORY);
    usize::try_from(memory).unwrap_or(usize::MAX)
}

fn link(limits: &Limits, path: &Path) -> anyhow::Result<ProxyPre<Guest>> {
    let engine = engine(limits)?;
    let component = compile(&engine, path)?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    let linked = linker.instantiate_pre(&component)?;
    ProxyPre::new(linked).map_err(|error| anyhow!("it cannot answer HTTP requests: {error:#}"))
}
