#!/usr/bin/env bash
# Migrations and queries of Node's tools: knex, drizzle (its migrator) and Sequelize, over node-postgres:
# tests/clients/nodeorm/checks.mjs.
#
#   tests/clients/nodeorm.sh path/to/hotrow [names of checks]
#
# Needs node from version 18 on, and npm, which gets the packages into target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
check_node nodeorm "$1" pg@8 knex@3 drizzle-orm@0.44 sequelize@6 -- "${@:2}"
