#!/usr/bin/env bash
# SQLAlchemy 2 over psycopg 3: tests/clients/sqlalchemy_checks.py.
#
#   tests/clients/sqlalchemy.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; SQLAlchemy is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
if [ ! -e "$tools/sqlalchemy/done" ]; then
    python3 -m venv "$tools/sqlalchemy"
    "$tools/sqlalchemy/bin/pip" install --quiet --disable-pip-version-check 'psycopg[binary]==3.3.*' 'SQLAlchemy==2.1.*'
    touch "$tools/sqlalchemy/done"
fi
serve "$1"
"$tools/sqlalchemy/bin/python" "$here/sqlalchemy_checks.py" "${@:2}"
