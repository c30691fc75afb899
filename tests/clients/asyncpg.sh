#!/usr/bin/env bash
# asyncpg, the driver of Python's asynchronous programs: tests/clients/asyncpg_checks.py.
#
#   tests/clients/asyncpg.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; asyncpg is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
if [ ! -e "$tools/asyncpg/done" ]; then
    python3 -m venv "$tools/asyncpg"
    "$tools/asyncpg/bin/pip" install --quiet --disable-pip-version-check 'asyncpg==0.32.*'
    touch "$tools/asyncpg/done"
fi
serve "$1"
"$tools/asyncpg/bin/python" "$here/asyncpg_checks.py" "${@:2}"
