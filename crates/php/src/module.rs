//! PHP as a whole: started once in the prototype, shared by all workers that it forks.

use std::ffi::{CStr, CString, OsStr};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use anyhow::{Context, bail, ensure};
use corral_config::plan::{Guard, PhpSpec};
use corral_embed::{HOST, Slice};
use corral_worker::cgi::SOFTWARE;
use corral_worker::complain;

use crate::ffi::{self, OpaqueString, Options, SettingCheck, SettingMode};
use crate::{callbacks, files, settings};

/// The name with which opcache enables itself; Unit's name too.
const DEFAULT_SAPI_NAME: &str = "cli-server";

/// The release of the PHP that this program was compiled for, such as `8.2.29`.
pub(crate) fn version() -> &'static str {
    // SAFETY: returns a constant of the shim.
    let version = unsafe { ffi::corral_php_version() };
    // SAFETY: a NUL-terminated constant.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_str().unwrap_or("unknown")
}

/// PHP, started. There can be one in a process; it ends with this value.
///
/// Neither `Send` nor `Sync`: all calls must come from the thread that started it.
pub(crate) struct SapiModule {
    has_opcache: bool,
    _thread: PhantomData<*mut ()>,
}

/// In the syntax of php.ini.
const WITHOUT_OPCACHE: &str = "opcache.enable=0\n";

impl SapiModule {
    /// Starts PHP with the options of an application.
    ///
    /// # Errors
    /// When PHP refuses to start (its reasons are on standard error by then) or is another one
    /// than this program was compiled for.
    pub(crate) fn start(spec: &PhpSpec) -> anyhow::Result<Self> {
        ensure_compiled_for_it()?;
        let ini_path = spec.ini_file.as_ref().map(|path| CString::new(path.as_os_str().as_bytes()));
        let ini_path = ini_path.transpose().context("the path of php.ini contains a NUL")?;
        let has_no_locks = files::opcache_lacks_folder(spec);
        if has_no_locks {
            complain(format_args!(
                "opcache is off, as it cannot make a file for its locks in /tmp; \"opcache.lockfile_path\" names \
                another folder"
            ));
        }
        let ini_entries = settings::ini_entries(spec, if has_no_locks { WITHOUT_OPCACHE } else { "" });
        let sapi_name = spec.sapi_name.as_deref().unwrap_or(DEFAULT_SAPI_NAME);
        let sapi_name = CString::new(sapi_name).context("the SAPI name contains a NUL")?;
        let options = Options {
            host: &raw const HOST,
            trace: callbacks::trace,
            ini_path: ini_path.as_ref().map_or(ptr::null(), |path| path.as_ptr()),
            ini_entries: ini_entries.as_ptr(),
            sapi_name: sapi_name.as_ptr(),
            software: SOFTWARE.as_bytes().into(),
            compatible_names: spec.worker().is_none_or(|worker| worker.compatibility).into(),
            guard: spec.worker().map_or(ffi::Guard::Off, |worker| guard(worker.guard)),
        };
        // SAFETY: all strings live until the call returns, `host` is a static; and `SapiModule` is not
        // made twice, because only `PhpRuntime::load` makes one, once for each process.
        if unsafe { ffi::corral_module_start(&raw const options) } != 0 {
            bail!("PHP {} refused to start; it says why above", version());
        }
        // SAFETY: PHP is started.
        let has_opcache = unsafe { ffi::corral_opcache_active() != 0 };
        let module = Self { has_opcache, _thread: PhantomData };
        module.protect_settings(spec);
        Ok(module)
    }

    fn protect_settings(&self, spec: &PhpSpec) {
        for (name, value, mode) in all_settings(spec).filter(|(name, ..)| settings::is_kept(name)) {
            if !self.apply(name, value, mode) {
                complain_of(name, value);
            }
        }
    }

    /// Makes the settings that PHP was not started with.
    pub(crate) fn apply_late(&self, spec: &PhpSpec) {
        for (name, value, mode) in all_settings(spec).filter(|(name, ..)| PhpSpec::is_late(name)) {
            let (bytes, value_bytes) = (name.as_bytes().into(), value.as_bytes().into());
            // SAFETY: PHP is started, no request runs, and both strings outlive the call.
            if unsafe { ffi::corral_setting_apply_late(bytes, value_bytes, mode) } != 0 {
                complain_of(name, value);
            }
        }
    }

    /// The value of a setting; empty if there is none.
    pub(crate) fn setting(&self, name: &str) -> Vec<u8> {
        // SAFETY: PHP is started, and the name outlives the call.
        let value = unsafe { ffi::corral_setting_value(name.as_bytes().into()) };
        // SAFETY: so many bytes of PHP's, which are copied before the setting could change.
        unsafe { std::slice::from_raw_parts(value.data.cast::<u8>(), value.len) }.to_vec()
    }

    /// The files that settings were read from.
    pub(crate) fn ini_files(&self) -> Vec<PathBuf> {
        (0..2).flat_map(ini_files).collect()
    }

    fn apply(&self, name: &str, value: &str, mode: SettingMode) -> bool {
        // SAFETY: PHP is started, no request runs, and both strings outlive the call.
        unsafe { ffi::corral_setting_apply(name.as_bytes().into(), value.as_bytes().into(), mode) == 0 }
    }

    /// Whether requests can have a setting of their own.
    pub(crate) fn check(&self, name: &str, value: &str, mode: SettingMode) -> SettingCheck {
        // SAFETY: PHP is started, no request runs, and both strings outlive the call.
        unsafe { ffi::corral_setting_check(name.as_bytes().into(), value.as_bytes().into(), mode) }
    }

    /// To be called first in a forked child.
    pub(crate) fn forked(&mut self) {
        // SAFETY: PHP is started and no request runs.
        unsafe { ffi::corral_module_forked() };
    }

    /// Whether compiled scripts are cached.
    pub(crate) fn has_opcache(&self) -> bool {
        self.has_opcache
    }

    /// Has PHP forget where links on paths led.
    pub(crate) fn forget_paths(&self) {
        // SAFETY: PHP is started and no request runs.
        unsafe { ffi::corral_paths_forget() };
    }

    /// Makes a string that PHP can use in any number of requests.
    pub(crate) fn string(&self, text: &[u8]) -> PhpString {
        // SAFETY: PHP is started, and `text` is copied.
        let string = unsafe { ffi::corral_string_new(Slice::from(text)) };
        PhpString(NonNull::new(string).expect("PHP ends the process when it has no memory"))
    }
}

fn all_settings(spec: &PhpSpec) -> impl Iterator<Item = (&str, &str, SettingMode)> {
    let system = spec.admin.iter().map(|(name, value)| (&**name, &**value, SettingMode::System));
    let user = spec.user.iter().map(|(name, value)| (&**name, &**value, SettingMode::User));
    system.chain(user)
}

fn complain_of(name: &str, value: &str) {
    complain(format_args!("setting PHP option \"{name}: {value}\" failed"));
}

/// Names that PHP has joined by commas and line breaks.
fn ini_files(idx: usize) -> Vec<PathBuf> {
    // SAFETY: PHP is started.
    let names = unsafe { ffi::corral_ini_files(idx) };
    if names.is_null() {
        return Vec::new();
    }
    // SAFETY: a NUL-terminated string of PHP's that stays until PHP ends.
    let names = unsafe { CStr::from_ptr(names) }.to_bytes();
    let names = names.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

fn guard(configured: Guard) -> ffi::Guard {
    match configured {
        Guard::Off => ffi::Guard::Off,
        Guard::Report => ffi::Guard::Report,
        Guard::Restore => ffi::Guard::Restore,
        Guard::Recycle => ffi::Guard::Recycle,
    }
}

impl Drop for SapiModule {
    fn drop(&mut self) {
        // SAFETY: PHP was started by `start`, and no request runs.
        unsafe { ffi::corral_module_stop() };
    }
}

/// All PHP libraries call themselves `libphp.so`, so a system with two may load the wrong one where the files have no
/// version in their names to ask for. What cannot be found out is taken to be right.
pub(crate) fn ensure_compiled_for_it() -> anyhow::Result<()> {
    // SAFETY: asks the loader about a function of libphp.
    let library = unsafe { ffi::corral_php_library() };
    if library.is_null() {
        return Ok(());
    }
    // SAFETY: the loader's own NUL-terminated string, which stays while the library is loaded.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(library) }.to_bytes()));
    let built_for = Path::new(env!("CORRAL_PHP_LIBRARY"));
    let file = path.canonicalize().ok().and_then(|path| path.file_name().map(OsStr::to_owned));
    let is_it = file.is_none_or(|file| built_for.ends_with(file));
    ensure!(
        // In a rootfs the file itself is mounted where a link leads to it outside.
        is_it || is_same_file(path, built_for),
        "the system loaded the PHP library \"{}\", but this program was built for {}",
        path.display(),
        built_for.file_name().unwrap_or_default().display()
    );
    Ok(())
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
    identity(a).is_some_and(|found| identity(b) == Some(found))
}

/// A string in PHP's own form. Must not outlive the [`SapiModule`] that made it.
pub(crate) struct PhpString(NonNull<OpaqueString>);

impl PhpString {
    /// For the shim, which takes references of its own as it needs them.
    pub(crate) fn as_ptr(&self) -> *mut OpaqueString {
        self.0.as_ptr()
    }
}

impl Drop for PhpString {
    fn drop(&mut self) {
        // SAFETY: made by `corral_string_new` and released once, here.
        unsafe { ffi::corral_string_free(self.0.as_ptr()) };
    }
}
