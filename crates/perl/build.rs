//! Compiles the C shim against the Perl that `perl` describes, and links its library.
//!
//! `CORRAL_PERL` names another `perl`, for a host of another version.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOW_TO_GET_PERL: &str = "corral-perl needs Perl's headers and shared library. On Debian and Ubuntu: apt-get \
    install libperl-dev. For a Perl elsewhere, built with -Duseshrplib, set CORRAL_PERL to its perl.";

fn main() {
    println!("cargo::rerun-if-env-changed=CORRAL_PERL");
    println!("cargo::rerun-if-changed=shim");
    if let Err(problem) = build() {
        println!("cargo::error={problem}. {HOW_TO_GET_PERL}");
    }
}

fn build() -> Result<(), String> {
    let perl = Perl { program: env::var("CORRAL_PERL").unwrap_or_else(|_| "/usr/bin/perl".to_owned()) };
    let folder = PathBuf::from(perl.ask("archlibexp")?).join("CORE");
    if !folder.join("perl.h").is_file() {
        return Err(format!("there is no {}", folder.join("perl.h").display()));
    }
    // A folder's time says that something was put there, though packages keep the times of files.
    println!("cargo::rerun-if-changed={}", perl.program);
    println!("cargo::rerun-if-changed={}", folder.display());
    compile(&folder, &perl.ask("ccflags")?);
    let library = perl.ask("libperl")?;
    let folders = perl.ask("libpth")?;
    let found = folders
        .split(' ')
        .map(Path::new)
        .chain([folder.as_path()])
        .find(|dir| dir.join("libperl.so").exists());
    let found = found.ok_or_else(|| format!("{library} is not installed with its development files"))?;
    println!("cargo::rustc-link-search=native={}", found.display());
    println!("cargo::rustc-link-lib=dylib=perl");
    println!("cargo::rustc-env=CORRAL_PERL_FOLDERS={}", perl.run("print join ':', grep { m{^/} } @INC")?);
    Ok(())
}

fn compile(headers: &Path, flags: &str) {
    let mut shim = cc::Build::new();
    shim.file("shim/corral_perl.c");
    // As system headers: Perl's own do not pass -Wextra.
    shim.flag("-isystem").flag(headers.to_str().expect("perl printed it as UTF-8"));
    // The layout of Perl's structures depends on them.
    for flag in flags.split_whitespace().filter(|flag| flag.starts_with("-D")) {
        shim.flag(flag);
    }
    shim.include("../embed/include");
    println!("cargo::rerun-if-changed=../embed/include");
    shim.std("gnu11").warnings(true).extra_warnings(true).flag("-Wno-unused-parameter");
    shim.flag("-fwrapv").flag("-fno-strict-aliasing");
    // A Rust frame between two C frames of ours must be found by unwinders and profilers.
    shim.flag("-fno-omit-frame-pointer").compile("corral_perl");
}

struct Perl {
    program: String,
}

impl Perl {
    /// A value of its `Config`.
    fn ask(&self, name: &str) -> Result<String, String> {
        self.run(&format!("print $Config{{{name}}} // ''"))
    }

    /// The output of a program.
    fn run(&self, program: &str) -> Result<String, String> {
        let output = Command::new(&self.program).args(["-MConfig", "-e", program]).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program))?;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !answer.is_empty() {
            return Ok(answer);
        }
        Err(format!("{} has no answer to: {program}", self.program))
    }
}
