"""How Alembic runs: all revisions of one upgrade in one transaction, its own default."""

from alembic import context

config = context.config
if context.is_offline_mode():
    context.configure(url=config.get_main_option("sqlalchemy.url"), literal_binds=True, target_metadata=config.attributes.get("metadata"))
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(
        connection=config.attributes["connection"], target_metadata=config.attributes.get("metadata"),
        transaction_per_migration=config.attributes.get("each", False),
    )
    with context.begin_transaction():
        context.run_migrations()
