//! Compiles the C shim against the Ruby that `ruby` describes, and links its library.
//!
//! `CORRAL_RUBY` names another `ruby`, for a host of another version.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const HOW_TO_GET_RUBY: &str = "corral-ruby needs Ruby's headers and shared library. On Debian and Ubuntu: apt-get \
    install ruby-dev. For a Ruby elsewhere, built with --enable-shared, set CORRAL_RUBY to its ruby.";

fn main() {
    println!("cargo::rerun-if-env-changed=CORRAL_RUBY");
    println!("cargo::rerun-if-changed=shim");
    if let Err(problem) = build() {
        println!("cargo::error={problem}. {HOW_TO_GET_RUBY}");
    }
}

fn build() -> Result<(), String> {
    let ruby = Ruby { program: env::var("CORRAL_RUBY").unwrap_or_else(|_| "/usr/bin/ruby".to_owned()) };
    let folders = [ruby.ask("rubyhdrdir")?, ruby.ask("rubyarchhdrdir")?].map(PathBuf::from);
    if !folders[0].join("ruby.h").is_file() {
        return Err(format!("there is no {}", folders[0].join("ruby.h").display()));
    }
    // A folder's time says that something was put there, though packages keep the times of files.
    println!("cargo::rerun-if-changed={}", ruby.program);
    println!("cargo::rerun-if-changed={}", folders[0].display());
    compile(&folders);
    let name = ruby.ask("RUBY_SO_NAME")?;
    let library = ["libdir", "archlibdir"].iter().filter_map(|name| ruby.ask(name).ok()).map(PathBuf::from);
    let library = library.into_iter().find(|folder| folder.join(format!("lib{name}.so")).exists());
    let library = library.ok_or_else(|| format!("lib{name}.so is not installed"))?;
    println!("cargo::rustc-link-search=native={}", library.display());
    println!("cargo::rustc-link-lib=dylib={name}");
    // The gems of the user who builds are not part of what the language consists of.
    println!(
        "cargo::rustc-env=CORRAL_RUBY_FOLDERS={}",
        ruby.run("print $LOAD_PATH.join(':'), ':', (Gem.path - [Gem.user_dir]).join(':')")?
    );
    Ok(())
}

fn compile(headers: &[PathBuf]) {
    let mut shim = cc::Build::new();
    shim.files(["shim/corral_ruby.c", "shim/corral_exchange.c"]);
    for folder in headers {
        // As system headers: Ruby's own do not pass -Wextra.
        shim.flag("-isystem").flag(folder.to_str().expect("ruby printed it as UTF-8"));
    }
    shim.include("../embed/include");
    println!("cargo::rerun-if-changed=../embed/include");
    shim.std("gnu11").warnings(true).extra_warnings(true).flag("-Wno-unused-parameter");
    // A Rust frame between two C frames of ours must be found by unwinders and profilers.
    shim.flag("-fno-omit-frame-pointer").compile("corral_ruby");
}

struct Ruby {
    program: String,
}

impl Ruby {
    /// A value of its `RbConfig`.
    fn ask(&self, name: &str) -> Result<String, String> {
        self.run(&format!("print RbConfig::CONFIG['{name}']"))
    }

    /// The output of a program.
    fn run(&self, program: &str) -> Result<String, String> {
        let output = Command::new(&self.program).args(["-rrbconfig", "-e", program]).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program))?;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !answer.is_empty() {
            return Ok(answer);
        }
        Err(format!("{} has no answer to: {program}", self.program))
    }
}
