#!/usr/bin/env bash
# PostgreSQL's isolationtester: sessions whose steps take turns in a given order, and what each is told. The
# specs in isolation/specs are our own, of the anomalies that databases are known for; isolation/expected is
# what Hotrow says, read and found serializable; isolation/README.md lists what PostgreSQL says otherwise.
# isolation/expected_where_run_again is what engines say that do not lock as they go: one text for all of them.
#
#   tests/clients/isolation.sh path/to/hotrow [specs]
#   HOTROW_ENGINE=silo tests/clients/isolation.sh path/to/hotrow [specs]
#
# ACCEPT=1 takes what is said now for what is expected. A port in place of the path: a server that is there.
# Needs isolationtester (Debian: postgresql-client, under lib/pgxs); fails without it.
set -euo pipefail
hotrow=$1
shift
tester=$(ls /usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester 2> /dev/null | tail -1) || true
[ -n "$tester" ] || {
    echo "isolationtester is missing: apt-get install postgresql-client" >&2
    exit 1
}
source "$(dirname "$0")/serve.bash"
serve "$hotrow"
expected=$here/isolation/expected$run_again
[ $# -gt 0 ] || set -- $(cd "$here/isolation/specs" && ls | sed 's/\.spec$//')
bad=0
for spec in "$@"; do
    timeout 120 "$tester" "host=127.0.0.1 port=$PGPORT user=tester dbname=app" \
        < "$here/isolation/specs/$spec.spec" > "$work/$spec.out" 2>&1 || echo "isolationtester: $?" >> "$work/$spec.out"
    if [ -n "${ACCEPT:-}" ]; then cp "$work/$spec.out" "$expected/"; fi
    # Of two that wait for each other the one that notices first fails: that has several texts, as PostgreSQL's tests have.
    known=$expected/$spec.out
    for other in "$expected/$spec"_[1-9].out; do
        if cmp --silent "$other" "$work/$spec.out"; then known=$other; fi
    done
    if diff -u "$known" "$work/$spec.out"; then
        echo "isolation: $spec: $(grep -c '^starting permutation' "$work/$spec.out") permutations"
    else
        bad=1
    fi
done
exit $bad
