//! The bridge between templates in JavaScript and the request that they are rendered for.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, Assets};
use corral_config::route::{Facts, Route};
use corral_config::table::Key;
use corral_config::template::{Exception, MapName, Script, Variable, Variables};
use corral_http::request::ParsedHead;
use corral_script::{CompiledProgram, Engine, LoadedModule, Lookup, ModuleError, ScopePair, ScriptLimits};

use crate::reply::Reply;
use crate::request::client::RequestClient;
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::tls::TlsPeer;
use crate::variables::{CachedValues, RequestVariables, VariableConnection};

/// The modules of a configuration, loaded once to see that they can be.
pub(crate) fn program(config: &Config, assets: &Assets) -> Result<Arc<CompiledProgram>, ModuleError> {
    let modules = config.settings.js_module.iter().filter_map(|name| assets.script(name));
    let modules = modules.map(|asset| LoadedModule { name: asset.name.clone(), source: asset.bytes.clone() });
    let limits = config.settings.js_limits;
    CompiledProgram::new(modules.collect(), ScriptLimits { memory: limits.memory, time: limits.timeout })
}

/// Appends what a script gives.
pub(crate) fn evaluate(
    engine: &Engine,
    script: &Script,
    variables: RequestVariables<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Exception> {
    let source = script.source().as_bytes();
    let has_modules = !variables.config.settings.js_module.is_empty();
    if has_modules || memchr::memmem::find(source, b"server_").is_some() {
        // Inside of the script there is no connection to ask.
        variables.local_address();
    }
    engine
        .evaluate(source, &mut ScriptScope(variables), out)
        .map_err(|exception| Exception::Script(exception.to_string()))
}

/// Logs that a script has thrown, or that a regular expression was given up. Not as an alert: a client may choose to
/// cause it.
pub(crate) fn report(fault: &impl Display) {
    tracing::error!("{fault}");
}

/// The request, as scripts see it.
struct ScriptScope<'t>(RequestVariables<'t>);

impl corral_script::ScopeRequest for ScriptScope<'_> {
    fn append(&mut self, variable: &str, out: &mut Vec<u8>) {
        append_named(&mut self.0, variable, out);
    }

    fn arguments(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        RequestVariables::arguments(&self.0).iter().for_each(visit);
    }

    fn headers(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        let ReceivedRequest { head, bytes, .. } = self.0.request;
        head.fields(bytes).for_each(visit);
    }

    fn cookies(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        Facts::cookies(&self.0).for_each(visit);
    }

    fn variables(&mut self) -> Lookup {
        let detached = DetachedVariables::new(&self.0);
        Box::new(move |name, out| append_named(&mut detached.variables(), name, out))
    }
}

/// Whether there is such a variable.
fn append_named(variables: &mut RequestVariables<'_>, name: &str, out: &mut Vec<u8>) -> bool {
    match Variable::find(name) {
        Some(variable) => variables.append(&variable, out),
        None if name == "dollar" => out.push(b'$'),
        None => return append_map(variables, name, out),
    }
    true
}

/// Whether there is such a map. Its own scripts are not evaluated: they could lead here without end.
fn append_map(variables: &RequestVariables<'_>, name: &str, out: &mut Vec<u8>) -> bool {
    let name = name.strip_prefix("map_");
    let maps = &variables.config.tables.maps;
    let Some(key) = name.and_then(|name| maps.find(|map| map.name == name)) else { return false };
    let start = out.len();
    let mut variables = RequestVariables { scripts: None, ..*variables };
    if let Err(exception) = variables.append_map(MapName { key, is_constant: false }, out) {
        report(&exception);
        out.truncate(start);
    }
    true
}

/// Everything that variables are made of, owned: scripts know no borrowing.
struct DetachedVariables {
    head: ParsedHead,
    bytes: Vec<u8>,
    started: Instant,
    client: RequestClient,
    path: Vec<u8>,
    query: Vec<u8>,
    identity: Option<AuthenticatedUser>,
    reply: Reply,
    server: &'static str,
    memo: CachedValues,
    config: Arc<Config>,
    listener: ListenAddress,
    route: Option<Key<Route>>,
    application: Option<Key<AppSpec>>,
    n_requests: u32,
    peer: Option<TlsPeer<'static>>,
}

impl DetachedVariables {
    fn new(variables: &RequestVariables<'_>) -> Self {
        let ReceivedRequest { head, bytes, started } = variables.request;
        variables.memo.fix(started);
        Self {
            head: head.clone(),
            bytes: bytes.to_vec(),
            started,
            client: variables.client,
            path: variables.path.to_vec(),
            query: variables.query.to_vec(),
            identity: variables.identity.cloned(),
            reply: variables.reply.clone(),
            server: variables.server,
            memo: variables.memo.clone(),
            config: Arc::clone(variables.config),
            listener: variables.listener.clone(),
            route: variables.route,
            application: variables.application,
            n_requests: variables.link.n_requests(),
            peer: variables.link.peer().map(|peer| peer.into_owned().into_owned()),
        }
    }

    fn variables(&self) -> RequestVariables<'_> {
        let Self { head, bytes, started, .. } = self;
        RequestVariables {
            link: VariableConnection::Noted { peer: self.peer.as_ref(), n_requests: self.n_requests },
            request: ReceivedRequest { head, bytes, started: *started },
            client: self.client,
            path: &self.path,
            query: &self.query,
            captured: &[],
            identity: self.identity.as_ref(),
            reply: &self.reply,
            server: self.server,
            memo: &self.memo,
            config: &self.config,
            listener: &self.listener,
            route: self.route,
            application: self.application,
            scripts: None,
        }
    }
}
