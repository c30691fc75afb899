"""Tables, with constraints of all kinds."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision, down_revision = "one", None


def upgrade():
    op.create_table(
        "al_account",
        sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("kind", sa.Enum("cash", "card", name="al_kind"), nullable=False, server_default="cash"),
        sa.Column("balance", sa.Numeric(12, 2), nullable=False, server_default=sa.text("0")),
        sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("extra", pg.JSONB, server_default=sa.text("'{}'")),
        sa.UniqueConstraint("name", name="al_account_one_name"),
        sa.CheckConstraint("balance >= 0", name="al_account_balance"),
    )
    op.create_table(
        "al_entry",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("al_account.id", ondelete="CASCADE", name="al_entry_account"), nullable=False),
        sa.Column("cents", sa.Integer, nullable=False),
        sa.Column("tags", pg.ARRAY(sa.Text)),
        comment="what was booked",
    )
    op.create_index("al_entry_by_account", "al_entry", ["account_id", sa.text("cents DESC")])


def downgrade():
    op.drop_table("al_entry")
    op.drop_table("al_account")
    op.execute("DROP TYPE al_kind")
