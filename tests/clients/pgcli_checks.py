"""Checks of pgcli against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
from pgcli.pgexecute import PGExecute

from checks import check, equal, main

NAMES = {"host": os.environ["PGHOST"], "port": os.environ["PGPORT"], "user": os.environ["PGUSER"]}
DATABASE = os.environ["PGDATABASE"]
SCHEMA = "pgcli_shop"
SETUP = f"""
DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;
CREATE SCHEMA {SCHEMA};
CREATE TYPE {SCHEMA}.state AS ENUM ('open', 'paid');
CREATE TABLE {SCHEMA}.item (id serial PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, price numeric(8,2) DEFAULT 9.5);
CREATE TABLE {SCHEMA}.sale (id bigint PRIMARY KEY, item_id int NOT NULL REFERENCES {SCHEMA}.item (id),
    state {SCHEMA}.state NOT NULL DEFAULT 'open', tags text[]);
CREATE INDEX sale_item ON {SCHEMA}.sale (item_id);
CREATE VIEW {SCHEMA}.unpaid AS SELECT id, item_id FROM {SCHEMA}.sale WHERE state = 'open';
DROP FUNCTION IF EXISTS pgcli_twice;
CREATE FUNCTION pgcli_twice(n bigint) RETURNS bigint AS $$ BEGIN RETURN n * 2; END $$ LANGUAGE plpgsql;
INSERT INTO {SCHEMA}.item (name) VALUES ('chair'), ('table, round');
INSERT INTO {SCHEMA}.sale VALUES (1, 1, 'open', NULL), (2, 1, 'paid', '{{a,b}}');
"""


def pgcli(*commands):
    """What it prints for commands, one after the other."""
    program = Path(sys.executable).with_name("pgcli")
    words = [str(program), "--less-chatty", "-h", NAMES["host"], "-p", NAMES["port"], "-U", NAMES["user"], "-d", DATABASE]
    for command in commands:
        words += ["-c", command]
    settings = os.environ | {"PAGER": "cat", "TERM": "dumb", "COLUMNS": "300", "LINES": "500"}
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, env=settings, stdin=subprocess.DEVNULL)
    return ended.stdout + ended.stderr


def shown(said, *wanted):
    missing = [each for each in wanted if each not in said]
    equal(missing, [], f"not shown in {said!r}")


def executor():
    return PGExecute(DATABASE, NAMES["user"], None, NAMES["host"], NAMES["port"], None)


def own(rows):
    """Those that are of the schema."""
    return sorted(tuple(row) for row in rows if row[0] == SCHEMA)


@check
def statements(_):
    """queries, changes, and errors are told as psql's are"""
    said = pgcli(f"SELECT id, name, price FROM {SCHEMA}.item ORDER BY id",
                 f"UPDATE {SCHEMA}.item SET price = price + 1 WHERE id = 2",
                 f"SELECT price FROM {SCHEMA}.item WHERE id = 2", "SELECT pgcli_twice(21)")
    shown(said, "table, round", "9.50", "UPDATE 1", "10.50", "42")
    shown(pgcli("SELECT * FROM nothing"), 'relation "nothing" does not exist')
    shown(pgcli(f"INSERT INTO {SCHEMA}.item VALUES (1, 'x')"), 'duplicate key value violates unique constraint "item_pkey"')


@check
def describing(_):
    """\\d and its kin"""
    shown(pgcli(f"\\d {SCHEMA}.sale"), "item_id", "integer", "not null", '"sale_pkey" PRIMARY KEY, btree (id)',
          '"sale_item" btree (item_id)', f"FOREIGN KEY (item_id) REFERENCES {SCHEMA}.item(id)", "text[]")
    shown(pgcli(f"\\d+ {SCHEMA}.unpaid"), "bigint", "View definition")
    shown(pgcli(f"\\dt {SCHEMA}.*"), "item", "sale", "table")
    shown(pgcli(f"\\dv {SCHEMA}.*"), "unpaid", "view")
    shown(pgcli(f"\\di {SCHEMA}.*"), "sale_item", "item_name_key", "index")
    shown(pgcli(f"\\ds {SCHEMA}.*"), "item_id_seq", "sequence")
    shown(pgcli("\\dn"), SCHEMA, "public")
    shown(pgcli("\\df pgcli_twice"), "bigint", "n bigint")
    shown(pgcli("\\sf pgcli_twice"), "CREATE OR REPLACE FUNCTION public.pgcli_twice(n bigint)", "RETURN n * 2")
    shown(pgcli(f"\\dT {SCHEMA}.*"), "state")
    shown(pgcli("\\l"), DATABASE)
    shown(pgcli("\\du"), NAMES["user"])
    shown(pgcli("\\conninfo"), NAMES["port"])


@check
def completion(_):
    """tables, columns, keys, functions and types that it completes"""
    executes = executor()
    equal("public" in executes.search_path(), True, "search_path")
    equal(SCHEMA in executes.schemata(), True, "schemata")
    equal(own(executes.tables()), [(SCHEMA, "item"), (SCHEMA, "sale")], "tables")
    equal(own(executes.views()), [(SCHEMA, "unpaid")], "views")
    columns = [(table, name, of, has_default) for _, table, name, of, has_default, _ in own(executes.table_columns())]
    equal(columns, [("item", "id", "integer", True), ("item", "name", "character varying", False),
                    ("item", "price", "numeric", True), ("sale", "id", "bigint", False),
                    ("sale", "item_id", "integer", False), ("sale", "state", f"{SCHEMA}.state", True),
                    ("sale", "tags", "text[]", False)], "columns")
    equal([row[1:4] for row in own(executes.view_columns())],
          [("unpaid", "id", "bigint"), ("unpaid", "item_id", "integer")], "columns of views")
    keys = [tuple(key) for key in executes.foreignkeys() if key[0] == SCHEMA]
    equal(keys, [(SCHEMA, "item", "id", SCHEMA, "sale", "item_id")], "foreign keys")
    functions = [of for of in executes.functions() if of.func_name == "pgcli_twice"]
    equal([(of.schema_name, of.arg_names, of.arg_types, of.return_type, of.is_set_returning) for of in functions],
          [("public", ("n",), ("bigint",), "bigint", False)], "functions")
    equal((SCHEMA, "state") in own(executes.datatypes()), True, "types")
    equal(DATABASE in executes.databases(), True, "databases")
    equal(isinstance(list(executes.casing()), list), True, "casing")


@check
def editing(_):
    """the texts of views and functions that it opens in an editor"""
    executes = executor()
    shown(executes.view_definition(f"{SCHEMA}.unpaid"), f'VIEW "{SCHEMA}"."unpaid" AS', "item_id")
    shown(executes.function_definition("pgcli_twice"), "RETURN n * 2")


@check
def transactions(_):
    """BEGIN, a failed statement and ROLLBACK in one session"""
    executes = executor()
    list(executes.run("BEGIN"))
    list(executes.run(f"INSERT INTO {SCHEMA}.sale VALUES (3, 2)"))
    equal(executes.valid_transaction(), True, "a transaction is open")
    told = [status for _, _, _, status, *_ in executes.run("SELECT 1 / 0", on_error_resume=True, exception_formatter=str)]
    shown(str(told), "division by zero")
    equal(executes.failed_transaction(), True, "it has failed")
    list(executes.run("ROLLBACK"))
    rows = [list(cursor) for _, cursor, *_ in executes.run(f"SELECT count(*) FROM {SCHEMA}.sale") if cursor is not None]
    equal(rows, [[(2,)]], "rows behind ROLLBACK")


with psycopg.connect(autocommit=True) as connection:
    connection.execute(SETUP)
main("pgcli")
