#!/usr/bin/env bash
# Instructions that a server takes for one statement of a client, counted by valgrind's callgrind.
#
#   scripts/count_server_instructions.sh [N]     N: statements of the shorter run, default 2000
#
# A client (pgbench, one connection) sends a prepared CALL of a procedure that updates one row, and the
# same row's SELECT in the simple protocol, N and 2N times to a server with one thread. Counted is what
# the connection's thread does from reading a message to writing its answer, and the worker's turn, but
# not how either waits for the other: that depends on the machine. What is done once cancels out in
# the difference. So two versions of the code can be compared on a busy machine.
#
# HOTROW=path of the binary to use; without it, the release build is made and used.
set -euo pipefail
cd "$(dirname "$0")/.."

n=${1:-2000}
for tool in valgrind awk pgbench psql; do
    command -v "$tool" >/dev/null || { echo "$0: $tool is not installed" >&2; exit 1; }
done
if [[ -z ${HOTROW:-} ]]; then
    cargo build --release --quiet -p hotrow-cli
    HOTROW=${CARGO_TARGET_DIR:-target}/release/hotrow
fi
scratch=$(mktemp -d)
server=
end() {
    [[ -z $server ]] || kill "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap end EXIT
client=(-h 127.0.0.1 -p "${PORT:-5599}" -U hotrow)

cat >"$scratch/definitions.sql" <<'SQL'
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL, name text);
CREATE PROCEDURE add(a bigint, by bigint) LANGUAGE plpgsql AS $$
BEGIN UPDATE counter SET n = n + by WHERE id = a; END $$;
INSERT INTO counter VALUES (1, 0, 'one'), (2, 0, 'two'), (3, 0, 'three');
SQL
echo 'CALL add(2, 1);' >"$scratch/call.sql"
echo 'SELECT n, name FROM counter WHERE id = 2;' >"$scratch/select.sql"

# run MODE STATEMENT COUNT: prints instructions
run() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --log-file="$scratch/log" \
        "$HOTROW" serve --memory --insecure-no-passwords --threads 1 \
        --listen "127.0.0.1:${PORT:-5599}" >"$scratch/server" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        psql "${client[@]}" -d hotrow -qc 'SELECT 1' >/dev/null 2>&1 && break
        kill -0 "$server" 2>/dev/null || { cat "$scratch/server" >&2; exit 1; }
        sleep 0.1
    done
    psql "${client[@]}" -d hotrow -q -v ON_ERROR_STOP=1 -f "$scratch/definitions.sql"
    pgbench "${client[@]}" -n -M "$1" -f "$scratch/$2.sql" -t "$3" -c 1 hotrow >"$scratch/client" 2>&1 ||
        { cat "$scratch/client" >&2; exit 1; }
    kill "$server"
    wait "$server" || true
    server=
    # Its warnings are of lines of code that it does not find.
    callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$scratch/out" \
        >"$scratch/functions" 2>/dev/null
    # The first line that names a function as its own is that of its inclusive cost.
    awk -v mode="$1" '
        function cost(name) { return index($0, name) && !index($0, "=>") && $0 ~ /\[[^\]]*\]$/ }
        { gsub(/,/, "", $1) }
        !answer && cost("Conversation::answer_message ") { answer = $1 }
        !read && cost("Incoming::message") { read = $1 }
        !turn && cost("Worker<R>::turn ") { turn = $1 }
        !wait && cost("ReplySlot<T>::wait_at_most ") { wait = $1 }
        END {
            # Where the engine locks as it goes, the connection runs a single statement itself.
            if (!answer || !read || (mode == "prepared" && (!turn || !wait))) exit 1
            print answer + read + turn - wait
        }' "$scratch/functions" || { echo "$0: a function that is counted is not there" >&2; exit 1; }
}

for kind in "prepared call" "simple select"; do
    read -r mode statement <<<"$kind"
    shorter=$(run "$mode" "$statement" "$n")
    longer=$(run "$mode" "$statement" $((2 * n)))
    printf '%-9s %-7s %6d instructions a statement\n' "$mode" "$statement" $(((longer - shorter) / n))
done
