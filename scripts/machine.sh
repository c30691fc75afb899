#!/usr/bin/env bash
# Builds the binary whose shared words are told to a virtual machine, and runs it.
#
#     scripts/machine.sh bench figure orthrus-12b --machine westmere_ex --threads 10,80
#     scripts/machine.sh --check     compiles the engines so, and runs nothing
#
# The build takes some minutes the first time and stands in target/machine, beside the others. The compiler
# puts a hook into each basic block of it, which counts instructions (docs/machine.md); without --target
# build scripts would have them, too.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=target/machine CARGO_PROFILE_QUICK_DEBUG=0
if [ "${1-}" = --check ]; then
    RUSTFLAGS="--cfg hotrow_machine -D warnings" exec cargo check --locked --target "$target" \
        -p hotrow-two-phase-locking -p hotrow-silo -p hotrow-serial -p hotrow-orthrus -p hotrow-partitioned \
        -p hotrow-dora -p hotrow-lads
fi
export RUSTC_WRAPPER=$PWD/scripts/machine_rustc.sh
export RUSTFLAGS="--cfg hotrow_machine -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=2 \
-Cllvm-args=-sanitizer-coverage-prune-blocks=0 -Cllvm-args=-sanitizer-coverage-trace-pc-guard \
-Clink-args=-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memcmp,--wrap=bcmp"
cargo build --locked --quiet --profile quick --target "$target" -p hotrow-cli
exec "$CARGO_TARGET_DIR/$target/quick/hotrow" "$@"
