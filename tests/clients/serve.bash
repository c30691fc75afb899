# Sourced by the checks of clients: `serve path/to/hotrow` starts a server in memory on a free port, which ends
# with the script; behind the path may be a directory and options. A number instead is the port of a server that
# is there already, by which the same check can be held against PostgreSQL: `tests/clients/psycopg.sh 5432`.
# The server takes its settings from the environment: HOTROW_ENGINE=silo has a check run on that engine.
#
# CHECK_ALL=1 makes the checks go on behind a difference, and tell all of them. INSTALL_ONLY=1 installs what they need,
# and no more.

# What the names of lists and of expected texts end with, where an engine does not lock as it goes: there a transaction
# is run again when it commits, and may be told 40001, and statements without BEGIN are transactions of their own.
case ${HOTROW_ENGINE:-two_phase_locking} in two_phase_locking*) run_again= ;; *) run_again=_where_run_again ;; esac

work=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then kill "$server" 2> /dev/null && wait "$server" 2> /dev/null || true; fi
    rm -rf "$work"
}
trap stop EXIT

serve() {
    if [ -n "${INSTALL_ONLY:-}" ]; then exit 0; fi
    export PGHOST=127.0.0.1 PGUSER=tester PGDATABASE=app PGPORT
    if [[ $1 =~ ^[0-9]+$ ]]; then
        PGPORT=$1
        return
    fi
    local hotrow=$1
    shift
    [ $# -gt 0 ] || set -- --memory
    : > "$work/out" # a server before this one may have told its port there
    "$hotrow" serve "$@" --listen 127.0.0.1:0 > "$work/out" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        PGPORT=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/out")
        if [ -n "$PGPORT" ]; then return; fi
        sleep 0.1
    done
    echo "the server does not listen:" >&2
    cat "$work/out" >&2
    exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Where the checks keep what they install.
tools=$(cd "$here/../.." && pwd)/target/clients
mkdir -p "$tools"

# `check_python TOOL path/to/hotrow PACKAGES -- [names of checks]`: runs TOOL_checks.py with these packages of pip.
check_python() {
    local tool=$1 hotrow=$2 packages=()
    shift 2
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    if [ ! -e "$tools/$tool/done" ]; then
        python3 -m venv "$tools/$tool"
        "$tools/$tool/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
        touch "$tools/$tool/done"
    fi
    serve "$hotrow"
    "$tools/$tool/bin/python" "$here/${tool}_checks.py" "$@"
}

# `check_node TOOL path/to/hotrow PACKAGES -- [names of checks]`: runs TOOL/checks.mjs with these packages of npm.
check_node() {
    local tool=$1 hotrow=$2 packages=()
    shift 2
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    if [ ! -e "$tools/$tool/done" ]; then
        mkdir -p "$tools/$tool"
        npm install --silent --no-audit --no-fund --prefix "$tools/$tool" "${packages[@]}"
        touch "$tools/$tool/done"
    fi
    serve "$hotrow"
    NODE_NO_WARNINGS=1 NODE_MODULES=$tools/$tool node "$here/$tool/checks.mjs" "$@"
}
