#!/usr/bin/env bash
# Drivers of other languages, each against a server of its own: psycopg, asyncpg, SQLAlchemy, Alembic, Django and
# pgcli (Python), pgjdbc (Java), node-postgres, knex, drizzle and Sequelize (JavaScript), pgx and lib/pq (Go). Each check says
# what PostgreSQL 15 does: `tests/clients/X.sh 5432` holds it against one. What Hotrow does not do yet stands in gaps.txt, which has to be true: a check that fails and
# is not listed fails this script, and so does one that is listed and passes. With HOTROW_ENGINE=silo or another that does
# not lock as it goes, gaps_where_run_again.txt is more of that list.
#
#   tests/clients/drivers.sh path/to/hotrow [drivers]
#
# Needs python3 with venv, node with npm, java with mvn, go; what they talk through is installed under target/clients.
set -euo pipefail
hotrow=$(realpath "$1")
shift
source "$(dirname "$0")/serve.bash"
gaps=("$here/gaps.txt")
if [ -n "$run_again" ]; then gaps+=("$here/gaps$run_again.txt"); fi
[ $# -gt 0 ] || set -- psycopg asyncpg sqlalchemy alembic django pgcli pgjdbc nodepg nodeorm pgx
if [ -n "${INSTALL_ONLY:-}" ]; then
    for driver in "$@"; do "$here/$driver.sh" "$hotrow"; done
    exit
fi
bad=0
for driver in "$@"; do
    said=$(CHECK_ALL=1 "$here/$driver.sh" "$hotrow" 2>&1) || true
    if ! grep -q "^$driver: [0-9]* checks" <<< "$said"; then
        printf '%s\n%s: its checks did not run to their end\n' "$said" "$driver" >&2
        exit 1
    fi
    failed=$(sed -n "s/^$driver: FAILED \([a-z_]*\):.*/\1/p" <<< "$said" | sort -u)
    known=$(awk -v driver="$driver" '$1 == driver { print $2 }' "${gaps[@]}" | sort -u)
    passed=$(sed -n "s/^$driver: \([a-z_]*\): .*/\1/p" <<< "$said" | sort -u)
    for name in $(comm -23 <(echo "$failed") <(echo "$known")); do
        grep "^$driver: FAILED $name:" <<< "$said" >&2
        bad=1
    done
    for name in $(comm -13 <(echo "$failed") <(echo "$known")); do
        echo "$driver: $name is listed as a gap and passes: take it out of ${gaps[*]##*/}" >&2
        bad=1
    done
    echo "$driver: $(wc -w <<< "$passed") checks pass; known gaps: $(wc -w <<< "$known")"
done
exit $bad
