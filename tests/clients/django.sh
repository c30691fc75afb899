#!/usr/bin/env bash
# Django 5 over psycopg 3: tests/clients/django_checks.py.
#
#   tests/clients/django.sh path/to/hotrow [names of checks]
#
# Needs python3 with venv; Django is installed by pip under target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_python django "$1" 'psycopg[binary]==3.3.*' 'Django==5.2.*' -- "${@:2}"
