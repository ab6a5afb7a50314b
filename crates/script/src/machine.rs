//! One QuickJS context with the modules of a configuration loaded and its templates compiled.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::function::{Args, Function};
use rquickjs::{
    CatchResultExt, CaughtError, Coerced, Context, Ctx, Module, Object, Persistent, Runtime, Value,
};
use rustix::time::{ClockId, clock_gettime};

use crate::engine::{CompiledProgram, ScriptLimits};
use crate::modules;
use crate::scope::{self, CurrentLookup, Needs, PARAMETERS, ScopeRequest};
use crate::text;

/// Run once the modules are loaded: from then on nothing that requests share can be changed.
const LOCK_DOWN: &str = include_str!("lock_down.js");

/// Far below the stack of a thread, above what the parser and reasonable scripts need.
const STACK: usize = 512 << 10;

/// Modules may take longer to load than templates to run: it happens once.
const LOAD_TIME: Duration = Duration::from_secs(5);

/// More jobs than that, and the next script starts in a machine without them.
const MAX_JOBS: usize = 1000;

/// A script that threw, or that was stopped: its text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptException(pub(crate) String);

/// Why the modules of a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// A module does not load.
    #[error("load JS module \"{name}\": {reason}")]
    Load {
        /// The module's name.
        name: String,
        /// The JavaScript error.
        reason: String,
    },
    /// QuickJS could not be started.
    #[error("start JavaScript: {0}")]
    Start(String),
}

/// The fields are in the order in which they must go: nothing of a context may outlive it.
pub(crate) struct Machine {
    templates: RefCell<HashMap<Box<[u8]>, Template>>,
    vars: Persistent<Value<'static>>,
    fold: Persistent<Function<'static>>,
    current: CurrentLookup,
    context: Context,
    clock: Rc<Clock>,
    time: Duration,
    /// Set when something is left that the next script must not find: it needs a new machine.
    spent: Cell<bool>,
}

#[derive(Clone)]
struct Template {
    function: Persistent<Function<'static>>,
    needs: Needs,
}

/// When the script that runs must be over, in time of a processor: while other threads have it, a script is not slow.
#[derive(Default)]
struct Clock {
    deadline: Cell<Option<Duration>>,
    ran_out: Cell<bool>,
}

impl Clock {
    fn start(&self, time: Duration) {
        self.deadline.set(Some(time_of_thread() + time));
        self.ran_out.set(false);
    }

    fn is_over(&self) -> bool {
        let is_over = self.deadline.get().is_some_and(|deadline| time_of_thread() >= deadline);
        self.ran_out.set(self.ran_out.get() || is_over);
        is_over
    }
}

/// The time for which processors have run this thread.
pub(crate) fn time_of_thread() -> Duration {
    // The kernel counts it from 0.
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

impl Machine {
    pub(crate) fn new(program: &CompiledProgram) -> Result<Self, ModuleError> {
        let start = |error: rquickjs::Error| ModuleError::Start(error.to_string());
        let ScriptLimits { memory, time } = program.limits;
        let runtime = Runtime::new().map_err(start)?;
        runtime.set_memory_limit(memory);
        runtime.set_max_stack_size(STACK);
        let clock = Rc::new(Clock::default());
        let watch = Rc::clone(&clock);
        runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over())));
        let (resolver, loader) = modules::loader(&program.modules);
        runtime.set_loader(resolver, loader);
        let context = Context::full(&runtime).map_err(start)?;
        let current = CurrentLookup::default();
        clock.start(LOAD_TIME);
        let (vars, fold) = context.with(|ctx| {
            let ready = modules::install_globals(&ctx).catch(&ctx);
            ready.map_err(|error| ModuleError::Start(describe(&error)))?;
            load_modules(&ctx, program)?;
            lock_down(&ctx, &current).catch(&ctx).map_err(|error| ModuleError::Start(describe(&error)))
        })?;
        clock.deadline.set(None);
        Ok(Self {
            templates: RefCell::default(),
            vars,
            fold,
            current,
            context,
            clock,
            time,
            spent: Cell::new(false),
        })
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get()
    }

    /// Appends what the template gives for this request.
    pub(crate) fn evaluate(
        &self,
        source: &[u8],
        request: &mut dyn ScopeRequest,
        out: &mut Vec<u8>,
    ) -> Result<(), ScriptException> {
        self.clock.start(self.time);
        let result = self.context.with(|ctx| {
            let text = self.call(&ctx, source, request).catch(&ctx).map_err(|error| describe(&error));
            self.finish_jobs(&ctx);
            text
        });
        *self.current.borrow_mut() = None;
        let result = if self.clock.ran_out.get() {
            self.spent.set(true);
            Err(format!("stopped after the time limit of {} ms", self.time.as_millis()))
        } else {
            result
        };
        self.clock.deadline.set(None);
        match result {
            Ok(text) => {
                out.extend_from_slice(&text);
                Ok(())
            }
            Err(text) => {
                self.spent.set(self.spent.get() || text.contains("out of memory"));
                Err(ScriptException(text))
            }
        }
    }

    fn call(
        &self,
        ctx: &Ctx<'_>,
        source: &[u8],
        request: &mut dyn ScopeRequest,
    ) -> rquickjs::Result<Vec<u8>> {
        let template = self.template(ctx, source)?;
        let vars = self.vars.clone().restore(ctx)?;
        let values = scope::arguments(ctx, template.needs, request, &vars, &self.current)?;
        let mut arguments = Args::new(ctx.clone(), values.len());
        arguments.push_args(values)?;
        let function = template.function.restore(ctx)?;
        let result: Coerced<rquickjs::String<'_>> = function.call_arg(arguments)?;
        match result.0.to_string() {
            Err(rquickjs::Error::Utf8(_)) => {
                let folded: String = self.fold.clone().restore(ctx)?.call((result.0,))?;
                Ok(text::unfold(&folded))
            }
            result => result.map(String::into_bytes),
        }
    }

    /// The compiled template; compiled when it is asked for the first time.
    fn template(&self, ctx: &Ctx<'_>, source: &[u8]) -> rquickjs::Result<Template> {
        if let Some(template) = self.templates.borrow().get(source) {
            return Ok(template.clone());
        }
        let function = ctx.eval::<Function<'_>, _>(function_source(source))?;
        let template = Template { function: Persistent::save(ctx, function), needs: Needs::of(source) };
        self.templates.borrow_mut().insert(source.into(), template.clone());
        Ok(template)
    }

    /// Runs what the script left to be done later, to an extent: the results are not awaited.
    fn finish_jobs(&self, ctx: &Ctx<'_>) {
        for _ in 0..MAX_JOBS {
            if self.clock.is_over() || !ctx.execute_pending_job() {
                return;
            }
        }
        self.spent.set(true);
    }
}

/// Evaluates each module and puts what it exports by default under its name.
fn load_modules(ctx: &Ctx<'_>, program: &CompiledProgram) -> Result<(), ModuleError> {
    for module in &program.modules {
        let loaded = load_module(ctx, &module.name).catch(ctx);
        loaded.map_err(|error| ModuleError::Load { name: module.name.clone(), reason: describe(&error) })?;
    }
    Ok(())
}

fn load_module(ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<()> {
    let namespace: Object<'_> = Module::import(ctx, name)?.finish()?;
    let default: Value<'_> = namespace.get("default")?;
    let exported = if default.is_undefined() { namespace.into_value() } else { default };
    ctx.globals().set(name, exported)
}

/// Freezes everything that is shared; gives `vars` and a function that folds strings.
fn lock_down<'js>(
    ctx: &Ctx<'js>,
    current: &CurrentLookup,
) -> rquickjs::Result<(Persistent<Value<'static>>, Persistent<Function<'static>>)> {
    let lookup = scope::lookup_function(ctx, Rc::clone(current))?;
    let lock: Function<'js> = ctx.eval(LOCK_DOWN)?;
    let made: Object<'js> = lock.call((lookup,))?;
    let vars: Value<'js> = made.get("vars")?;
    let fold: Function<'js> = made.get("fold")?;
    Ok((Persistent::save(ctx, vars), Persistent::save(ctx, fold)))
}

/// The source of the function whose result is the template's.
pub(crate) fn function_source(template: &[u8]) -> Vec<u8> {
    let head = format!("(function({}) {{ return ", PARAMETERS.join(", "));
    [head.as_bytes(), template, b"\n})"].concat()
}

/// The error on one line.
pub(crate) fn describe(error: &CaughtError<'_>) -> String {
    let text = match error {
        CaughtError::Error(error) => match error {
            rquickjs::Error::InvalidString(_) => "SyntaxError: a NUL byte is in the source".to_owned(),
            error => error.to_string(),
        },
        CaughtError::Exception(exception) => {
            let name = exception.as_object().get::<_, Coerced<String>>("name");
            let name = name.map_or_else(|_| "Error".to_owned(), |name| name.0);
            format!("{name}: {}", exception.message().unwrap_or_default())
        }
        CaughtError::Value(value) => {
            let text = value.get::<Coerced<String>>();
            text.map_or_else(|_| "an exception without text".to_owned(), |text| text.0)
        }
    };
    text.split(char::is_control).collect::<Vec<_>>().join(" ")
}
