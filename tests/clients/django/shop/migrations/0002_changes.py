"""Columns, indexes and constraints that come and change, and rows among them."""

from django.db import migrations, models
from django.db.models import Q


def fill(apps, _):
    author = apps.get_model("shop", "Author")
    author.objects.bulk_create([author(name=f"migrated {n}") for n in range(3)])


def empty(apps, _):
    apps.get_model("shop", "Author").objects.filter(name__startswith="migrated").delete()


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField("author", "alive", models.BooleanField(default=True)),
        migrations.AddField("book", "weight", models.IntegerField(null=True)),
        migrations.AlterField("book", "pages", models.BigIntegerField(default=1)),
        migrations.AlterField("author", "email", models.CharField(max_length=200, null=True)),
        migrations.RenameField("sale", "note", "remark"),
        migrations.AddIndex("sale", models.Index(fields=["at"], name="sale_at")),
        migrations.AddConstraint("sale", models.CheckConstraint(condition=Q(pieces__gt=0), name="some_pieces")),
        migrations.RunPython(fill, empty),
        migrations.RunSQL("UPDATE shop_book SET weight = 1", migrations.RunSQL.noop),
    ]
