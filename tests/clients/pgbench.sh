#!/usr/bin/env bash
# pgbench, as PostgreSQL ships it, against a durable server: it fills its tables, runs its scripts in
# all protocols, and the sums of TPC-B agree afterwards, also behind a kill and a recovery.
#
#   tests/clients/pgbench.sh path/to/hotrow [seconds per run] [scale]
#   HOTROW_ENGINE=silo tests/clients/pgbench.sh path/to/hotrow
#
# Needs pgbench and psql (Debian: postgresql-contrib, postgresql-client); fails without them.
set -euo pipefail
hotrow=$1 seconds=${2:-1} scale=${3:-1}
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)"

for tool in pgbench psql; do
    if ! command -v "$tool" > /dev/null; then
        echo "$tool is missing: install PostgreSQL's client tools, on Debian by" >&2
        echo "    apt-get install postgresql-client postgresql-contrib" >&2
        exit 1
    fi
done

source "$(dirname "$0")/serve.bash"

fail() {
    echo "$1" >&2
    exit 1
}

# The rows that there have to be, and the four sums, which have to be one.
check() {
    local rows sums
    rows=$(psql -XAtc "SELECT count(*) FROM pgbench_accounts")
    [ "$rows" = $((scale * 100000)) ] || fail "$1: $rows accounts"
    sums=$(psql -XAt \
        -c "SELECT sum(abalance) FROM pgbench_accounts" \
        -c "SELECT sum(tbalance) FROM pgbench_tellers" \
        -c "SELECT sum(bbalance) FROM pgbench_branches" \
        -c "SELECT sum(delta) FROM pgbench_history")
    [ "$(sort -u <<< "$sums" | wc -l)" = 1 ] || fail "$1: the sums are" $sums
    echo "$1: $rows accounts, sums $(head -1 <<< "$sums")"
}

# Where statements lock what they touch, no transaction fails. Elsewhere pgbench repeats those that are told 40001.
tries=1
if [ -n "$run_again" ]; then tries=100; fi

export PGOPTIONS=
serve "$hotrow" "$work/db"
disown "$server" # that it is killed is no news
pgbench --quiet -i -s "$scale" 2> "$work/init" || { cat "$work/init" >&2; exit 1; }
run() {
    local out
    out=$(pgbench "$@" -T "$seconds" -j 2 --max-tries "$tries" 2>&1) || fail "pgbench $*: $out"
    grep -q "number of failed transactions: 0 " <<< "$out" || fail "pgbench $*: $out"
    echo "pgbench $*: $(sed -n -e 's/^tps = \([0-9]*\).*/\1 a second/p' \
        -e 's/^number of transactions retried: \([1-9][0-9]*\).*/\1 repeated,/p' <<< "$out" | paste -sd' ')"
}

for mode in simple extended prepared; do
    for clients in 1 16; do
        # Without -n: it says VACUUM and TRUNCATE first.
        run -b tpcb-like -M "$mode" -c "$clients"
        run -n -b select-only -M "$mode" -c "$clients"
        # Each run has emptied the history: compare from new tables on.
        pgbench --quiet -i -s "$scale" --foreign-keys 2> "$work/init" || fail "$(cat "$work/init")"
    done
done
run -n -b tpcb-like -M prepared -c 16
check "after the runs"
before=$(psql -XAtc "SELECT sum(delta) FROM pgbench_history")
kill -9 "$server"
while kill -0 "$server" 2> /dev/null; do sleep 0.1; done
serve "$hotrow" "$work/db"
check "after a kill"
after=$(psql -XAtc "SELECT sum(delta) FROM pgbench_history")
[ "$before" = "$after" ] || fail "the history's sum was $before and is $after"
run -n -b simple-update -M simple -c 4
