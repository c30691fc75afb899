"""Models that come and are renamed; fields, indexes and constraints that go."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_changes")]
    operations = [
        migrations.CreateModel("Shelf", [
            ("id", models.BigAutoField(primary_key=True)), ("room", models.CharField(max_length=5)),
            ("books", models.ManyToManyField("shop.book")),
        ], {"unique_together": {("room",)}}),
        migrations.RenameModel("Shelf", "Rack"),
        migrations.RemoveField("book", "weight"),
        migrations.RemoveIndex("sale", "sale_at"),
        migrations.RemoveConstraint("sale", "some_pieces"),
        migrations.AlterModelTable("rack", "racks"),
        migrations.RenameField("sale", "remark", "note"),
    ]
