#!/usr/bin/env bash
# node-postgres, the driver of JavaScript programs, with pg-cursor, pg-query-stream and pg-copy-streams:
# tests/clients/nodepg/checks.mjs.
#
#   tests/clients/nodepg.sh path/to/hotrow [names of checks]
#
# Needs node from version 18 on, and npm, which gets the packages into target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_node nodepg "$1" pg@8 pg-cursor@2 pg-query-stream@4 pg-copy-streams@7 -- "${@:2}"
