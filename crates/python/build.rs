//! Says which Python this is built for, and where that one keeps what it consists of.
//!
//! `PYO3_PYTHON` names the interpreter, as for every program that is built with PyO3.

use std::path::Path;
use std::process::Command;

const HOW_TO_GET_PYTHON: &str = "corral-python needs the shared library and the headers of a Python from 3.9 on. On \
    Debian and Ubuntu: apt-get install python3-dev. For a Python elsewhere, built with --enable-shared, set \
    PYO3_PYTHON to it.";

/// Prints the executable, the version, the folder of headers, that of the shared library, then the folders of the
/// standard library and of packages.
const QUESTION: &str = "
import os, site, sys, sysconfig
print(sys.executable)
print('%d.%d' % sys.version_info[:2])
print(sysconfig.get_path('include'))
print(sysconfig.get_config_var('LIBDIR') or '')
paths = [sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib'), *site.getsitepackages(), *sys.path]
paths += ['/etc/python%d.%d' % sys.version_info[:2], '/usr/lib/python3']
paths += ['/usr/local/lib/python%d.%d' % sys.version_info[:2]]
print(os.pathsep.join(sorted({p for p in paths if os.path.isdir(p) and p != os.getcwd()})))
";

/// Where the loader looks for libraries by itself.
const USUAL_FOLDERS: [&str; 4] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];

fn main() {
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    if let Err(problem) = build() {
        println!("cargo::error={problem}. {HOW_TO_GET_PYTHON}");
    }
}

fn build() -> Result<(), String> {
    let config = pyo3_build_config::get();
    let program = config.executable().ok_or("no interpreter is configured")?;
    let output = Command::new(program).args(["-I", "-c", QUESTION]).output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    let answer = String::from_utf8(output.stdout).map_err(|error| format!("{program} answers {error}"))?;
    let [executable, version, headers, library_folder, folders] = answer.lines().collect::<Vec<_>>()[..]
    else {
        return Err(format!("{program} does not say what it consists of"));
    };
    println!("cargo::rerun-if-changed={executable}");
    println!("cargo::rerun-if-changed={headers}");
    let compiled_for = config.version().to_string();
    if compiled_for != version {
        return Err(format!(
            "PyO3 was compiled for Python {compiled_for}, but {program} is {version} by now; have it compiled again: \
             cargo clean -p pyo3-build-config -p pyo3-ffi -p pyo3 (with --release or --profile as for the build)"
        ));
    }
    println!("cargo::rustc-env=CORRAL_PYTHON_EXECUTABLE={executable}");
    println!("cargo::rustc-env=CORRAL_PYTHON_FOLDERS={folders}");
    let is_usual = USUAL_FOLDERS.iter().any(|usual| Path::new(library_folder).starts_with(usual));
    if !is_usual && !library_folder.is_empty() {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{library_folder}");
    }
    Ok(())
}
