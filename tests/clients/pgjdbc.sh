#!/usr/bin/env bash
# pgjdbc, the driver of Java programs: tests/clients/pgjdbc/Checks.java.
#
#   tests/clients/pgjdbc.sh path/to/hotrow [names of checks]
#
# Needs a JDK from version 17 on and mvn, which gets the driver from Maven Central into target/clients.
set -euo pipefail
source "$(dirname "$0")/serve.bash"
version=42.7.14
jar=$tools/pgjdbc/postgresql-$version.jar
if [ ! -e "$jar" ]; then
    # Its colours are not for whoever reads what the checks say.
    mvn --quiet --batch-mode dependency:copy -Dartifact=org.postgresql:postgresql:$version \
        -DoutputDirectory="$tools/pgjdbc" > "$tools/mvn.log" 2>&1 || { cat "$tools/mvn.log" >&2; exit 1; }
fi
serve "$1"
# Somewhere else than where the server counts its days: the driver sends the machine's zone.
java -Duser.timezone=America/New_York -XX:TieredStopAtLevel=1 -cp "$jar" "$here/pgjdbc/Checks.java" "${@:2}"
