# The few commands of this project; each works from a clean clone. `make help` lists them.

export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# Of the PHP versions that can be built for, the first is that of `corral-php`; others get it in their name.
PHP_CONFIG ?= $(shell scripts/find-php)
other_php := $(wordlist 2,9,$(PHP_CONFIG))
php_version = $(shell $(1) --version | cut -d. -f1,2)
export CORRAL_PHP_CONFIG := $(firstword $(PHP_CONFIG) $(CORRAL_PHP_CONFIG))
FUZZ_SECONDS ?= 30
CHANGES ?= 2000
CHAOS_SECONDS ?= 60
CHAOS_CLIENTS ?= 10000
SOAK_SECONDS ?= 1200
LAB = python3 -m lab

PYTHON := $(shell scripts/find-python)
export PYO3_PYTHON := $(or $(PYTHON),$(PYO3_PYTHON))

PERL := $(shell scripts/find-perl)
export CORRAL_PERL := $(or $(PERL),$(CORRAL_PERL))

RUBY := $(shell scripts/find-ruby)
export CORRAL_RUBY := $(or $(RUBY),$(CORRAL_RUBY))

# Brings what the package for Node.js needs, and what the dashboard's page is built with.
NPM := $(shell command -v npm)

# What web applications in Java run on.
MAVEN := $(and $(shell command -v javac),$(shell command -v mvn))

# The host of a language is built where that language can be built against; everything else needs none of them.
packages = -p corral -p corral-wasm $(if $(PHP_CONFIG),-p corral-php) $(if $(PERL),-p corral-perl) $(if $(PYTHON),-p corral-python) $(if $(RUBY),-p corral-ruby)

.PHONY: help setup build install install-service deb deb-debian13 run check test manual test-debian13 php-tests changes chaos soak bench bench-quick lab fuzz

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install what the build needs (Debian 12 or 13; root or sudo)
	scripts/setup

# What is built is the same wherever and whenever it is built, and names no folder of that machine.
release_prefixes = $(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo $(CURDIR)=/corral
build changes chaos deb executables portable soak tank: export RUSTFLAGS := $(RUSTFLAGS) $(addprefix --remap-path-prefix=,$(release_prefixes))
build changes chaos deb executables portable soak tank: export CFLAGS := $(CFLAGS) $(addprefix -ffile-prefix-map=,$(release_prefixes))
# C compilers take it for `__DATE__` and `__TIME__`, which the allocator prints among its options. Always the same time, or
# else libraries in C, and all that needs them, would be compiled anew after each commit.
changes chaos executables portable soak tank: export SOURCE_DATE_EPOCH := 315532800

build: executables ## Build the release executables in target/release: corral, corral-LANGUAGE for each that can be built
	scripts/split-debug $(addprefix target/release/,$(executables)) $(call other_hosts,target/release)

.PHONY: executables
executables:
	$(if $(NPM),scripts/build-ui,@echo "left out: the dashboard's page, as there is no npm (Debian: npm)")
	rm -f target/release/corral-php[0-9]*
	$(foreach config,$(other_php),CORRAL_PHP_CONFIG=$(config) cargo build --release $(packages) && cp target/release/corral-php target/release/corral-php$(call php_version,$(config)) &&) cargo build --release $(packages)
	$(if $(PHP_CONFIG),,@echo "left out: corral-php, as there is no php-config with its headers and library (Debian: php-dev libphp-embed)")
	$(if $(MAVEN),scripts/build-java target/release,@echo "left out: corral-java, as there is no JDK or no Maven (Debian: default-jdk-headless maven)")
	$(if $(PERL),,@echo "left out: corral-perl, as there is no Perl with a shared library and headers (Debian: libperl-dev)")
	$(if $(RUBY),,@echo "left out: corral-ruby, as there is no Ruby with a shared library and headers (Debian: ruby-dev)")
	$(if $(PYTHON),,@echo "left out: corral-python, as there is no Python with a shared library and headers (Debian: python3-dev)")

# For systems that are older than this one: scripts/tarball calls it in a root with an old C library. PCRE2 is within.
.PHONY: portable
portable:
	PCRE2_SYS_STATIC=1 cargo build --release --target-dir target/portable -p corral -p corral-wasm

PREFIX ?= /usr/local
# Where what is copied was built, and what copies executables: stripped, unless a package keeps what is stripped.
BUILT ?= target/release
INSTALL_PROGRAM ?= install -s
executables = $(patsubst -p,,$(packages))
# Hosts of further versions of PHP.
other_hosts = $(filter-out %.debug,$(wildcard $(1)/corral-php[0-9]*))
share = $(DESTDIR)$(PREFIX)/share

install: install-service ## Copy what `make build` has built to PREFIX (/usr/local): executables, manual pages, completions, systemd's units, packages for applications
	install -d $(DESTDIR)$(PREFIX)/bin $(addprefix $(share)/,corral/node corral/go corral/welcome)
	$(INSTALL_PROGRAM) $(addprefix $(BUILT)/,$(executables)) $(call other_hosts,$(BUILT)) $(DESTDIR)$(PREFIX)/bin
	$(BUILT)/corral man $(share)/man/man1
	install -d $(addprefix $(share)/,bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	$(BUILT)/corral completion bash >$(share)/bash-completion/completions/corral
	$(BUILT)/corral completion zsh >$(share)/zsh/site-functions/_corral
	$(BUILT)/corral completion fish >$(share)/fish/vendor_completions.d/corral.fish
	install -m 644 packaging/welcome/page/index.html $(share)/corral/welcome
	install -m 644 sdk/node/package.json sdk/node/README.md sdk/node/*.js sdk/node/*.mjs $(share)/corral/node
	$(if $(NPM),cd $(share)/corral/node && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error,@echo "left out: the package \"websocket\" of share/corral/node, as there is no npm (Debian: npm)")
	install -m 644 sdk/go/go.mod sdk/go/README.md $(filter-out %_test.go,$(wildcard sdk/go/*.go)) $(share)/corral/go
	$(if $(wildcard $(BUILT)/corral-java/launcher.jar),rm -rf $(share)/corral/java && cp -r $(BUILT)/corral-java $(share)/corral/java)

# From executables that have their debug data, for packages of it.
deb: executables ## Make packages of Debian for the release that this machine runs, in target/packages
	scripts/package deb

deb-debian13: ## Make packages for Debian 13 in a root of it, to be tried, from hosts that scripts/check-debian has built there (root)
	scripts/package-in-root 13 target/debian13/bin target/packages

units = $(DESTDIR)$(PREFIX)/lib/systemd/system

# The units name the executable in PREFIX.
install-service:
	install -D -m 644 packaging/systemd/corral.sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/corral.conf
	install -D -m 644 -t $(units) packaging/systemd/corral.service packaging/systemd/corral.socket
	sed -i 's,/usr/bin/corral,$(PREFIX)/bin/corral,' $(units)/corral.service

run: ## Build what examples/welcome needs, and serve it at http://127.0.0.1:8080: minutes the first time
	@scripts/first-run

check: ## Check a change in a minute or two: format, lint, house rules, and the tests that it touches
	CARGO_INCREMENTAL=1 scripts/check fmt lint changed

test: ## Run every check that CI runs
	scripts/setup test
	scripts/check

test-debian13: ## Build what depends on the system in a root of Debian 13, and run its suites there (an hour; root)
	scripts/setup test
	scripts/check debian13_suites

manual: ## Build the manual as a book in target/book, and as one page for printers in target/book/print.html
	scripts/setup manual
	mdbook build docs

php-tests: ## Run PHP's own test files as web requests beside php-cgi, classic and as a worker (an hour); LAB_ARGS="--only 'ext/session/*'"
	scripts/setup test
	@$(MAKE) --no-print-directory build
	$(LAB).php_tests --all $(LAB_ARGS)

changes: build ## Change the configuration CHANGES times (2000) under load, and look for what is lost or left behind
	CORRAL_BIN_DIR=$(CURDIR)/target/release CORRAL_CHANGES=$(CHANGES) \
	    cargo test --release -p corral-testkit --test chaos -- --nocapture changes::

chaos: build ## Break things on purpose under load, CHAOS_SECONDS (60) for each kind; CHAOS_CLIENTS (10000) slow clients
	CORRAL_BIN_DIR=$(CURDIR)/target/release CORRAL_CHAOS_SECONDS=$(CHAOS_SECONDS) \
	    CORRAL_CHAOS_CLIENTS=$(CHAOS_CLIENTS) \
	    cargo test --release -p corral-testkit --test chaos -- --nocapture --test-threads 1

soak: build ## Serve the same for SOAK_SECONDS (1200) with restarts and killed workers: nothing may grow
	CORRAL_BIN_DIR=$(CURDIR)/target/release CORRAL_SOAK_SECONDS=$(SOAK_SECONDS) \
	    cargo test --release -p corral-testkit --test chaos -- --nocapture soak

# What a variable names; 1 stands for all.
only = $(if $(filter-out 1,$(1)),--only $(1))

bench: bench-build ## Compare with nginx + php-fpm and Apache (an hour); LAB_ARGS="--rounds 5"; LANGS=1 or LANGS=python: with servers of the languages; PHP_WORKER=1: PHP that stays in memory
	$(if $(PHP_WORKER),$(LAB).php_worker $(call only,$(PHP_WORKER)),$(if $(LANGS),$(LAB).languages $(call only,$(LANGS)),$(LAB))) $(LAB_ARGS)

bench-quick: bench-build ## The same in few minutes, with less certainty
	$(LAB) --quick $(LAB_ARGS)

.PHONY: bench-build
bench-build:
	scripts/setup bench
	@$(MAKE) --no-print-directory build

lab: bench-build tank ## Corral beside the web servers of five articles, in one page of HTML (up to three hours); LAB_ARGS=--quick: in 20 minutes
	$(LAB) seeds $(LAB_ARGS)

.PHONY: tank
tank:
	cargo build --release -p corral-tank

fuzz: ## Fuzz each target for FUZZ_SECONDS (needs cargo-fuzz and a nightly Rust)
	fuzz/run.sh $(FUZZ_SECONDS)
