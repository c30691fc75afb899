#!/usr/bin/env bash
# pg_dump of a database that has one of everything: restored into Hotrow and into PostgreSQL, unchanged and without an
# error, with equal rows; and what PostgreSQL dumps then, restored into Hotrow. dumps/shop.sql is the database.
#
#   tests/clients/dumps.sh path/to/hotrow
#
# Needs pg_dump and psql (Debian: postgresql-client) and fails without them. Where there is no server of PostgreSQL
# (Debian: postgresql), what is asked of one is left out, and that is said.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
if [ -n "${INSTALL_ONLY:-}" ]; then exit 0; fi
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)"
for tool in pg_dump psql; do
    command -v $tool > /dev/null || {
        echo "$tool is missing: apt-get install postgresql-client" >&2
        exit 1
    }
done
python3 "$here/dumps.py" "$1"
