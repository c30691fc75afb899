"""Checks of SQLAlchemy 2 over psycopg 3 against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too."""

import datetime as dt
import decimal
import os
import uuid
from typing import Optional

import sqlalchemy as sa
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import (DeclarativeBase, Mapped, Session, aliased, contains_eager, joinedload, mapped_column,
                            relationship, selectinload, subqueryload)

from checks import check, equal, main

D = decimal.Decimal
UTC = dt.timezone.utc
URL = f"postgresql+psycopg://{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
ECHO = bool(os.environ.get("CHECK_ECHO"))


def engine(**options):
    return sa.create_engine(URL, echo=ECHO, **options)


class Base(DeclarativeBase):
    pass


membership = sa.Table(
    "sa_membership", Base.metadata,
    sa.Column("author_id", sa.ForeignKey("sa_author.id"), primary_key=True),
    sa.Column("club_id", sa.ForeignKey("sa_club.id"), primary_key=True),
)


class Author(Base):
    __tablename__ = "sa_author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(30), unique=True)
    born: Mapped[Optional[dt.date]]
    balance: Mapped[D] = mapped_column(sa.Numeric(12, 2), server_default="0")
    active: Mapped[bool] = mapped_column(server_default=sa.true())
    created: Mapped[dt.datetime] = mapped_column(sa.DateTime(timezone=True), server_default=func.now())
    changed: Mapped[Optional[dt.datetime]] = mapped_column(onupdate=lambda: dt.datetime(2024, 1, 1))
    photo: Mapped[Optional[bytes]] = mapped_column(sa.LargeBinary)
    weight: Mapped[Optional[float]]
    token: Mapped[Optional[uuid.UUID]]
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan", order_by="Book.id")
    clubs: Mapped[list["Club"]] = relationship(secondary=membership, back_populates="members", order_by="Club.id")


class Book(Base):
    __tablename__ = "sa_book"
    __table_args__ = (
        sa.UniqueConstraint("author_id", "title", name="book_once"),
        sa.CheckConstraint("pages > 0", name="book_pages"),
        sa.Index("book_title_pages", "title", "pages"),
    )
    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("sa_author.id"), index=True)
    title: Mapped[str] = mapped_column(sa.Text)
    pages: Mapped[Optional[int]] = mapped_column(sa.SmallInteger)
    price: Mapped[Optional[D]] = mapped_column(sa.Numeric(8, 2))
    author: Mapped[Author] = relationship(back_populates="books")


class Club(Base):
    __tablename__ = "sa_club"
    id: Mapped[int] = mapped_column(sa.Integer, sa.Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40))
    members: Mapped[list[Author]] = relationship(secondary=membership, back_populates="clubs", order_by="Author.id")


def filled():
    """New tables with rows."""
    bind = engine()
    Base.metadata.drop_all(bind)
    Base.metadata.create_all(bind)
    with Session(bind) as session:
        clubs = [Club(name="chess"), Club(name="fishing")]
        session.add_all([
            Author(name="ann", born=dt.date(1970, 1, 2), balance=D("10.50"), weight=60.5, photo=b"\x00\x01\xff",
                   token=uuid.UUID(int=1), books=[Book(title="one", pages=100, price=D("9.99")), Book(title="two", pages=200)], clubs=clubs),
            Author(name="bob", books=[Book(title="one", pages=50, price=D("1.00"))], clubs=clubs[:1]),
            Author(name="cid"),
        ])
        session.commit()
    return bind


def integrity(run, *arguments):
    try:
        run(*arguments)
    except sa.exc.IntegrityError as error:
        return error
    raise AssertionError("no IntegrityError")


@check
def engine_connects(_):
    "connect, server version, isolation level, dialect"
    bind = engine()
    with bind.connect() as conn:
        equal(conn.execute(sa.text("SELECT 1")).scalar(), 1)
        equal(conn.scalar(sa.text("SELECT :a || :b"), {"a": "x", "b": "y"}), "xy")
        assert bind.dialect.server_version_info >= (15,), bind.dialect.server_version_info
        equal(bind.dialect.default_schema_name, "public")
        conn.get_isolation_level()
    with engine(isolation_level="SERIALIZABLE").connect() as conn:
        equal(conn.get_isolation_level(), "SERIALIZABLE")
        conn.execute(sa.text("SELECT 1"))
    with engine(isolation_level="AUTOCOMMIT").connect() as conn:
        conn.execute(sa.text("SELECT 1"))
    with bind.connect().execution_options(postgresql_readonly=True) as conn:
        try:
            conn.execute(sa.text("CREATE TABLE sa_none (id int)"))
            raise AssertionError("no error")
        except sa.exc.InternalError as error:
            equal(error.orig.sqlstate, "25006")
    with engine(pool_pre_ping=True).connect() as conn:
        equal(conn.scalar(select(sa.literal(5))), 5)


@check
def definitions(_):
    "create_all, create_all once more, drop_all, create and drop of one table with checkfirst"
    bind = engine()
    Base.metadata.drop_all(bind)
    Base.metadata.create_all(bind)
    Base.metadata.create_all(bind)
    inspector = sa.inspect(bind)
    equal(set(inspector.get_table_names()) >= {"sa_author", "sa_book", "sa_club", "sa_membership"}, True)
    Base.metadata.drop_all(bind)
    equal([name for name in sa.inspect(bind).get_table_names() if name.startswith("sa_")], [])
    Club.__table__.create(bind)
    Club.__table__.create(bind, checkfirst=True)
    Club.__table__.drop(bind)
    Club.__table__.drop(bind, checkfirst=True)
    with bind.connect() as conn:
        with conn.begin() as transaction:
            Club.__table__.create(conn)
            conn.execute(sa.insert(Club).values(name="x"))
            transaction.rollback()
        equal(sa.inspect(conn).has_table("sa_club"), False)


@check
def orm_insert(_):
    "the unit of work: keys and server defaults by RETURNING, many-to-many, types"
    with Session(filled()) as session:
        ann, bob, cid = session.scalars(select(Author).order_by(Author.id)).all()
        equal((ann.id, bob.id, cid.id), (1, 2, 3))
        equal((ann.name, ann.born, ann.balance, ann.active, ann.weight, ann.photo, ann.token),
              ("ann", dt.date(1970, 1, 2), D("10.50"), True, 60.5, b"\x00\x01\xff", uuid.UUID(int=1)))
        equal((bob.born, bob.balance, bob.photo), (None, D("0.00"), None))
        equal(bob.created.utcoffset(), dt.timedelta(0))
        equal([book.title for book in ann.books], ["one", "two"])
        equal([club.name for club in ann.clubs], ["chess", "fishing"])
        equal([member.name for member in ann.clubs[0].members], ["ann", "bob"])
        equal(session.get(Book, 3).author.name, "bob")
        equal(session.get(Book, 99), None)


@check
def bulk_insert(_):
    "insertmanyvalues: many rows in batches, keys in the order of the rows; add_all; executemany"
    with Session(filled()) as session:
        ids = session.scalars(sa.insert(Book).returning(Book.id, sort_by_parameter_order=True),
                              [{"author_id": 3, "title": f"t{each}", "pages": each + 1} for each in range(2500)]).all()
        equal(len(ids), 2500)
        equal(sorted(ids), list(ids))
        equal(session.scalar(select(Book.title).where(Book.id == ids[77])), "t77")
        session.execute(sa.insert(Book), [{"author_id": 3, "title": f"u{each}"} for each in range(100)])
        equal(session.scalar(select(func.count()).select_from(Book)), 2603)
        books = [Book(author_id=2, title=f"v{each}", price=D(each)) for each in range(50)]
        session.add_all(books)
        session.flush()
        equal([book.id for book in books], list(range(books[0].id, books[0].id + 50)))
        session.execute(sa.update(Book), [{"id": book.id, "pages": 7} for book in books])
        equal(session.scalar(select(func.count()).where(Book.pages == 7, Book.author_id == 2)), 50)
        session.commit()


@check
def upserts(_):
    "INSERT ... ON CONFLICT DO UPDATE, DO NOTHING; INSERT from SELECT"
    with Session(filled()) as session:
        statement = pg.insert(Author).values(name="ann", balance=5)
        statement = statement.on_conflict_do_update(index_elements=[Author.name], set_={"balance": statement.excluded.balance + Author.balance})
        equal(session.scalar(statement.returning(Author.balance)), D("15.50"))
        nothing = pg.insert(Author).values(name="bob").on_conflict_do_nothing().returning(Author.id)
        equal(session.scalar(nothing), None)
        many = pg.insert(Author).values([{"name": "bob", "balance": 1}, {"name": "new", "balance": 2}])
        many = many.on_conflict_do_update(constraint="sa_author_name_key", set_={"balance": many.excluded.balance})
        session.execute(many)
        equal(session.execute(select(Author.name, Author.balance).order_by(Author.name)).all(),
              [("ann", D("15.50")), ("bob", D("1.00")), ("cid", D("0.00")), ("new", D("2.00"))])
        session.execute(sa.insert(Club).from_select(["name"], select(Author.name).where(Author.balance > 1)))
        equal(session.scalars(select(Club.name).order_by(Club.id)).all()[:2], ["chess", "fishing"])
        equal(session.scalar(select(func.count()).select_from(Club)), 4)


@check
def loading(_):
    "relationships: lazy, joined, selectin, subquery, contains_eager"
    bind = filled()
    want = [("ann", ["one", "two"], ["chess", "fishing"]), ("bob", ["one"], ["chess"]), ("cid", [], [])]
    for options in (
        (), (joinedload(Author.books), joinedload(Author.clubs)), (selectinload(Author.books), selectinload(Author.clubs)),
        (subqueryload(Author.books), subqueryload(Author.clubs)), (selectinload(Author.clubs).joinedload(Club.members),),
    ):
        with Session(bind) as session:
            have = session.scalars(select(Author).options(*options).order_by(Author.id)).unique().all()
            equal([(a.name, [b.title for b in a.books], [c.name for c in a.clubs]) for a in have], want, str(options))
    with Session(bind) as session:
        have = session.scalars(select(Author).join(Author.books).where(Book.price > 5).options(contains_eager(Author.books))).unique().all()
        equal([(a.name, [b.title for b in a.books]) for a in have], [("ann", ["one"])])
    with Session(bind) as session:
        limited = session.scalars(select(Author).options(joinedload(Author.books)).order_by(Author.id).limit(2)).unique().all()
        equal([len(a.books) for a in limited], [2, 1])
        equal([b.author.name for b in session.scalars(select(Book).options(joinedload(Book.author, innerjoin=True)).order_by(Book.id))],
              ["ann", "ann", "bob"])


@check
def queries(_):
    "joins, aggregates, HAVING, CTE, EXISTS, IN, subqueries, UNION, windows, CASE, functions"
    with Session(filled()) as session:
        rows = lambda statement: [tuple(row) for row in session.execute(statement).all()]  # noqa: E731
        equal(rows(select(Author.name, func.count(Book.id), func.sum(Book.pages), func.avg(Book.price)).outerjoin(Author.books)
                   .group_by(Author.name).order_by(Author.name)),
              [("ann", 2, 300, D("9.9900000000000000")), ("bob", 1, 50, D("1.00000000000000000000")), ("cid", 0, None, None)])
        equal(rows(select(Author.name).join(Book).group_by(Author.id).having(func.count(Book.id) > 1)), [("ann",)])
        equal(rows(select(Author.name).where(Author.books.any(Book.pages < 60))), [("bob",)])
        equal(rows(select(Author.name).where(~Author.books.any()).order_by(Author.name)), [("cid",)])
        equal(rows(select(Book.title).where(Book.author.has(name="bob"))), [("one",)])
        equal(rows(select(Author.name).where(Author.id.in_(select(Book.author_id).where(Book.title == "one"))).order_by(Author.name)), [("ann",), ("bob",)])
        equal(rows(select(Author.name).where(Author.name.in_(["ann", "cid", "zed"])).order_by(sa.desc(Author.name))), [("cid",), ("ann",)])
        equal(rows(select(Author.name).where(Author.id.in_([]))), [])
        totals = select(Book.author_id, func.sum(Book.pages).label("total")).group_by(Book.author_id).cte("totals")
        equal(rows(select(Author.name, totals.c.total).join(totals, totals.c.author_id == Author.id).order_by(totals.c.total)), [("bob", 50), ("ann", 300)])
        per = select(func.count(Book.id)).where(Book.author_id == Author.id).correlate(Author).scalar_subquery()
        equal(rows(select(Author.name, per.label("books")).order_by(per.desc(), Author.name)), [("ann", 2), ("bob", 1), ("cid", 0)])
        equal(rows(select(Book.title, func.row_number().over(partition_by=Book.author_id, order_by=Book.pages.desc()),
                          func.sum(Book.pages).over(order_by=Book.id)).order_by(Book.id)), [("one", 2, 100), ("two", 1, 300), ("one", 1, 350)])
        equal(rows(select(Book.title, func.sum(Book.pages).over(order_by=Book.id, rows=(-1, 0))).order_by(Book.id)), [("one", 100), ("two", 300), ("one", 250)])
        other = aliased(Book)
        equal(rows(select(Book.id, other.id).join(other, sa.and_(Book.title == other.title, Book.id < other.id))), [(1, 3)])
        equal(rows(sa.union(select(Author.name), select(Club.name)).order_by("name")), [("ann",), ("bob",), ("chess",), ("cid",), ("fishing",)])
        equal(rows(sa.union_all(select(Author.name).where(Author.id == 1), select(Author.name).where(Author.id < 3).order_by(Author.id).limit(1))),
              [("ann",), ("ann",)])
        equal(rows(select(sa.case((Book.pages > 99, "long"), else_="short"), func.coalesce(Book.price, 0)).order_by(Book.id)),
              [("long", D("9.99")), ("long", D("0")), ("short", D("1.00"))])
        equal(rows(select(func.upper(Author.name), func.length(Author.name) + 1, Author.name + "!").where(Author.name.like("a%"))), [("ANN", 4, "ann!")])
        equal(rows(select(Author.id).where(Author.name.ilike("%N%"), Author.name.startswith("a"), Author.name.contains("n"))), [(1,)])
        equal(rows(select(Author.id).where(Author.name.icontains("O"), Author.name.regexp_match("^b"))), [(2,)])
        equal(rows(select(sa.extract("year", Author.born), sa.cast(Author.balance, sa.Integer), sa.cast(Author.id, sa.String)).where(Author.id == 1)),
              [(1970, 11, "1")])
        equal(rows(select(Author.name).where(Author.born.is_(None), Author.active.is_(True), sa.not_(Author.name == "cid"))), [("bob",)])
        equal(rows(select(Book.title).distinct().order_by(Book.title)), [("one",), ("two",)])
        equal(rows(select(Book.title, Book.id).ext(pg.distinct_on(Book.title)).order_by(Book.title, Book.id.desc())), [("one", 3), ("two", 2)])
        equal(rows(select(func.count(sa.distinct(Book.title)), func.max(Book.pages), func.min(Book.title))), [(2, 200, "one")])
        equal(rows(select(func.count()).select_from(select(Book).where(Book.pages > 60).subquery())), [(2,)])
        equal(rows(select(func.string_agg(Author.name, ",")).where(Author.id == 1)), [("ann",)])
        equal(rows(select(func.array_agg(pg.aggregate_order_by(Book.title, Book.id.desc())))), [(["one", "two", "one"],)])
        equal(rows(select(func.count(Book.id).filter(Book.pages > 60))), [(2,)])
        latest = select(Book.title).where(Book.author_id == Author.id).order_by(Book.id.desc()).limit(1).lateral("latest")
        equal(rows(select(Author.name, latest.c.title).join(latest, sa.true(), isouter=True).order_by(Author.id)), [("ann", "two"), ("bob", "one"), ("cid", None)])
        equal(rows(select(Author.id).order_by(Author.born.desc().nullslast(), Author.id).offset(1).limit(1)), [(2,)])
        equal(rows(select(Book.id).where(sa.tuple_(Book.author_id, Book.title).in_([(1, "one"), (2, "none")]))), [(1,)])
        equal(session.scalar(select(sa.exists().where(Author.name == "bob"))), True)
        equal(rows(select(Author.name).where(Author.id == sa.any_(sa.literal([1, 3], sa.ARRAY(sa.Integer)))).order_by(Author.id)), [("ann",), ("cid",)])
        equal(rows(select(Author.created > func.now() - dt.timedelta(days=1)).where(Author.id == 1)), [(True,)])
        equal(rows(select(sa.func.date_trunc("year", Author.born) == dt.datetime(1970, 1, 1, tzinfo=UTC)).where(Author.id == 1)), [(True,)])
        equal(rows(select(sa.values(sa.column("a", sa.Integer), sa.column("b", sa.String), name="v").data([(1, "x"), (2, "y")])).order_by("a")),
              [(1, "x"), (2, "y")])
        equal(session.scalars(select(Author).where(Author.id == 1).with_for_update()).one().name, "ann")
        equal(session.scalars(select(Author).where(Author.id == 2).with_for_update(skip_locked=True, of=Author)).one().name, "bob")
        numbers = select(sa.literal(1).label("n")).cte("numbers", recursive=True)
        numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < 5))
        equal(rows(select(func.sum(numbers.c.n))), [(15,)])


@check
def sum_of_integers(_):
    "sum of integers is bigint, avg numeric: Python types of results"
    with Session(filled()) as session:
        row = session.execute(select(func.sum(Book.pages), func.avg(Book.pages), func.count(), func.sum(Author.balance)).join(Author)).one()
        equal([type(value) for value in row], [int, D, int, D])


@check
def changes(_):
    "UPDATE and DELETE: by the unit of work, by statements with joins, with RETURNING, cascades"
    bind = filled()
    with Session(bind) as session:
        ann = session.get(Author, 1)
        ann.balance += 5
        ann.books[0].title = "first"
        ann.clubs.pop()
        del ann.books[1]
        session.commit()
        equal((ann.balance, ann.changed, [b.title for b in ann.books], [c.name for c in ann.clubs]),
              (D("15.50"), dt.datetime(2024, 1, 1), ["first"], ["chess"]))
        equal(session.execute(sa.update(Author).where(Author.name == "bob").values(balance=Author.balance + 1)).rowcount, 1)
        equal(session.scalars(sa.update(Book).values(pages=Book.pages * 2).where(Book.author_id == 2).returning(Book.pages)).all(), [100])
        equal(session.execute(sa.update(Book).values(price=Author.balance).where(Book.author_id == Author.id)).rowcount, 2)
        equal(session.execute(sa.update(Author).values(balance=select(func.count(Book.id)).where(Book.author_id == Author.id).scalar_subquery())).rowcount, 3)
        equal(session.execute(sa.delete(Book).where(Book.author_id == Author.id, Author.name == "bob")).rowcount, 1)
        equal(session.execute(sa.delete(Club).where(Club.id.in_([2])).returning(Club.name)).all(), [("fishing",)])
        session.delete(session.get(Author, 1))
        session.commit()
        equal(session.scalar(select(func.count()).select_from(Book)), 0)
        equal(session.scalar(select(func.count()).select_from(membership)), 1)


@check
def failures(_):
    "IntegrityError with what the driver says; the session goes on behind a rollback, and a nested block"
    bind = filled()
    with Session(bind) as session:
        session.add(Author(name="ann"))
        error = integrity(session.flush)
        equal(error.orig.diag.constraint_name, "sa_author_name_key")
        session.rollback()
        session.add(Book(author_id=1, title="zero", pages=0))
        equal(integrity(session.flush).orig.diag.constraint_name, "book_pages")
        session.rollback()
        session.add(Book(author_id=77, title="zero"))
        equal(integrity(session.flush).orig.diag.constraint_name, "sa_book_author_id_fkey")
        session.rollback()
        session.add(Author(name="dan"))
        session.flush()
        try:
            with session.begin_nested():
                session.add(Author(name="dan"))
        except sa.exc.IntegrityError:
            pass
        with session.begin_nested() as nested:
            session.add(Author(name="eve"))
            session.flush()
            nested.rollback()
        with session.begin_nested():
            session.add(Author(name="fay"))
        session.commit()
        equal(session.scalars(select(Author.name).order_by(Author.name)).all(), ["ann", "bob", "cid", "dan", "fay"])
        session.add(Author(name="gus"))
        session.flush()
        session.rollback()
        equal(session.scalar(select(func.count()).where(Author.name == "gus")), 0)
    with bind.connect() as conn:
        try:
            conn.execute(sa.text("SELECT * FROM sa_nothing"))
            raise AssertionError("no error")
        except sa.exc.ProgrammingError as error:
            equal(error.orig.sqlstate, "42P01")


@check
def streaming(_):
    "yield_per and stream_results: named cursors"
    with Session(filled()) as session:
        session.execute(sa.insert(Club), [{"name": f"c{each}"} for each in range(500)])
        equal(len([club for club in session.scalars(select(Club).order_by(Club.id).execution_options(yield_per=100))]), 502)
        result = session.connection().execution_options(stream_results=True, max_row_buffer=50).execute(select(Club.name).order_by(Club.id))
        equal(result.fetchone(), ("chess",))
        equal(len(result.fetchmany(10)), 10)
        result.close()


@check
def json_columns(_):
    "JSON and JSONB columns"
    bind = engine()
    metadata = sa.MetaData()
    table = sa.Table("sa_json", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), sa.Column("a", sa.JSON), sa.Column("b", pg.JSONB))
    metadata.drop_all(bind)
    metadata.create_all(bind)
    with bind.begin() as conn:
        conn.execute(sa.insert(table), [{"id": 1, "a": {"x": [1, None, "y"]}, "b": {"k": 5}}, {"id": 2, "a": None, "b": [1]}])
        equal(conn.execute(select(table).order_by(table.c.id)).all()[0], (1, {"x": [1, None, "y"]}, {"k": 5}))
        equal(conn.scalar(select(table.c.id).where(table.c.b["k"].as_integer() == 5)), 1)
        equal(conn.scalar(select(table.c.id).where(table.c.b.contains({"k": 5}))), 1)
    metadata.drop_all(bind)


@check
def enums_and_arrays(_):
    "ENUM and ARRAY columns"
    bind = engine()
    metadata = sa.MetaData()
    table = sa.Table("sa_enum", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
                     sa.Column("kind", sa.Enum("a", "b", name="sa_kind")), sa.Column("tags", sa.ARRAY(sa.Text)), sa.Column("nap", sa.Interval), sa.Column("t", sa.Time))
    metadata.drop_all(bind)
    metadata.create_all(bind)
    with bind.begin() as conn:
        conn.execute(sa.insert(table), [{"id": 1, "kind": "a", "tags": ["x", "y"], "nap": dt.timedelta(hours=1), "t": dt.time(1, 2)}])
        equal(conn.execute(select(table)).one(), (1, "a", ["x", "y"], dt.timedelta(hours=1), dt.time(1, 2)))
    equal(sa.inspect(bind).get_enums(), [{"name": "sa_kind", "schema": "public", "visible": True, "labels": ["a", "b"]}])
    metadata.drop_all(bind)


@check
def references(_):
    "ON DELETE CASCADE and SET NULL, DEFERRABLE, self references, computed columns, comments"
    bind = engine()
    metadata = sa.MetaData()
    node = sa.Table("sa_node", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("up", sa.ForeignKey("sa_node.id", ondelete="CASCADE")),
                    sa.Column("name", sa.String(20), comment="how it is called"), comment="a tree")
    sa.Table("sa_leaf", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("node", sa.ForeignKey("sa_node.id", ondelete="SET NULL", onupdate="CASCADE")),
             sa.Column("other", sa.ForeignKey("sa_node.id", deferrable=True, initially="DEFERRED")))
    metadata.drop_all(bind)
    try:
        metadata.create_all(bind)
        with bind.begin() as conn:
            conn.execute(sa.insert(node), [{"id": 1, "up": None}, {"id": 2, "up": 1}, {"id": 3, "up": 2}])
            conn.execute(sa.delete(node).where(node.c.id == 1))
            equal(conn.scalar(select(func.count()).select_from(node)), 0)
        leaf = metadata.tables["sa_leaf"]
        with bind.begin() as conn:
            conn.execute(sa.insert(leaf), {"id": 1, "other": 9})
            conn.execute(sa.insert(node), {"id": 9})
        try:
            with bind.begin() as conn:
                conn.execute(sa.insert(leaf), {"id": 2, "other": 10})
            equal("committed", "refused")
        except sa.exc.IntegrityError as error:
            equal(error.orig.sqlstate, "23503")
        inspector = sa.inspect(bind)
        options = {key["constrained_columns"][0]: key["options"] for key in inspector.get_foreign_keys("sa_leaf")}
        equal(options, {"node": {"ondelete": "SET NULL", "onupdate": "CASCADE"}, "other": {"deferrable": True, "initially": "DEFERRED"}})
        equal(inspector.get_table_comment("sa_node"), {"text": "a tree"})
        equal([key["options"] for key in inspector.get_foreign_keys("sa_node")], [{"ondelete": "CASCADE"}])
    finally:
        metadata.drop_all(bind)


@check
def reflection(_):
    "inspect(): tables, columns, keys, indexes, constraints, views, sequences"
    bind = filled()
    inspector = sa.inspect(bind)
    names = [name for name in inspector.get_table_names() if name.startswith("sa_")]
    equal(sorted(names), ["sa_author", "sa_book", "sa_club", "sa_membership"])
    equal(inspector.get_schema_names(), ["information_schema", "public"])
    equal(inspector.default_schema_name, "public")
    equal(inspector.has_table("sa_book"), True)
    equal(inspector.has_table("sa_nothing"), False)
    equal(inspector.has_table("sa_book", schema="public"), True)
    equal(inspector.get_view_names(), [])
    equal(inspector.get_materialized_view_names(), [])
    equal(inspector.get_temp_table_names(), [])
    equal(sorted(name for name in inspector.get_sequence_names() if name.startswith("sa_")), ["sa_author_id_seq", "sa_book_id_seq", "sa_club_id_seq"])
    equal(inspector.has_sequence("sa_author_id_seq"), True)
    equal(inspector.get_enums(), [])
    columns = inspector.get_columns("sa_author")
    equal([(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in columns], [
        ("id", "INTEGER", False, "nextval('sa_author_id_seq'::regclass)"), ("name", "VARCHAR(30)", False, None), ("born", "DATE", True, None),
        ("balance", "NUMERIC(12, 2)", False, "'0'::numeric"), ("active", "BOOLEAN", False, "true"), ("created", "TIMESTAMP", False, "now()"),
        ("changed", "TIMESTAMP", True, None), ("photo", "BYTEA", True, None), ("weight", "DOUBLE PRECISION", True, None), ("token", "UUID", True, None)])
    equal([c["type"].timezone for c in columns if c["name"] in ("created", "changed")], [True, False])
    equal([(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns("sa_book")],
          [("id", "BIGINT", False), ("author_id", "INTEGER", False), ("title", "TEXT", False), ("pages", "SMALLINT", True), ("price", "NUMERIC(8, 2)", True)])
    identity = inspector.get_columns("sa_club")[0]["identity"]
    equal((identity["always"], identity["start"], identity["increment"]), (False, 1, 1))
    equal(inspector.get_pk_constraint("sa_book"), {"constrained_columns": ["id"], "name": "sa_book_pkey", "comment": None, "dialect_options": {"postgresql_include": []}})
    equal(inspector.get_pk_constraint("sa_membership")["constrained_columns"], ["author_id", "club_id"])
    equal(inspector.get_foreign_keys("sa_book"), [{
        "name": "sa_book_author_id_fkey", "constrained_columns": ["author_id"], "referred_schema": None, "referred_table": "sa_author",
        "referred_columns": ["id"], "options": {}, "comment": None}])
    equal(sorted(key["referred_table"] for key in inspector.get_foreign_keys("sa_membership")), ["sa_author", "sa_club"])
    equal([(i["name"], i["column_names"], i["unique"]) for i in inspector.get_indexes("sa_book")],
          [("book_once", ["author_id", "title"], True), ("book_title_pages", ["title", "pages"], False), ("ix_sa_book_author_id", ["author_id"], False)])
    equal(inspector.get_indexes("sa_book")[0]["duplicates_constraint"], "book_once")
    equal([(u["name"], u["column_names"]) for u in inspector.get_unique_constraints("sa_book")], [("book_once", ["author_id", "title"])])
    equal([(c["name"], c["sqltext"]) for c in inspector.get_check_constraints("sa_book")], [("book_pages", "pages > 0")])
    equal(inspector.get_table_comment("sa_book"), {"text": None})
    equal(inspector.get_table_options("sa_book"), {})
    equal(len(inspector.get_multi_columns()) >= 4, True)
    for name in ("get_multi_pk_constraint", "get_multi_foreign_keys", "get_multi_indexes", "get_multi_unique_constraints", "get_multi_check_constraints"):
        equal((None, "sa_book") in getattr(inspector, name)(), True, name)
    try:
        inspector.get_columns("sa_nothing")
        raise AssertionError("no error")
    except sa.exc.NoSuchTableError:
        pass


@check
def reflected_tables(_):
    "MetaData.reflect, autoload_with, and a table made anew from what was reflected"
    bind = filled()
    metadata = sa.MetaData()
    metadata.reflect(bind, only=lambda name, _: name.startswith("sa_"))
    equal(sorted(metadata.tables), ["sa_author", "sa_book", "sa_club", "sa_membership"])
    book = metadata.tables["sa_book"]
    equal([column.name for column in book.primary_key], ["id"])
    equal([key.target_fullname for key in book.foreign_keys], ["sa_author.id"])
    equal(sorted(index.name for index in book.indexes), ["book_title_pages", "ix_sa_book_author_id"])
    with bind.connect() as conn:
        author = sa.Table("sa_author", sa.MetaData(), autoload_with=conn)
        equal(conn.execute(select(book.c.title, author.c.name).join(author, book.c.author_id == author.c.id).order_by(book.c.id)).all(),
              [("one", "ann"), ("two", "ann"), ("one", "bob")])
    metadata.drop_all(bind)
    metadata.create_all(bind)
    with bind.begin() as conn:
        conn.execute(sa.insert(metadata.tables["sa_author"]).values(name="new"))
    equal(len(sa.inspect(bind).get_indexes("sa_book")), 3)


@check
def sequences_and_views(_):
    "Sequence objects, and a view's columns"
    bind = engine()
    with bind.begin() as conn:
        conn.execute(sa.text("DROP VIEW IF EXISTS sa_view"))
        conn.execute(sa.text("DROP SEQUENCE IF EXISTS sa_seq"))
    sequence = sa.Sequence("sa_seq", start=5)
    sequence.create(bind)
    with bind.begin() as conn:
        equal(conn.scalar(sequence), 5)
        equal(conn.scalar(select(sequence.next_value())), 6)
        conn.execute(sa.text("CREATE VIEW sa_view AS SELECT 1 AS one, 'x' AS two"))
        equal(sa.inspect(conn).get_view_names(), ["sa_view"])
        equal([c["name"] for c in sa.inspect(conn).get_columns("sa_view")], ["one", "two"])
        conn.execute(sa.text("DROP VIEW sa_view"))
    sequence.drop(bind)


@check
def leaves_nothing(_):
    "drop_all"
    bind = engine()
    Base.metadata.drop_all(bind)
    equal(sa.inspect(bind).has_table("sa_author"), False)


main("sqlalchemy")
