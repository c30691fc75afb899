#!/usr/bin/env bash
# Checks of clients on every engine of the engine table, one after the other, each as often as it is named.
#
#   tests/clients/engines.sh path/to/hotrow [CHECK ...]
#   ENGINES="silo orthrus" tests/clients/engines.sh path/to/hotrow pgbench "drivers psycopg sqlalchemy"
#
# A CHECK is a script of this directory without its ending, with what it is given behind the path; without one: psql,
# pgbench, isolation and all drivers. A single check runs on another engine than the default by HOTROW_ENGINE=silo
# before it, since the server takes its settings from there; a variant is HOTROW_ENGINE=orthrus:lock_table=shared.
set -euo pipefail
hotrow=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- psql pgbench isolation drivers
# Each engine's line begins with its name; what is told of it is indented.
engines=${ENGINES:-$("$hotrow" engines | sed -n 's/^\([a-z_]*\) .*/\1/p')}
bad=0
for engine in $engines; do
    for check in "$@"; do
        read -ra words <<< "$check"
        began=$SECONDS
        if said=$(HOTROW_ENGINE=$engine "$here/${words[0]}.sh" "$hotrow" "${words[@]:1}" 2>&1); then
            echo "$engine: $check: passes, in $((SECONDS - began)) s"
        else
            printf '%s\n%s: %s: FAILS\n' "$said" "$engine" "$check" >&2
            bad=1
        fi
    done
done
exit $bad
