#!/usr/bin/env bash
# asyncpg, the driver of Python's asynchronous programs: tests/clients/asyncpg_checks.py.
#
#   tests/clients/asyncpg.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; asyncpg is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python asyncpg "$1" 'asyncpg==0.32.*' -- "${@:2}"
