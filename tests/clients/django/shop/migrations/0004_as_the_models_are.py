"""Back to what models.py says."""

from django.db import migrations, models


def empty(apps, _):
    apps.get_model("shop", "Author").objects.filter(name__startswith="migrated").delete()


def give_mail(apps, _):
    apps.get_model("shop", "Author").objects.filter(email__isnull=True).update(email="")


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_more")]
    operations = [
        migrations.DeleteModel("Rack"),
        migrations.RemoveField("author", "alive"),
        migrations.RunPython(give_mail, migrations.RunPython.noop),
        migrations.AlterField("author", "email", models.EmailField(max_length=254, blank=True)),
        migrations.AlterField("book", "pages", models.PositiveIntegerField(default=0)),
        migrations.RunPython(empty, migrations.RunPython.noop),
    ]
