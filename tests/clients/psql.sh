#!/usr/bin/env bash
# psql, as PostgreSQL ships it: a script with COPY, the whole \d family, and errors that leave the
# connection as it was; over the network and over a local socket.
#
#   tests/clients/psql.sh path/to/hotrow
#
# Needs psql (Debian: postgresql-client); fails without it.
set -euo pipefail
hotrow=$1
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)"
command -v psql > /dev/null || {
    echo "psql is missing: apt-get install postgresql-client" >&2
    exit 1
}

source "$(dirname "$0")/serve.bash"
serve "$hotrow" --memory --socket-directory "$work"

psql -X -q -v ON_ERROR_STOP=1 > "$work/shown" 2> "$work/errors" << 'SQL' || { cat "$work/errors"; exit 1; }
CREATE TABLE place (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE);
CREATE TABLE seat (id bigint PRIMARY KEY, place_id int NOT NULL REFERENCES place (id),
    price numeric(8,2) DEFAULT 9.50 CHECK (price > 0), taken boolean, at timestamptz DEFAULT now());
CREATE INDEX seat_place ON seat (place_id);
CREATE FUNCTION twice(n bigint) RETURNS bigint AS $$ BEGIN RETURN n * 2; END $$ LANGUAGE plpgsql;
COPY place FROM stdin WITH (FORMAT csv, HEADER);
id,name
1,"stalls, left"
2,balcony
\.
INSERT INTO seat (id, place_id) SELECT g, g % 2 + 1 FROM generate_series(1, 1000) g;
\d
\d place
\d+ seat
\d seat_place
\dt
\di
\df
\dv
\ds
\dn
\du
\dp
\dT
\dx
\l
\dt+
\di+
\df+
\d *
\copy (SELECT p.name, count(*) FROM seat s JOIN place p ON p.id = s.place_id GROUP BY p.name) TO stdout csv
SELECT count(*) FROM information_schema.columns WHERE table_name = 'seat' \gdesc
SHOW server_version;
SQL
if [ -s "$work/errors" ]; then
    cat "$work/errors" >&2
    exit 1
fi
for expected in 'Table "public.seat"' '"seat_pkey" PRIMARY KEY, btree (id)' \
    '"seat_place" btree (place_id)' 'FOREIGN KEY (place_id) REFERENCES place(id)' \
    'TABLE "seat" CONSTRAINT' 'twice' 'numeric(8,2)' '"stalls, left",500' 'character varying(20)'; do
    grep -qF -- "$expected" "$work/shown" || {
        cat "$work/shown" >&2
        echo "psql did not show: $expected" >&2
        exit 1
    }
done
# What is not there is an error, and the connection goes on.
left=$(psql -X -A -t 2> "$work/errors" << 'SQL'
CREATE TABLE heir (n integer) INHERITS (seat);
LOCK TABLE seat;
SELECT nothing FROM nowhere;
SELEC;
SELECT 'still here';
SQL
) || true
[ "$left" = "still here" ] && [ "$(grep -c ERROR "$work/errors")" = 4 ] || {
    cat "$work/errors" >&2
    echo "psql said: $left" >&2
    exit 1
}
# A client hears what it listens to.
heard=$(psql -X -q -A -t -c 'LISTEN news' -c "NOTIFY news, 'fresh'" -c 'SELECT 1' 2> "$work/errors") || true
case $heard in
*'"news" with payload "fresh" received'*) ;;
*)
    cat "$work/errors" >&2
    echo "psql heard: $heard" >&2
    exit 1
    ;;
esac
# What procedures say comes before what they end with.
said=$(psql -X -q -A -t 2>&1 << 'SQL'
CREATE FUNCTION talk(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    RAISE NOTICE 'n is %', n USING HINT = 'ask again'; RAISE DEBUG 'unheard';
    IF n > 1 THEN RAISE EXCEPTION 'too many'; END IF;
    RETURN n; END $$;
SELECT talk(1);
SELECT talk(2);
SQL
) || true
expected="NOTICE:  n is 1
HINT:  ask again
1
NOTICE:  n is 2
HINT:  ask again
ERROR:  too many"
[ "$said" = "$expected" ] || {
    echo "psql said: $said" >&2
    exit 1
}
# By the local socket, where a host is a directory.
near=$(psql -X -A -t -h "$work" -c "SELECT count(*) FROM seat" -c '\conninfo')
[[ "$near" = "1000"*"via socket in \"$work\""* ]] || {
    echo "psql said: $near" >&2
    exit 1
}
echo "psql: the script, the \\d family, four errors, notices, a local socket"
