"""The models of the checks."""

import uuid

from django.db import models
from django.db.models import Q


class Author(models.Model):
    name = models.CharField(max_length=50, unique=True)
    born = models.DateField(null=True)
    email = models.EmailField(blank=True)

    class Meta:
        ordering = ["name"]


class Tag(models.Model):
    word = models.SlugField(primary_key=True)


class Book(models.Model):
    title = models.CharField(max_length=100, db_index=True)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=8, decimal_places=2)
    pages = models.PositiveIntegerField(default=0)
    sold = models.BooleanField(default=False)
    published = models.DateTimeField(null=True)
    key = models.UUIDField(default=uuid.uuid4, unique=True)
    extra = models.JSONField(default=dict)
    tags = models.ManyToManyField(Tag, related_name="books")

    class Meta:
        indexes = [models.Index(fields=["author", "-price"], name="book_by_price")]
        constraints = [
            models.CheckConstraint(condition=Q(price__gte=0), name="price_not_negative"),
            models.UniqueConstraint(fields=["author", "title"], name="one_title_each"),
        ]


class Sale(models.Model):
    book = models.ForeignKey(Book, models.PROTECT, related_name="sales")
    pieces = models.SmallIntegerField()
    at = models.DateTimeField()
    note = models.TextField(null=True)
