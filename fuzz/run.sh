#!/bin/bash
# Runs every fuzz target for so many seconds, or those that are named.
#
#   fuzz/run.sh SECONDS [TARGET...]
#
# Needs a nightly Rust and cargo-fuzz (`cargo install cargo-fuzz`). Corpora stay in fuzz/corpus, what
# fails in fuzz/artifacts; both are ignored by git. Every target runs, also after one has failed.
set -u
cd "$(dirname "$0")" || exit 1

seconds=${1:?"usage: fuzz/run.sh SECONDS [TARGET...]"}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(sed -n 's/^name = "\([a-z]*_[a-z_]*\)"$/\1/p' Cargo.toml)
fi

failed=()
mkdir -p artifacts
for target in "${targets[@]}"; do
    echo "== $target"
    arguments=(-max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1)
    [ -f "dictionaries/${target%%_*}" ] && arguments+=("-dict=dictionaries/${target%%_*}")
    corpora=("corpus/$target")
    [ -d "seeds/$target" ] && corpora+=("seeds/$target")
    mkdir -p "corpus/$target"
    log=artifacts/$target.log
    if cargo +nightly fuzz run --fuzz-dir . "$target" "${corpora[@]}" -- "${arguments[@]}" >"$log" 2>&1; then
        grep '^stat::' "$log"
    else
        grep -A3 -E '^error|panicked at|ERROR: |Test unit written' "$log" | head -n 40
        echo "all of it: fuzz/$log"
        failed+=("$target")
    fi
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
echo "${#targets[@]} targets, no failure"
