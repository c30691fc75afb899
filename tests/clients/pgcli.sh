#!/usr/bin/env bash
# pgcli: commands as people type them, and all that it asks to complete them: tests/clients/pgcli_checks.py.
#
#   tests/clients/pgcli.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; pgcli is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python pgcli "$1" 'pgcli==4.7.*' 'psycopg[binary]==3.3.*' -- "${@:2}"
