#!/usr/bin/env bash
# Alembic over SQLAlchemy 2 and psycopg 3: tests/clients/alembic_checks.py.
#
#   tests/clients/alembic.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; Alembic is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python alembic "$1" 'psycopg[binary]==3.3.*' 'SQLAlchemy==2.1.*' 'alembic==1.*' -- "${@:2}"
