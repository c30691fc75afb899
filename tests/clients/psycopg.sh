#!/usr/bin/env bash
# psycopg 3, the driver of Python programs: tests/clients/psycopg_checks.py.
#
#   tests/clients/psycopg.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; psycopg is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
if [ ! -e "$tools/psycopg/done" ]; then
    python3 -m venv "$tools/psycopg"
    "$tools/psycopg/bin/pip" install --quiet --disable-pip-version-check 'psycopg[binary]==3.3.*'
    touch "$tools/psycopg/done"
fi
serve "$1"
"$tools/psycopg/bin/python" "$here/psycopg_checks.py" "${@:2}"
