#!/usr/bin/env bash
# pgx and lib/pq, the drivers of Go programs: tests/clients/pgx/main.go.
#
#   tests/clients/pgx.sh path/to/hotrow [names of checks]
#
# Needs go, which gets the drivers' modules.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
(cd "$here/pgx" && go build -o "$tools/pgx-checks" .)
serve "$1"
PGSSLMODE=disable "$tools/pgx-checks" "${@:2}"
