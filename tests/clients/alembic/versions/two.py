"""Rows, among changes of their columns."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "two", "one"


def upgrade():
    account = sa.table("al_account", sa.column("name", sa.String), sa.column("balance", sa.Numeric))
    op.bulk_insert(account, [{"name": "fees", "balance": 0}, {"name": "house", "balance": 100}])
    op.add_column("al_account", sa.Column("nick", sa.Text))
    op.execute("UPDATE al_account SET nick = upper(name)")
    op.alter_column("al_account", "nick", nullable=False)
    op.get_bind().execute(sa.text("INSERT INTO al_entry (account_id, cents) SELECT id, 5 FROM al_account"))
    op.alter_column("al_entry", "cents", type_=sa.BigInteger, new_column_name="amount")
    op.create_unique_constraint("al_account_nick", "al_account", ["nick"])


def downgrade():
    op.drop_constraint("al_account_nick", "al_account", type_="unique")
    op.alter_column("al_entry", "amount", type_=sa.Integer, new_column_name="cents")
    op.execute("DELETE FROM al_account")
    op.drop_column("al_account", "nick")
