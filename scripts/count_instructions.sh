#!/usr/bin/env bash
# Instructions per committed transaction on every engine, counted by valgrind's callgrind.
#
#   scripts/count_instructions.sh [N]          N: transactions of the shorter run, default 5000
#
# Runs each benchmark with N and with 2N transactions (one thread where the engine can, fixed seed, no
# checks), counts what the workers do from fetching a call to its answer, and divides the difference by
# that of commits: what is done once cancels out. Time and other programs do not matter, so two versions
# of the code can be compared on a busy machine. What is counted includes the driver: generating a call
# and keeping its latency, 1,300 to 1,600 instructions for the two workloads.
#
# HOTROW=path of the binary to use; without it, the release build is made and used.
# WORKLOADS="..." of: tpcc ycsb tatp.   ENGINES="..." as --engine takes them.
set -euo pipefail
cd "$(dirname "$0")/.."

n=${1:-5000}
for tool in valgrind awk; do
    command -v "$tool" >/dev/null || { echo "$0: $tool is not installed" >&2; exit 1; }
done
if [[ -z ${HOTROW:-} ]]; then
    cargo build --release --quiet -p hotrow-cli
    HOTROW=${CARGO_TARGET_DIR:-target}/release/hotrow
fi
workloads=${WORKLOADS:-tpcc ycsb tatp}
engines=${ENGINES:-$("$HOTROW" engines | awk '$1 == "--engine" { print $2 }')}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# turn_of ENGINE: whose turns are counted. Callgrind takes one pattern.
turn_of() {
    case $1 in
        *scheme=spinlocks*) echo 'hotrow_*::worker::Worker*::turn' ;;
        *scheme=* | dora*) echo '*hotrow_*::thread::Thread*::turn' ;;
        *) echo 'hotrow_*::worker::Worker*::turn' ;;
    esac
}

# threads_of ENGINE: the fewest that it runs with. Of two, those that run calls are counted.
threads_of() {
    case $1 in
        orthrus*) echo 2 ;;
        *) echo 1 ;;
    esac
}

# run WORKLOAD ENGINE TRANSACTIONS: prints instructions and commits
run() {
    local options=()
    case $1 in
        tpcc) options=(tpcc --warehouses 1 --set mix=np) ;;
        ycsb) options=(ycsb --set records=100000) ;;
        tatp) options=(tatp) ;;
        *) echo "$0: no workload $1" >&2; exit 1 ;;
    esac
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --log-file="$scratch/log" \
        --toggle-collect="$(turn_of "$2")" \
        "$HOTROW" bench "${options[@]}" --engine "$2" --threads "$(threads_of "$2")" --transactions "$3" \
        --seed 1 --no-pin --no-checks --quiet --memory 4 --json "$scratch/json" >/dev/null
    local instructions commits
    instructions=$(awk '$1 == "totals:" || $1 == "summary:" { print $2; exit }' "$scratch/out")
    if ((instructions == 0)); then
        echo "$0: nothing was counted: is Worker::turn or Thread::turn inlined?" >&2
        exit 1
    fi
    local runs
    runs=$(grep -c '^    "committed"' "$scratch/json")
    if ((runs != 1)); then
        echo "$0: $2 is $runs engines, each in settings of its own; count one of those that \`hotrow engines\` lists" >&2
        exit 1
    fi
    commits=$(awk -F '[:,]' '/^    "committed"/ { print $2 + 0; exit }' "$scratch/json")
    echo "$instructions $commits"
}

printf '%-8s %-46s %16s\n' workload engine 'instructions/txn'
for workload in $workloads; do
    for engine in $engines; do
        read -r i1 c1 <<<"$(run "$workload" "$engine" "$n")"
        read -r i2 c2 <<<"$(run "$workload" "$engine" $((2 * n)))"
        printf '%-8s %-46s %16d\n' "$workload" "$engine" $(((i2 - i1) / (c2 - c1)))
    done
done
