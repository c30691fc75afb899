"""Django: its own migrations, migrations of models, the ORM's queries, the admin."""

import datetime
import decimal
import io
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "django"))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django  # noqa: E402

django.setup()

from django.contrib import admin  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, migrations, models, transaction  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402
from django.db.models import (  # noqa: E402
    Avg, Case, CharField, Count, Exists, ExpressionWrapper, F, FloatField, Max, Min, OuterRef, Prefetch, Q, StdDev, Subquery, Sum, Value,
    When, Window,
)
from django.db.models.functions import (  # noqa: E402
    Coalesce, Concat, DenseRank, ExtractYear, Greatest, Lag, Length, Lower, Now, Rank, RowNumber, Substr, TruncMonth, Upper,
)
from shop.models import Author, Book, Sale, Tag  # noqa: E402

from checks import check, equal, main  # noqa: E402


def run(command, *args, **options):
    out = io.StringIO()
    call_command(command, *args, stdout=out, **options)
    return out.getvalue()


@check
def migrate(_):
    "migrate: Django's own apps and the shop's, the second time nothing; sqlmigrate, showmigrations"
    out = run("migrate", verbosity=1)
    equal(out.count("... OK"), out.count("Applying "))
    equal("Applying shop.0004_as_the_models_are... OK" in out, True)
    equal("No migrations to apply" in run("migrate"), True)
    equal(run("showmigrations", "shop", no_color=True).count("[X]"), 4)
    equal("ALTER TABLE" in run("sqlmigrate", "shop", "0002"), True)
    equal(MigrationExecutor(connection).migration_plan([("shop", "0004_as_the_models_are")]), [])


@check
def backwards(_):
    "migrations taken back one by one, and made again"
    for name in ("0003_more", "0002_changes", "0001_initial"):
        run("migrate", "shop", name)
    equal(Author.objects.count(), 0)
    run("migrate", "shop", "zero")
    equal([name for name in connection.introspection.table_names() if name.startswith("shop_")], [])
    run("migrate", "shop")
    equal(Author.objects.count(), 0)


@check
def failing_migration(_):
    "a migration that fails half-way leaves nothing"
    with_error = migrations.Migration("broken", "shop")
    with_error.operations = [
        migrations.CreateModel("Half", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("author", "half", models.IntegerField(null=True)),
        migrations.RunSQL("SELECT 1 / 0"),
    ]
    executor = MigrationExecutor(connection)
    state = executor.loader.project_state([("shop", "0004_as_the_models_are")])
    try:
        executor.apply_migration(state, with_error)
    except Exception as error:
        equal("division by zero" in str(error), True)
    else:
        raise AssertionError("it divides by zero")
    equal("shop_half" in connection.introspection.table_names(), False)
    with connection.cursor() as cursor:
        columns = [column.name for column in connection.introspection.get_table_description(cursor, "shop_author")]
    equal(sorted(columns), ["born", "email", "id", "name"])


def filled():
    Sale.objects.all().delete()
    Book.objects.all().delete()
    Author.objects.all().delete()
    Tag.objects.all().delete()
    names = ["Ada", "Bertha", "Chloe"]
    authors = [Author.objects.create(name=name, born=datetime.date(1900 + 10 * at, 1, 1 + at)) for at, name in enumerate(names)]
    tags = Tag.objects.bulk_create([Tag(word=word) for word in ("red", "green", "blue")])
    for at in range(9):
        book = Book.objects.create(
            title=f"Book {at}", author=authors[at % 3], price=decimal.Decimal(at) + decimal.Decimal("0.50"), pages=100 * at,
            sold=at % 2 == 0, extra={"at": at, "list": [1, 2, at], "in": {"deep": str(at)}},
            published=datetime.datetime(2020 + at % 3, 1 + at, 5, 12, tzinfo=datetime.timezone.utc),
        )
        book.tags.set(tags[: at % 4])
        Sale.objects.create(book=book, pieces=at + 1, at=datetime.datetime(2024, 1, 1 + at, tzinfo=datetime.timezone.utc))
    return authors


@check
def selecting(_):
    "filter, exclude, order, slices, lookups of texts, dates, JSON, lists; values, distinct, in_bulk"
    authors = filled()
    titles = lambda books: [int(title[5:]) for title in books.values_list("title", flat=True)]  # noqa: E731
    books = Book.objects.order_by("id")
    equal(titles(books.filter(price__gt=3, sold=False)), [3, 5, 7])
    equal(titles(books.exclude(author__name="Ada")), [1, 2, 4, 5, 7, 8])
    equal(titles(books.filter(Q(pages__lt=200) | ~Q(author=authors[0]), sold=True)), [0, 2, 4, 8])
    equal(titles(books.order_by("-price")[2:5]), [6, 5, 4])
    equal(titles(books.filter(title__icontains="OK 7")), [7])
    equal(titles(books.filter(title__startswith="Book", title__endswith="3")), [3])
    equal(titles(books.filter(title__iexact="bOOK 1")), [1])
    equal(titles(books.filter(title__regex=r"[2-4]$")), [2, 3, 4])
    equal(titles(books.filter(title__iregex=r"^book [12]$")), [1, 2])
    equal(titles(books.filter(pages__in=[100, 800], price__range=(0, 5))), [1])
    equal(titles(books.filter(published__year=2021)), [1, 4, 7])
    equal(titles(books.filter(published__month__gte=8)), [7, 8])
    equal(titles(books.filter(published__date=datetime.date(2020, 1, 5))), [0])
    equal(titles(books.filter(author__born__isnull=False, tags__isnull=True).distinct()), [0, 4, 8])
    equal(titles(books.filter(extra__at=5)), [5])
    equal(titles(books.filter(extra__in__deep="6")), [6])
    equal(titles(books.filter(extra__list__contains=[7])), [7])
    equal(titles(books.filter(extra__has_key="at", extra__at__gt=6)), [7, 8])
    equal(sorted(books.values_list("author__name", flat=True).distinct().order_by("author__name")), ["Ada", "Bertha", "Chloe"])
    equal(Book.objects.in_bulk([books[0].id])[books[0].id].title, "Book 0")
    equal(books.first().title + books.last().title, "Book 0Book 8")
    equal(books.filter(sold=True).exists(), True)
    equal(list(books.values("title", "author__name")[:1]), [{"title": "Book 0", "author__name": "Ada"}])
    equal(Book.objects.get(title="Book 4").extra, {"at": 4, "list": [1, 2, 4], "in": {"deep": "4"}})
    equal(titles(books.filter(price=F("pages") / 100 + decimal.Decimal("0.5"))), list(range(9)))
    equal([book.title for book in Book.objects.raw("SELECT * FROM shop_book WHERE pages > %s ORDER BY id", [700])], ["Book 8"])


@check
def joining(_):
    "select_related, prefetch_related, many to many, subqueries, EXISTS, unions"
    filled()
    sales = Sale.objects.select_related("book__author").order_by("id")
    equal([sale.book.author.name for sale in sales[:3]], ["Ada", "Bertha", "Chloe"])
    books = Book.objects.prefetch_related("tags", Prefetch("sales", Sale.objects.order_by("-pieces"))).order_by("id")
    equal([len(book.tags.all()) for book in books], [0, 1, 2, 3, 0, 1, 2, 3, 0])
    equal([sale.pieces for book in books for sale in book.sales.all()], list(range(1, 10)))
    equal(Tag.objects.filter(books__title="Book 3").count(), 3)
    newest = Sale.objects.filter(book__author=OuterRef("pk")).order_by("-at").values("pieces")[:1]
    equal(list(Author.objects.annotate(last=Subquery(newest)).values_list("name", "last")), [("Ada", 7), ("Bertha", 8), ("Chloe", 9)])
    has_red = Exists(Book.objects.filter(author=OuterRef("pk"), tags="red"))
    equal(Author.objects.filter(has_red).count(), 3)
    equal(Author.objects.filter(~Exists(Book.objects.filter(author=OuterRef("pk"), pages__gte=700))).count(), 1)
    cheap, dear = Book.objects.filter(price__lt=1).values_list("title"), Book.objects.filter(price__gt=8).values_list("title")
    equal(sorted(cheap.union(dear)), [("Book 0",), ("Book 8",)])
    equal(list(cheap.intersection(dear)), [])
    equal(Book.objects.filter(author__in=Author.objects.filter(name__lt="B")).count(), 3)


@check
def aggregating(_):
    "aggregate, annotate, HAVING, CASE, windows, functions of texts and dates"
    filled()
    result = Book.objects.aggregate(Count("id"), Sum("price"), Avg("pages"), Min("title"), Max("published"), StdDev("pages"))
    equal((result["id__count"], result["price__sum"], result["pages__avg"], result["title__min"]), (9, decimal.Decimal("40.50"), 400.0, "Book 0"))
    equal(round(result["pages__stddev"], 3), 258.199)
    by_author = Author.objects.annotate(n=Count("books"), worth=Sum("books__price")).filter(worth__gt=11)
    equal(sorted(by_author.values_list("name", "n", "worth")), [("Bertha", 3, decimal.Decimal("13.50")), ("Chloe", 3, decimal.Decimal("16.50"))])
    equal(list(Book.objects.values("sold").annotate(n=Count("*")).order_by("sold")), [{"sold": False, "n": 4}, {"sold": True, "n": 5}])
    kind = Case(When(pages__lt=300, then=Value("short")), default=Value("long"), output_field=CharField())
    equal(list(Book.objects.annotate(kind=kind).values_list("kind").annotate(Count("id")).order_by("kind")), [("long", 6), ("short", 3)])
    equal(Author.objects.aggregate(n=Count("books", filter=Q(books__sold=True)))["n"], 5)
    equal(Author.objects.aggregate(n=Count("books__tags", distinct=True))["n"], 3)
    ranked = Book.objects.annotate(
        place=Window(Rank(), partition_by="author", order_by=F("price").desc()), dense=Window(DenseRank(), order_by="sold"),
        before=Window(Lag("title"), order_by="id"), number=Window(RowNumber(), order_by="id"), sum=Window(Sum("pages"), order_by="id"),
    ).order_by("id")
    equal([(book.place, book.dense, book.before, book.number, book.sum) for book in ranked[:2]], [(3, 2, None, 1, 0), (3, 1, "Book 0", 2, 100)])
    texts = Author.objects.annotate(
        up=Upper("name"), low=Lower("name"), long=Length("name"), part=Substr("name", 2, 2), both=Concat("name", Value(" "), "email", output_field=CharField()),
        mail=Coalesce("email", Value("none")), most=Greatest("id", Value(0)),
    ).order_by("id").first()
    equal((texts.up, texts.low, texts.long, texts.part, texts.both, texts.mail), ("ADA", "ada", 3, "da", "Ada ", ""))
    years = Book.objects.annotate(year=ExtractYear("published"), month=TruncMonth("published")).order_by("id").first()
    equal((years.year, years.month), (2020, datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)))
    ratio = ExpressionWrapper(F("pages") * 1.0 / F("sales__pieces"), output_field=FloatField())
    equal(round(Book.objects.aggregate(r=Sum(ratio))["r"], 3), 617.103)
    equal(Book.objects.filter(published__lt=Now()).count(), 9)
    equal([str(month.date()) for month in Sale.objects.datetimes("at", "month")], ["2024-01-01"])
    equal(Book.objects.order_by(F("published").desc(nulls_last=True)).first().title, "Book 8")
    equal(len(Book.objects.filter(id=1).explain()) > 0, True)


@check
def changing(_):
    "save, update with F, bulk_create with conflicts, bulk_update, get_or_create, delete, cascades, errors"
    authors = filled()
    book = Book.objects.get(title="Book 1")
    book.title, book.extra = "Renamed", {"x": None}
    book.save(update_fields=["title", "extra"])
    equal(Book.objects.get(pk=book.pk).extra, {"x": None})
    equal(Book.objects.filter(author=authors[1]).update(pages=F("pages") + 1, price=F("price") * 2), 3)
    book.refresh_from_db()
    equal((book.pages, book.price), (101, decimal.Decimal("3.00")))
    Author.objects.bulk_create([Author(name="Ada", email="new"), Author(name="Dora")], update_conflicts=True, unique_fields=["name"], update_fields=["email"])
    equal(list(Author.objects.values_list("name", "email")), [("Ada", "new"), ("Bertha", ""), ("Chloe", ""), ("Dora", "")])
    Author.objects.bulk_create([Author(name="Ada"), Author(name="Eve")], ignore_conflicts=True)
    books = list(Book.objects.order_by("id"))
    for each in books:
        each.pages = each.id
    equal(Book.objects.bulk_update(books, ["pages"], batch_size=4), 9)
    equal(Book.objects.filter(pages=F("id")).count(), 9)
    equal(Author.objects.get_or_create(name="Fay", defaults={"email": "fay"})[1], True)
    equal(Author.objects.get_or_create(name="Fay")[1], False)
    equal(Author.objects.update_or_create(name="Fay", defaults={"email": "f"})[0].email, "f")
    for make, word in (
        (lambda: Author.objects.create(name="Fay"), "shop_author_name_key"),
        (lambda: Book.objects.filter(id=book.id).update(price=-1), "price_not_negative"),
        (lambda: Book.objects.create(title="Renamed", author=authors[1], price=1), "one_title_each"),
        (lambda: Book.objects.filter(id=book.id).update(title=None), "title"),
    ):
        try:
            with transaction.atomic():
                make()
        except IntegrityError as error:
            equal(word in str(error), True, str(error))
        else:
            raise AssertionError(f"{word} is violated")
    Sale.objects.all().delete()
    counts = authors[0].delete()[1]
    equal(counts["shop.Book"], 3)
    equal(Book.objects.count(), 6)


@check
def transactions(_):
    "atomic, nested, savepoints, on_commit, select_for_update, durable"
    filled()
    done = []
    with transaction.atomic():
        Author.objects.create(name="outer")
        transaction.on_commit(lambda: done.append("committed"))
        try:
            with transaction.atomic():
                Author.objects.create(name="inner")
                raise KeyError
        except KeyError:
            pass
        place = transaction.savepoint()
        Author.objects.create(name="later")
        transaction.savepoint_rollback(place)
    equal((Author.objects.filter(name__in=["outer", "inner", "later"]).count(), done), (1, ["committed"]))
    with transaction.atomic():
        book = Book.objects.select_for_update().get(title="Book 2")
        Book.objects.select_for_update(nowait=True).filter(pk=book.pk).update(pages=F("pages") + 1)
        list(Book.objects.select_for_update(skip_locked=True, of=("self",)).select_related("author"))
        book.refresh_from_db()
    equal(book.pages, 201)
    try:
        with transaction.atomic():
            Author.objects.all().update(email="gone")
            raise KeyError
    except KeyError:
        pass
    equal(Author.objects.filter(email="gone").count(), 0)


@check
def checking_later(_):
    "children before their parents, parents that come again, check_constraints, what COMMIT refuses"
    filled()
    with transaction.atomic():
        Book.objects.create(title="early", author_id=90_000, price=1)
        Author.objects.create(pk=90_000, name="late")
    equal(Book.objects.get(title="early").author.name, "late")
    try:
        with transaction.atomic():
            Book.objects.create(title="orphan", author_id=90_001, price=1)
        equal("committed", "refused")
    except IntegrityError as error:
        equal("violates foreign key constraint" in str(error), True, str(error))
    equal(Book.objects.filter(title="orphan").count(), 0)
    with transaction.atomic():
        Book.objects.create(title="orphan", author_id=90_002, price=1)
        try:
            connection.check_constraints()
            equal("found nothing", "found it")
        except IntegrityError:
            transaction.set_rollback(True)
    with transaction.atomic():
        Author.objects.filter(pk=90_000)._raw_delete("default")
        Author.objects.create(pk=90_000, name="again")
    equal(Book.objects.get(title="early").author.name, "again")


@check
def iterating(_):
    "iterator() over a cursor of the server, values with dates, big lists of parameters"
    author = filled()[0]
    Book.objects.bulk_create([Book(title=f"more {n}", author=author, price=1) for n in range(500)], batch_size=100)
    with transaction.atomic():
        equal(sum(1 for _ in Book.objects.iterator(chunk_size=50)), 509)
    equal(sum(1 for _ in Book.objects.iterator(chunk_size=50)), 509)
    ids = list(Book.objects.values_list("id", flat=True))
    equal(Book.objects.filter(id__in=ids).count(), 509)
    equal(Book.objects.filter(title__startswith="more").delete()[1]["shop.Book"], 500)


@check
def admin_site(_):
    "the admin: login, lists, search, a form that adds, one that deletes; sessions, permissions"
    from django.contrib.auth.models import Group, Permission, User
    from django.test import Client
    filled()
    User.objects.all().delete()
    boss = User.objects.create_superuser("boss", "boss@example.org", "secret")
    clerk = User.objects.create_user("clerk", password="secret")
    group = Group.objects.create(name=f"clerks {uuid.uuid4()}")
    group.permissions.set(Permission.objects.filter(content_type__app_label="shop", codename__startswith="view"))
    clerk.groups.add(group)
    equal((boss.has_perm("shop.add_book"), clerk.has_perm("shop.view_book"), clerk.has_perm("shop.add_book")), (True, True, False))
    if not admin.site.is_registered(Author):
        admin.site.register(Author, search_fields=["name"], list_display=["name", "born"], list_filter=["born"], date_hierarchy="born")
        admin.site.register(Book, list_filter=["sold", "author"], list_select_related=["author"])
    client = Client()
    equal(client.post("/admin/login/?next=/admin/", {"username": "boss", "password": "secret"}).status_code, 302)
    equal(client.get("/admin/").status_code, 200)
    page = client.get("/admin/shop/author/?q=Ber")
    equal((page.status_code, b"1 author" in page.content), (200, True))
    equal(client.get("/admin/shop/book/?sold__exact=1&o=-2").status_code, 200)
    answer = client.post("/admin/shop/author/add/", {"name": "By form", "born": "1950-05-05", "email": ""})
    equal((answer.status_code, Author.objects.filter(name="By form").count()), (302, 1))
    pk = Author.objects.get(name="By form").pk
    equal(client.post(f"/admin/shop/author/{pk}/delete/", {"post": "yes"}).status_code, 302)
    equal(Author.objects.filter(name="By form").count(), 0)
    equal(client.get(f"/admin/auth/user/{boss.pk}/change/").status_code, 200)


@check
def looking(_):
    "inspectdb, introspection, dumpdata and loaddata, flush"
    filled()
    out = run("inspectdb", "shop_book", "shop_author")
    for line in ("class ShopBook(models.Model):", "price = models.DecimalField(max_digits=8, decimal_places=2)",
                 "author = models.ForeignKey('ShopAuthor', models.DO_NOTHING)", "extra = models.JSONField()", "key = models.UUIDField(unique=True)",
                 "title = models.CharField(max_length=100)", "unique_together = (('author', 'title'),)"):
        equal(line in out, True, line)
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "shop_book")
    named = {name: of for name, of in constraints.items() if name in ("price_not_negative", "one_title_each", "book_by_price")}
    equal((named["price_not_negative"]["check"], named["one_title_each"]["unique"], named["book_by_price"]["orders"]), (True, True, ["ASC", "DESC"]))
    keys = [(of["columns"], of["foreign_key"]) for of in constraints.values() if of["foreign_key"]]
    equal(keys, [(["author_id"], ("shop_author", "id"))])
    dumped = run("dumpdata", "shop", indent=1)
    run("flush", interactive=False)
    equal(Book.objects.count(), 0)
    from django.core import serializers
    for each in serializers.deserialize("json", dumped):
        each.save()
    equal((Book.objects.count(), Sale.objects.count()), (9, 9))
    out = run("sqlsequencereset", "shop")
    with connection.cursor() as cursor:
        cursor.execute(out)
    equal(Author.objects.create(name="next").pk > Author.objects.get(name="Chloe").pk, True)


main("django")
