#!/usr/bin/env bash
# Runs the papers' figures on real and on virtual cores, and writes one page of what they show.
#
#     scripts/paper.sh DIR            everything, for the record
#     scripts/paper.sh DIR --quick    a look: small, short, once
#
# Builds the release and the binary that simulates, which takes a while the first time. Stopped, it goes
# on where it was. Behind DIR may stand names of figures instead of all, then what else goes to
# `hotrow bench paper`:
#
#     scripts/paper.sh DIR orthrus-4 orthrus-12b --quick
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { echo "usage: $0 DIR [FIGURE ...] [--quick ...]" >&2; exit 2; }
report=$1
shift
figures=()
while [ $# -gt 0 ] && [[ $1 != -* ]]; do
    figures+=("$1")
    shift
done
[ ${#figures[@]} -gt 0 ] || figures=(all)
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
cargo build --locked --quiet --release -p hotrow-cli
scripts/machine.sh --version >/dev/null
exec "${CARGO_TARGET_DIR:-target}/release/hotrow" bench paper "${figures[@]}" --report "$report" --commit "$commit" "$@"
