"""Names that change, an index and a constraint that go, a table that takes another one's rows."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "three", "two"


def upgrade():
    op.rename_table("al_entry", "al_line")
    op.drop_index("al_entry_by_account", "al_line")
    op.drop_constraint("al_account_balance", "al_account", type_="check")
    op.create_table("al_total", sa.Column("account_id", sa.BigInteger, sa.ForeignKey("al_account.id"), primary_key=True), sa.Column("total", sa.BigInteger, nullable=False))
    op.execute("INSERT INTO al_total SELECT account_id, sum(amount) FROM al_line GROUP BY account_id")
    op.drop_column("al_line", "tags")
    op.alter_column("al_account", "name", type_=sa.String(100), server_default="nobody")


def downgrade():
    op.alter_column("al_account", "name", type_=sa.String(50), server_default=None)
    op.add_column("al_line", sa.Column("tags", sa.ARRAY(sa.Text)))
    op.drop_table("al_total")
    op.create_check_constraint("al_account_balance", "al_account", "balance >= 0")
    op.rename_table("al_line", "al_entry")
    op.create_index("al_entry_by_account", "al_entry", ["account_id", sa.text("amount DESC")])
