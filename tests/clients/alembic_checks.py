"""Alembic: upgrades and downgrades, all revisions in one transaction or each in its own; one that fails; what it compares."""

import io
import os

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations

from checks import check, equal, main

URL = f"postgresql+psycopg://{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
bind = sa.create_engine(URL)


def run(name, *args, each=False, **options):
    out = io.StringIO()
    config = Config(stdout=out, output_buffer=out)
    config.set_main_option("script_location", os.path.join(os.path.dirname(__file__), "alembic"))
    config.set_main_option("sqlalchemy.url", URL)
    with bind.begin() as connection:
        config.attributes.update(connection=connection, each=each)
        getattr(command, name)(config, *args, **options)
    return out.getvalue()


def tables():
    return sorted(name for name in sa.inspect(bind).get_table_names() if name.startswith("al_"))


def column(query):
    with bind.connect() as connection:
        return [row[0] for row in connection.execute(sa.text(query))]


@check
def all_at_once(_):
    "upgrade head: definitions behind changes of rows, in one transaction; downgrade base"
    run("upgrade", "head")
    equal(tables(), ["al_account", "al_line", "al_total"])
    equal(column("SELECT nick FROM al_account ORDER BY id"), ["FEES", "HOUSE"])
    equal(column("SELECT total FROM al_total ORDER BY account_id"), [5, 5])
    equal(column("SELECT version_num FROM alembic_version"), ["three"])
    equal("three (head)" in run("current"), True)
    run("downgrade", "base")
    equal((tables(), column("SELECT version_num FROM alembic_version")), ([], []))


@check
def one_by_one(_):
    "upgrade +1 and downgrade -1; a transaction for each"
    for _ in range(3):
        run("upgrade", "+1")
    run("downgrade", "-1")
    equal((tables(), column("SELECT version_num FROM alembic_version")), (["al_account", "al_entry"], ["two"]))
    run("downgrade", "base", each=True)
    run("upgrade", "head", each=True)
    run("downgrade", "one")
    equal(column("SELECT count(*) FROM al_account"), [0])
    run("downgrade", "base")


@check
def failing(_):
    "one that fails half-way leaves nothing of what stood before it in its transaction"
    run("upgrade", "two")
    try:
        with bind.begin() as connection:
            op = Operations(MigrationContext.configure(connection))
            op.execute("UPDATE al_account SET balance = balance + 1")
            op.add_column("al_account", sa.Column("half", sa.Integer))
            op.execute("UPDATE al_account SET half = 1")
            op.create_table("al_half", sa.Column("id", sa.Integer, primary_key=True))
            op.execute("SELECT 1 / 0")
    except sa.exc.DBAPIError as error:
        equal(error.orig.sqlstate, "22012")
    else:
        raise AssertionError("it divides by zero")
    equal(tables(), ["al_account", "al_entry"])
    equal("half" in [each["name"] for each in sa.inspect(bind).get_columns("al_account")], False)
    equal(column("SELECT sum(balance)::text FROM al_account"), ["100.00"])
    run("downgrade", "base")


@check
def comparing(_):
    "autogenerate finds nothing in what was reflected, and what was changed; offline SQL; stamp"
    run("upgrade", "head")
    metadata = sa.MetaData()
    metadata.reflect(bind, only=lambda name, _: name.startswith("al"))
    with bind.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)
        equal(differences, [])
        metadata.tables["al_total"].append_column(sa.Column("more", sa.Text))
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        equal([difference[0] for difference in differences], ["add_column"])
    offline = run("upgrade", "two", sql=True)
    equal("ALTER TABLE al_account ADD COLUMN nick TEXT;" in offline, True)
    run("stamp", "one")
    equal(column("SELECT version_num FROM alembic_version"), ["one"])
    run("stamp", "head")
    run("downgrade", "base")


main("alembic")
