#!/usr/bin/env bash
# psycopg 3, the driver of Python programs: tests/clients/psycopg_checks.py.
#
#   tests/clients/psycopg.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; psycopg is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python psycopg "$1" 'psycopg[binary]==3.3.*' -- "${@:2}"
