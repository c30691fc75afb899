#!/usr/bin/env bash
# SQLAlchemy 2 over psycopg 3: tests/clients/sqlalchemy_checks.py.
#
#   tests/clients/sqlalchemy.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; SQLAlchemy is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python sqlalchemy "$1" 'psycopg[binary]==3.3.*' 'SQLAlchemy==2.1.*' -- "${@:2}"
