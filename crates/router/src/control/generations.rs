//! Generations: what arrives of one, how it is built beside the one in force, and how it takes its place.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use anyhow::{Context, bail};
use corral_auth::files;
use corral_config::access_log::AccessLog;
use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, AssetKind, Assets, RestartMode, RuntimeSpec};
use corral_config::settings::TelemetrySettings;
use corral_config::table::Table;
use corral_config::{Config, Known, json, validate};
use corral_ipc::message::{FailedListener, FromRouter, GenerationId, StartedInstance};
use tokio::sync::mpsc;

use super::{ControlThread, ListenerSockets, LoopSockets, PendingGeneration, only, send};
use crate::answer::share;
use crate::authentication::Authenticators;
use crate::control_waker::ControlWaker;
use crate::event_loop::command::LoopCommand;
use crate::generation::Generation;
use crate::generation::request_settings::RequestSettings;
use crate::instance::InstanceLease;
use crate::limits::ClientLimits;
use crate::mirrors::Mirrors;
use crate::observe::access_log::AccessLogWriter;
use crate::observe::request_counts::{ListenerCounts, StepCounts};
use crate::observe::telemetry::Telemetry;
use crate::tls;
use crate::tls::Contexts;
use crate::upstream::{HTTP1, HealthChecks, ServerBuilder, ServerError, ServerGroups, TlsTrust};
use crate::variables::script;

impl ControlThread {
    pub(super) fn pending(&mut self, id: GenerationId) -> &mut PendingGeneration {
        let pending = self.pending.get_or_insert_default();
        if pending.id != Some(id) {
            *pending = PendingGeneration { id: Some(id), ..PendingGeneration::default() };
        }
        pending
    }

    pub(super) fn take_access_log(
        &mut self,
        id: GenerationId,
        idx: usize,
        fds: Vec<OwnedFd>,
    ) -> anyhow::Result<()> {
        let file = File::from(only(fds).context("take over an access log")?);
        if let Some((current, generation)) = &self.current
            && *current == id
            && let Some(log) = generation.access_logs.values().get(idx)
        {
            log.replace_file(file);
            return Ok(());
        }
        self.pending(id).access_logs.push(file);
        Ok(())
    }

    /// Builds a generation from a document that the controller has validated. Returns the listeners that cannot
    /// serve: their sockets are closed, as without its TLS a listener must not answer any client.
    pub(super) fn prepare(
        &mut self,
        id: GenerationId,
        document: &[u8],
        applications: Vec<StartedInstance>,
        assets: &Assets,
    ) -> anyhow::Result<Vec<FailedListener>> {
        let value = json::parse(document).context("parse the configuration")?;
        let mut config = validate(&value, &Known::validated_elsewhere().lenient()).map_err(|problems| {
            let first = problems.first().map_or("unknown reason", |problem| &problem.detail);
            anyhow::anyhow!("the router does not accept the configuration: {first}")
        })?;
        check_scripts(&config, assets)?;
        let known_counts = self.known_counts();
        let leases = applications
            .into_iter()
            .map(|instance| self.lease(instance, &known_counts))
            .collect::<anyhow::Result<Table<_, _>>>()?;
        check_applications(&config, &leases)?;
        share::folders::warn(&config, self.current.as_ref().map(|(_, generation)| &generation.config));
        let before: Vec<_> = self.current.iter().flat_map(|(_, generation)| generation.listeners()).collect();
        let secrets = &self.commons.shared.secrets;
        let Contexts { each: tls, failed } = tls::contexts(&config.listeners, assets, secrets, &before);
        let mut trust = TlsTrust::new(assets);
        let telemetry = self.telemetry(config.settings.telemetry.as_ref(), &mut trust)?;
        let known = self.current.as_ref().map(|(_, generation)| &generation.authenticators);
        let authenticators = Authenticators::new(&config.tables.authentications, known, &mut trust)?;
        // A controller refuses these. A start goes on, and requests there get 500.
        let problems = files::check_authentication(&config).into_iter().chain(files::fill_maps(&mut config));
        problems.for_each(|problem| tracing::error!("{problem}"));
        let servers = self.servers(&config, trust)?;
        let program = script::program(&config, assets)?;
        let known = self.current.as_ref().map(|(_, generation)| &generation.limits);
        let limits = ClientLimits::new(&config.tables.throttles, known);
        let (n_lanes, control_waker) = (self.loops.len(), Arc::clone(&self.control_waker));
        let known = self.current.as_ref().map(|(_, generation)| &generation.mirrors);
        let mirrors = Mirrors::new(&config.tables.mirrors, n_lanes, known);
        let listener_counts = self.listener_counts(&config);
        let known = self.current.as_ref().map(|(_, generation)| &**generation);
        let known = known.map(|generation| (&generation.config.tables.steps, &generation.step_counts));
        let step_counts = StepCounts::new(&config.tables.steps, self.loops.len(), known);
        let pending = self.pending(id);
        pending.sockets.retain(|(address, _)| failed.iter().all(|(other, _)| other != address));
        pending.n_sockets = pending.sockets.iter().map(|(_, group)| group.len()).sum();
        pending.shares = share_out(std::mem::take(&mut pending.sockets), n_lanes)?;
        let request_settings = RequestSettings::new(&config.settings.http, config.tables.wants_upstreams);
        let files = std::mem::take(&mut pending.access_logs);
        let access_logs = open_logs(&config, files, n_lanes, &control_waker)?;
        let listeners = config.listeners.iter().enumerate();
        let listener_places = listeners.map(|(place, listener)| (listener.address.clone(), place)).collect();
        let parts = Generation {
            config,
            listener_places,
            leases,
            request_settings,
            limits,
            mirrors,
            authenticators,
            access_logs,
            listener_counts,
            step_counts,
            program,
            telemetry,
            tls,
            servers,
        };
        let copies = (0..n_lanes).map(|_| Arc::new(parts.config.clone()));
        pending.copies = copies.collect();
        pending.generation = Some(Arc::new(parts));
        let describe = |(address, error): (ListenAddress, anyhow::Error)| FailedListener {
            address: address.to_string(),
            reason: format!("{error:#}"),
        };
        Ok(failed.into_iter().map(describe).collect())
    }

    /// The telemetry in force goes on when nothing about it has changed.
    fn telemetry(
        &self,
        settings: Option<&TelemetrySettings>,
        trust: &mut TlsTrust<'_>,
    ) -> anyhow::Result<Option<Arc<Telemetry>>> {
        let Some(settings) = settings else { return Ok(None) };
        let ours = self.current.as_ref().and_then(|(_, generation)| generation.telemetry.as_ref());
        if let Some(ours) = ours.filter(|ours| ours.obeys(settings)) {
            return Ok(Some(Arc::clone(ours)));
        }
        let is_secured = settings.endpoint.starts_with("https://");
        let trust = is_secured.then(|| trust.config(&settings.tls, HTTP1)).transpose();
        let trust = trust.with_context(|| format!("telemetry to \"{}\"", settings.endpoint))?;
        Telemetry::start(settings, trust.as_deref().cloned()).map(Some)
    }

    /// Sends figures to the collector of the configuration in force.
    pub(super) fn export(&self, request: Vec<u8>) {
        let current = self.current.as_ref().and_then(|(_, generation)| generation.telemetry.as_ref());
        if let Some(telemetry) = current {
            telemetry.export(request);
        }
    }

    /// The counts of listeners; those of one that stays go on.
    fn listener_counts(&self, config: &Config) -> Vec<Arc<ListenerCounts>> {
        let current = self.current.iter().flat_map(|(_, generation)| &generation.listener_counts);
        let known: HashMap<_, _> = current.map(|counts| (counts.address.as_str(), counts)).collect();
        let counts = config.listeners.iter().map(|listener| {
            let address = listener.address.to_string();
            let known = known.get(address.as_str()).map(|counts| Arc::clone(counts));
            known.unwrap_or_else(|| Arc::new(ListenerCounts::new(address, self.loops.len())))
        });
        counts.collect()
    }

    /// The servers of upstreams and proxies; those that stay as they are keep all that is known of them.
    fn servers(&self, config: &Config, trust: TlsTrust<'_>) -> Result<ServerGroups, ServerError> {
        let mut builder = ServerBuilder {
            n_loops: self.loops.len(),
            resolver: &self.resolver,
            trust,
            previous: self.current.as_ref().map(|(_, generation)| &generation.servers),
        };
        builder.groups(&config.upstreams, &config.tables)
    }

    pub(super) async fn commit(&mut self, id: GenerationId) -> anyhow::Result<()> {
        let pending = self.pending.take().filter(|pending| pending.id == Some(id));
        let pending = pending.context("the main process commits what was not prepared")?;
        let generation = pending.generation.context("the main process commits what was not prepared")?;
        self.hold_switched(&generation);
        let (done, mut all_done) = mpsc::channel(1);
        let done = Arc::new(done);
        let parts = self.loops.iter().zip(pending.shares).zip(&pending.copies);
        for ((event_loop, sockets), config) in parts {
            let (generation, done) = (Arc::clone(&generation), Arc::clone(&done));
            send(event_loop, LoopCommand::Swap { generation, config: Arc::clone(config), sockets, done });
        }
        drop(done);
        // Ends when the last loop has dropped its sender.
        let _ = all_done.recv().await;
        self.checks = HealthChecks::start(&generation.servers);
        generation.authenticators.prefetch();
        corral_ipc::log::obey(generation.config.settings.log);
        self.bound(&generation, pending.n_sockets);
        self.retired.put(Arc::clone(&generation), pending.copies);
        self.current = Some((id, generation));
        self.forget_unused();
        self.main.send(&FromRouter::Committed { generation: id });
        Ok(())
    }

    /// New instances that must not serve beside those that they replace wait for these.
    fn hold_switched(&self, next: &Generation) {
        let Some((_, current)) = &self.current else { return };
        let switched = next.leases.iter().filter(|lease| lease.0.spec.restart.mode == RestartMode::Switch);
        for new in switched {
            let is_replaced =
                |old: &&Arc<InstanceLease>| old.0.spec.name == new.0.spec.name && old.0.id != new.0.id;
            if let Some(old) = current.leases.iter().find(is_replaced) {
                old.0.precede(&new.0);
            }
        }
    }
}

impl ControlThread {
    /// Puts bounds in force, and tells what is wrong with them once.
    fn bound(&mut self, generation: &Generation, n_sockets: usize) {
        let limits = &generation.config.settings.limits;
        let before = self.current.as_ref().map(|(_, generation)| &generation.config.settings.limits);
        let are_new = before != Some(limits);
        let n_fixed = n_fixed(generation, n_sockets, self.loops.len());
        if are_new || n_fixed != self.n_fixed {
            let shortage = self.commons.shared.admission.configure(limits, n_fixed);
            shortage.filter(|_| are_new).inspect(|shortage| tracing::warn!("{shortage}"));
        }
        if are_new {
            self.commons.budget.set_most(limits.buffered_bytes);
        }
        self.n_fixed = n_fixed;
    }
}

/// The router indexes both by the configuration's order.
fn check_applications(config: &Config, leases: &Table<AppSpec, Arc<InstanceLease>>) -> anyhow::Result<()> {
    let named = config.applications.iter().map(|app| &app.name);
    if !named.eq(leases.iter().map(|lease| &lease.0.spec.name)) {
        bail!("the instances do not fit the applications of the configuration");
    }
    Ok(())
}

/// Objects that are built from a script can rely on having it. Without a certificate bundle only its listener fails.
fn check_scripts(config: &Config, assets: &Assets) -> anyhow::Result<()> {
    let kind = AssetKind::Script;
    for name in config.assets.of_kind(kind) {
        assets.find(kind, name).with_context(|| format!("{kind:?} \"{name}\" was not sent"))?;
    }
    Ok(())
}

/// The logs of a configuration, whose files came before it.
fn open_logs(
    config: &Config,
    files: Vec<File>,
    n_lanes: usize,
    control_waker: &Arc<ControlWaker>,
) -> anyhow::Result<Table<AccessLog, AccessLogWriter>> {
    let logs = &config.tables.access_logs;
    if files.len() != logs.len() {
        bail!("{} access logs came for {}", files.len(), logs.len());
    }
    let logs = files.into_iter().zip(logs);
    Ok(logs
        .map(|(file, settings)| AccessLogWriter::new(file, settings, n_lanes, Arc::clone(control_waker)))
        .collect())
}

/// Descriptors that a generation has for as long as it is in force: those of listeners, of logs, and the bell of each
/// application whose workers ring one.
fn n_fixed(generation: &Generation, n_sockets: usize, n_lanes: usize) -> u64 {
    let rings = |lease: &&Arc<InstanceLease>| !matches!(lease.0.spec.runtime, RuntimeSpec::Http(_));
    let n_bells = generation.leases.iter().filter(rings).count();
    (n_sockets + generation.access_logs.len() + n_bells * n_lanes) as u64
}

/// The part of each event loop: its share of each group, or a socket that others have as well.
fn share_out(groups: Vec<ListenerSockets>, n_lanes: usize) -> anyhow::Result<Vec<Vec<LoopSockets>>> {
    let mut shares: Vec<Vec<LoopSockets>> = (0..n_lanes).map(|_| Vec::with_capacity(groups.len())).collect();
    for (address, group) in groups {
        if group.is_empty() {
            bail!("no descriptor is left for the sockets of the listener \"{address}\"");
        }
        let group: Vec<_> = group.into_iter().map(Arc::new).collect();
        if let ListenAddress::Udp(place) = address {
            // One event loop has all sessions of a listener, the same one in each configuration.
            shares[usize::from(place.port()) % n_lanes].push((address, group));
            continue;
        }
        for (lane, shares) in shares.iter_mut().enumerate() {
            let own = group.iter().skip(lane % group.len()).step_by(n_lanes).map(Arc::clone);
            shares.push((address.clone(), own.collect()));
        }
    }
    Ok(shares)
}
