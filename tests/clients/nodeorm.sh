#!/usr/bin/env bash
# Migrations and queries of Node's tools: knex, drizzle (its migrator) and Sequelize, over node-postgres:
# tests/clients/nodeorm/checks.mjs.
#
#   tests/clients/nodeorm.sh path/to/hotrow [names of checks]
#
# Needs node from version 18 on, and npm, which gets the packages into target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
if [ ! -e "$tools/nodeorm/done" ]; then
    mkdir -p "$tools/nodeorm"
    npm install --silent --no-audit --no-fund --prefix "$tools/nodeorm" pg@8 knex@3 drizzle-orm@0.44 sequelize@6
    touch "$tools/nodeorm/done"
fi
serve "$1"
NODE_NO_WARNINGS=1 NODE_MODULES=$tools/nodeorm node "$here/nodeorm/checks.mjs" "${@:2}"
